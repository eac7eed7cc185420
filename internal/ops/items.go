package ops

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// itemGet returns an item. Anonymous callers have no items, and while the
// memory is disabled none are found.
func (m readOps) itemGet(ctx context.Context, c Call, r *api.ItemGetRequest) (*api.ItemAnswer, error) {
	key := strings.TrimSpace(r.Key)
	if err := requireNamespace(r.Namespace); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, api.Errorf(api.Invalid, "key is empty")
	}
	found := uniqueItems(m.findItems(c, r.Namespace, func(k string) bool { return k == key }))
	if m.Disabled || len(found) == 0 {
		return nil, notFound("item", r.Namespace+"/"+key)
	}
	item, state := itemOf(m.Location, c, found[0].doc, found[0].entry), m.indexState(c)
	defer m.recordUse(item.Path + "#" + item.ID)
	return &api.ItemAnswer{Item: item, Index: &state}, nil
}

func (m readOps) itemList(ctx context.Context, c Call, r *api.ItemListRequest) (*api.ItemListAnswer, error) {
	from, err := parseCursor(r.Cursor)
	if err != nil {
		return nil, err
	}
	answer := &api.ItemListAnswer{Items: []*api.Item{}, Index: m.indexState(c)}
	if m.Disabled {
		return answer, nil
	}
	found := m.findItems(c, r.Namespace, func(k string) bool { return strings.HasPrefix(k, r.Prefix) })
	if r.SaidIn != "" {
		found = slices.DeleteFunc(found, func(f *foundItem) bool {
			return strings.HasPrefix(f.entry.Source, memory.PublicSource) != (r.SaidIn == "public")
		})
	}
	found = uniqueItems(found)
	found = slices.DeleteFunc(found, func(f *foundItem) bool { return r.Cursor != "" && f.name.compare(from) <= 0 })
	if len(found) > r.Limit {
		found = found[:r.Limit]
		answer.Next = found[r.Limit-1].name.cursor()
	}
	for _, f := range found {
		answer.Items = append(answer.Items, itemOf(m.Location, c, f.doc, f.entry))
	}
	return answer, nil
}

// requireNamespace rejects a request without a namespace. Unknown namespaces are
// rejected earlier.
func requireNamespace(namespace string) error {
	if namespace == "" {
		return api.Errorf(api.Invalid, "namespace is empty").
			WithHint("use one of %s", strings.Join(memory.Namespaces(), ", "))
	}
	return nil
}

type itemName struct{ namespace, key string }

// compare orders names by namespace, then by key.
func (n itemName) compare(o itemName) int {
	at := func(namespace string) int { return slices.Index(memory.Namespaces(), namespace) }
	return cmp.Or(cmp.Compare(at(n.namespace), at(o.namespace)), cmp.Compare(n.key, o.key))
}

// cursor returns the cursor of the page after this name. The cursor stays valid
// if the items change.
func (n itemName) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(n.namespace + "/" + n.key))
}

func parseCursor(cursor string) (itemName, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, key, ok := strings.Cut(string(text), "/")
	if cursor != "" && (err != nil || !ok || !slices.Contains(memory.Namespaces(), namespace)) {
		return itemName{}, api.Errorf(api.Invalid, "cursor: %q is invalid", cursor).
			WithHint("use next of the previous answer")
	}
	return itemName{namespace, key}, nil
}

// A foundItem is an item that the caller may read, in the caller's view of its
// file.
type foundItem struct {
	name  itemName
	value string
	rank  int // rank of its subject among the caller's; the canonical subject has 0
	doc   *memory.Document
	entry *memory.Entry
}

