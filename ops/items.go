package ops

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// itemGet shows an item. There is none for nobody, and none while memory is
// turned off.
func (m keying) itemGet(ctx context.Context, c Call, r *api.ItemGetRequest) (*api.ItemAnswer, error) {
	key := strings.TrimSpace(r.Key)
	if err := needsNamespace(r.Namespace); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, api.Errorf(api.Invalid, "key: it is empty")
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	found := union(m.items(c, r.Namespace, func(k string) bool { return k == key }))
	if m.Disabled || len(found) == 0 {
		return nil, notFound("item", r.Namespace+"/"+key)
	}
	item, state := found[0].show(c, shownOnce{}), m.state(c, synced)
	defer m.used(item.Path + "#" + item.ID)
	return &api.ItemAnswer{Item: item, Index: &state}, nil
}

// itemList shows items, a page at a time.
func (m keying) itemList(ctx context.Context, c Call, r *api.ItemListRequest) (*api.ItemListAnswer, error) {
	from, err := itemCursor(r.Cursor)
	if err != nil {
		return nil, err
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	answer := &api.ItemListAnswer{Items: []*api.Item{}, Index: m.state(c, synced)}
	if m.Disabled {
		return answer, nil
	}
	found := union(m.items(c, r.Namespace, func(k string) bool { return strings.HasPrefix(k, r.Prefix) }))
	found = slices.DeleteFunc(found, func(f *foundItem) bool { return r.Cursor != "" && f.name.compare(from) <= 0 })
	if len(found) > r.Limit {
		found = found[:r.Limit]
		answer.Next = found[r.Limit-1].name.cursor()
	}
	shown := shownOnce{}
	for _, f := range found {
		answer.Items = append(answer.Items, f.show(c, shown))
	}
	return answer, nil
}

// needsNamespace says no to a request that names none. One that is not known
// does not come so far.
func needsNamespace(namespace string) error {
	if namespace == "" {
		return api.Errorf(api.Invalid, "namespace is empty").WithHint("it is one of %s", strings.Join(memory.Namespaces(), ", "))
	}
	return nil
}

// An itemName is what an item is known by.
type itemName struct{ namespace, key string }

// compare is the order in which items are listed: that of the namespaces, and in
// each, of the keys.
func (n itemName) compare(o itemName) int {
	at := func(namespace string) int { return slices.Index(memory.Namespaces(), namespace) }
	return cmp.Or(cmp.Compare(at(n.namespace), at(o.namespace)), cmp.Compare(n.key, o.key))
}

// cursor is a name as the caller is given it to go on behind it, whatever is
// there by then.
func (n itemName) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(n.namespace + "/" + n.key))
}

func itemCursor(cursor string) (itemName, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, key, ok := strings.Cut(string(text), "/")
	if cursor != "" && (err != nil || !ok || !slices.Contains(memory.Namespaces(), namespace)) {
		return itemName{}, api.Errorf(api.Invalid, "cursor: %q is none", cursor).WithHint("it is next, of the answer before")
	}
	return itemName{namespace, key}, nil
}

// A foundItem is an item that the caller may read, in a file as the caller knows
// it.
type foundItem struct {
	name  itemName
	value string
	rank  int // of its subject among the caller's: the canonical one is 0
	doc   *memory.Document
	entry *memory.Entry
}

// items are all items that the caller may read, of a namespace or, if that is
// empty, of all, whose keys are wanted.
func (m reading) items(c Call, namespace string, wanted func(key string) bool) (list []*foundItem) {
	for rank, subject := range c.View.Subjects() {
		for _, ns := range memory.Namespaces() {
			if namespace != "" && ns != namespace {
				continue
			}
			doc := m.itemFile(c, subject, itemPath(subject, ns))
			if doc == nil {
				continue
			}
			for i := range doc.Entries {
				e := &doc.Entries[i]
				if e.Title == "" || !wanted(e.Title) || !e.Readable(c.View) {
					continue
				}
				if key, value, ok := e.Item(); ok {
					list = append(list, &foundItem{itemName{ns, key}, value, rank, doc, e})
				}
			}
		}
	}
	return list
}

func itemPath(subject, namespace string) string {
	return "_longterms/" + memory.SubjectDir(subject) + "/" + namespace + ".md"
}

// itemFile is a file of items of a subject as the caller knows it; nil if there
// is nothing in it for the caller.
func (m reading) itemFile(c Call, subject, path string) *memory.Document {
	doc, err := m.Files.Load(path)
	if err != nil || stolen(c, doc) {
		return nil
	}
	if doc = doc.For(c.View); doc == nil || c.View.SubjectOf(doc.Own) != subject {
		return nil // two of the caller's subjects may have the same directory
	}
	return doc
}

// union is one item of each name, in order. It depends on nothing that the
// caller may not read: what is not readable is left out first.
func union(found []*foundItem) (list []*foundItem) {
	slices.SortStableFunc(found, func(a, b *foundItem) int {
		return cmp.Or(a.name.compare(b.name), a.compare(b))
	})
	for i, f := range found {
		if i == 0 || f.name != found[i-1].name {
			list = append(list, f)
		}
	}
	return list
}

// compare is negative if of two items of one name this is the one that holds:
// the canonical subject's, else the one that was updated last. In one file the
// upper one holds, if both are as old.
func (f *foundItem) compare(o *foundItem) int {
	return cmp.Or(cmp.Compare(min(f.rank, 1), min(o.rank, 1)), o.entry.Time.Compare(f.entry.Time), cmp.Compare(f.rank, o.rank), cmp.Compare(f.entry.Line, o.entry.Line))
}

// shownOnce is what of files a caller is shown, found out once for each.
type shownOnce map[*memory.Document]memory.Shown

// show is the item as the caller is shown it.
func (f *foundItem) show(c Call, known shownOnce) *api.Item {
	shown, ok := known[f.doc]
	if !ok {
		shown = f.doc.Shown(c.View)
		known[f.doc] = shown
	}
	item := itemOf(c, f.doc, f.entry)
	item.Line = shown.Line(f.entry.Line)
	return item
}

// itemOf is an entry as an item, without its line.
func itemOf(c Call, doc *memory.Document, e *memory.Entry) *api.Item {
	key, value, _ := e.Item()
	item := &api.Item{
		ID: e.ID, Subject: c.View.SubjectOf(e.Partition), Namespace: doc.Place.Namespace, Key: key, Value: value,
		Visibility: e.Partition.Visibility.String(), Source: e.Source, Untrusted: e.Untrusted(), Path: doc.Place.Path,
	}
	if e.HasConfidence {
		item.Confidence = &e.Confidence
	}
	item.Created, _ = memory.ParseTime(e.Attributes["created"], time.UTC)
	item.Updated, _ = memory.ParseTime(e.Attributes["updated"], time.UTC)
	return item
}