// findItems returns the items that the caller may read and whose keys are wanted, by name, and
// of one name the one that takes precedence first. An empty namespace means all namespaces.
func (m readOps) findItems(c Call, namespace string, wanted func(key string) bool) (list []*foundItem) {
	known := m.itemFiles(c)
	for _, ns := range memory.Namespaces() {
		if namespace != "" && ns != namespace {
			continue
		}
		for _, path := range known[ns] {
			doc, err := m.Files.Load(path)
			if err != nil || claimsOtherSubject(c, doc) {
				continue
			}
			doc = doc.For(c.View)
			if doc == nil {
				continue
			}
			rank := slices.Index(c.View.Subjects(), c.View.SubjectOf(doc.Partition))
			for i := range doc.Entries {
				e := &doc.Entries[i]
				if rank < 0 || e.Title == "" || !wanted(e.Title) || !e.Readable(c.View) {
					continue
				}
				if key, value, ok := e.Item(); ok {
					list = append(list, &foundItem{name: itemName{ns, key}, value: value, rank: rank,
						doc: doc, entry: e})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *foundItem) int {
		return cmp.Or(a.name.compare(b.name), a.compare(b))
	})
	return list
}

func itemPath(subject, namespace string) string {
	return "_longterms/" + memory.SubjectDir(subject) + "/" + namespace + ".md"
}

// itemFiles returns the paths of the item files that the caller can read, by namespace.
// The index may not know the usual ones and those of the caller yet.
func (m readOps) itemFiles(c Call) map[string][]string {
	paths := map[string][]string{}
	add := func(ns, path string) {
		if !slices.Contains(paths[ns], path) {
			paths[ns] = append(paths[ns], path)
		}
	}
	for _, ns := range memory.Namespaces() {
		usual := convertEach(c.View.Subjects(), func(subject string) string { return itemPath(subject, ns) })
		if dir := m.inbox(c); dir != "" {
			usual = append(usual, dir+"/"+ns+".md")
		}
		for _, path := range usual {
			add(ns, path)
			add(ns, memory.BesideFile(path, memory.PublicFile))
			add(ns, memory.BesideFile(path, memory.UnseenFile))
		}
	}
	readable := func(f *index.FileInfo) bool { return f.Kind == memory.Items && f.Readable(c.View) }
	for _, f := range m.Index.Files(readable) {
		add(m.Layout.Place(f.Path).Namespace, f.Path)
	}
	return paths
}

// uniqueItems returns the first item of each name. Its result does not depend on
// unreadable items, because the list contains only readable ones.
func uniqueItems(found []*foundItem) []*foundItem {
	return slices.CompactFunc(found, func(a, b *foundItem) bool { return a.name == b.name })
}

// compare returns a negative number if f takes precedence over o, an item of
// the same name. What the subject wrote in private comes first, then the
// canonical subject's item, then the one updated last; within a file, of two
// equally old ones, the lower one, because people append.
func (f *foundItem) compare(o *foundItem) int {
	untrusted := func(i *foundItem) int {
		if i.entry.Author().Untrusted(memory.View{}) {
			return 1
		}
		return 0
	}
	return cmp.Or(untrusted(f)-untrusted(o), cmp.Compare(min(f.rank, 1), min(o.rank, 1)),
		o.entry.Time.Compare(f.entry.Time),
		cmp.Compare(f.rank, o.rank), cmp.Compare(o.entry.Line, f.entry.Line))
}

// itemOf converts an entry into an item.
func itemOf(loc *time.Location, c Call, doc *memory.Document, e *memory.Entry) *api.Item {
	key, value, _ := e.Item()
	item := &api.Item{
		ID: e.ID, Subject: c.View.SubjectOf(e.Partition), Namespace: doc.Place.Namespace, Key: key, Value: value,
		Visibility: e.Partition.Visibility.String(), Source: e.Source, Untrusted: e.Author().Untrusted(c.View),
		Path: doc.Place.Path,
		Line: e.Line,
	}
	if e.HasConfidence {
		item.Confidence = &e.Confidence
	}
	item.Created, _ = memory.ParseTime(e.Attributes["created"], loc)
	item.Updated, _ = memory.ParseTime(e.Attributes["updated"], loc)
	return item
}
