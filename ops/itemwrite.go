package ops

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// itemPut stores an item for the canonical subject. If the caller may not read
// the existing item of that key, the new item is stored beside it. If the
// caller may read several items of that key, one item replaces all of them and
// keeps the id of the one that took precedence.
func (m writeOps) itemPut(ctx context.Context, c Call, r *api.ItemPutRequest) (*api.ItemAnswer, error) {
	if m.Disabled {
		return &api.ItemAnswer{Disabled: true}, nil
	}
	put := &itemEdit{m: m, call: c, request: r, name: itemName{r.Namespace, strings.TrimSpace(r.Key)}, now: m.Now().
		UTC().Truncate(time.Second)}
	if err := put.check(); err != nil {
		return nil, err
	}
	if _, err := m.subjectDir(ctx, &put.call); err != nil {
		return nil, err
	}
	c = put.call
	paths := itemPaths(c.Scope.Subject, r.Namespace)
	path := paths[0]
	if m.ownFiles(c) && !c.View.Private() {
		path = paths[1]
	}
	after, _, err := m.editFile(ctx, c, fileEdit{
		path: path, cause: "item", initial: memory.NewItems(c.Scope.Subject),
		change: put.insertItem,
	})
	if err != nil {
		return nil, err
	}
	return &api.ItemAnswer{Item: put.answerItem(after)}, nil
}

// An itemEdit is an item that is being written to a file.
type itemEdit struct {
	m       writeOps
	call    Call
	request *api.ItemPutRequest
	name    itemName
	now     time.Time

	id      string // its assigned id
	created time.Time
}

// answerItem returns the item in the form for the caller. If the caller may no
// longer read the item, answerItem returns it as the caller wrote it, because
// another readable item may have the same id.
func (p *itemEdit) answerItem(after *memory.Document) *api.Item {
	if item := shownItem(p.call, after, p.id); item != nil && item.Key == p.name.key && item.Value == p.request.Value {
		return item
	}
	source := sourceAttribute(p.call, p.request.Source)
	return &api.Item{
		ID: p.id, Subject: p.call.Scope.Subject, Namespace: p.name.namespace, Key: p.name.key, Value: p.request.Value,
		Visibility: visibilityAttribute(p.request.Visibility), Confidence: p.request.Confidence, Source: source,
		Untrusted: memory.IsUntrustedSource(source),
		Created:   p.created, Updated: p.now, Path: after.Place.Path,
	}
}

func (p *itemEdit) check() error {
	r := p.request
	if err := requireNamespace(r.Namespace); err != nil {
		return err
	}
	if err := memory.CheckKey(p.name.key); err != nil {
		return api.Errorf(api.Invalid, "key: %v", err)
	}
	for _, f := range [][2]string{{"key", p.name.key}, {"value", r.Value}, {"source", r.Source}} {
		if err := p.m.checkText(f[0], f[1]); err != nil {
			return err
		}
	}
	return p.m.checkNamed("value", p.name.key, r.Value)
}

// insertItem inserts the item into its file.
func (p *itemEdit) insertItem(doc *memory.Document, r *memory.Revision) error {
	may := p.m.mayChangeEntry(p.call)
	held := slices.DeleteFunc(itemsNamed(doc, p.call, p.name.key), func(i int) bool { return !may(&doc.Entries[i]) })
	visibility := p.request.Visibility
	if len(held) > 0 && !p.call.View.Private() {
		visibility = doc.Entries[held[0]].Partition.Visibility.String()
	}
	created, at := p.now, -1
	p.id = ""
	if len(held) > 0 {
		at = held[0]
		e := &doc.Entries[at]
		if e.Given {
			p.id = e.ID
		}
		if t, ok := memory.ParseTime(e.Attributes["created"], time.UTC); ok {
			created = t
		} else if !e.Time.IsZero() && e.Time.Before(created) {
			created = e.Time
		}
	}
	if p.id == "" {
		p.id = p.m.itemID(p.call, doc, p.name.namespace, p.name.key, p.request.Value, p.m.Now().UTC().
			Format(time.RFC3339Nano))
	}
	p.created = created.UTC().Truncate(time.Second)
	confidence := ""
	if p.request.Confidence != nil {
		confidence = strconv.FormatFloat(*p.request.Confidence, 'g', -1, 64)
	}
	text, err := doc.ItemText(at, p.name.key, p.request.Value, []memory.Attribute{
		{Key: "id", Value: p.id}, {Key: "visibility", Value: visibilityAttribute(visibility)},
		{Key: "confidence", Value: confidence},
		{Key: "source", Value: sourceAttribute(p.call, p.request.Source)},
		{Key: "created", Value: p.created.Format(time.RFC3339)}, {Key: "updated", Value: p.now.Format(time.RFC3339)},
	})
	switch {
	case err != nil:
		return api.Errorf(api.Invalid, "value: %v", err)
	case at < 0:
		r.Insert(doc.ItemInsertionPoint(memory.ParseVisibility(visibility)), text)
	default:
		r.Replace(at, text)
		for _, i := range held[1:] {
			r.Remove(i)
		}
	}
	return nil
}

// itemsNamed returns the indexes of the readable entries with a key in an item
// file. The one that takes precedence comes first.
func itemsNamed(doc *memory.Document, c Call, key string) (list []int) {
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Title != key || !e.Readable(c.View) {
			continue
		}
		if k, _, ok := e.Item(); ok && k == key {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return (&foundItem{entry: &doc.Entries[a]}).compare(&foundItem{entry: &doc.Entries[b]})
	})
	return list
}

// itemID returns an id that no item of the caller's subjects has, readable or
// not.
func (m writeOps) itemID(c Call, doc *memory.Document, of ...string) string {
	taken := map[string]bool{}
	for _, subject := range c.View.Subjects() {
		for _, ns := range memory.Namespaces() {
			for _, path := range itemPaths(subject, ns) {
				d := doc
				if path != doc.Place.Path {
					var err error
					d, err = m.Files.Load(path)
					if err != nil {
						continue
					}
				}
				for i := range d.Entries {
					taken[d.Entries[i].ID] = true
				}
			}
		}
	}
	return memory.NewID(taken, of...)
}

// itemDelete deletes every readable item of a name, in all files.
func (m writeOps) itemDelete(ctx context.Context, c Call, r *api.ItemDeleteRequest) (*api.ItemDeleteAnswer, error) {
	if m.Disabled {
		return &api.ItemDeleteAnswer{Paths: []string{}, Disabled: true}, nil
	}
	name := itemName{r.Namespace, strings.TrimSpace(r.Key)}
	switch {
	case r.ID == "" && (name.namespace == "" || name.key == ""), r.ID != "" && name != itemName{}:
		return nil, api.Errorf(api.Invalid, "set either namespace and key, or id")
	}
	if r.ID != "" {
		f, err := m.itemByID(c, r.ID)
		if err != nil {
			return nil, err
		}
		name = f.name
	}
	list := m.findItems(c, name.namespace, func(k string) bool { return k == name.key })
	if len(list) == 0 {
		return nil, notFound("item", name.namespace+"/"+name.key)
	}
	return m.deleteItems(ctx, c, list, func(k string) bool { return k == name.key })
}

// itemDeleteNamespace deletes all readable items of a namespace. Other content
// of the files stays.
func (m writeOps) itemDeleteNamespace(ctx context.Context, c Call,
	r *api.ItemDeleteNamespaceRequest) (*api.ItemDeleteAnswer, error) {
	if m.Disabled {
		return &api.ItemDeleteAnswer{Paths: []string{}, Disabled: true}, nil
	}
	if err := requireNamespace(r.Namespace); err != nil {
		return nil, err
	}
	all := func(string) bool { return true }
	return m.deleteItems(ctx, c, m.findItems(c, r.Namespace, all), all)
}

// deleteItems removes items from their files. The canonical subject's file
// comes last, so that after a failure the item that took precedence remains.
func (m writeOps) deleteItems(ctx context.Context, c Call, list []*foundItem,
	which func(key string) bool) (*api.ItemDeleteAnswer, error) {
	answer := &api.ItemDeleteAnswer{Deleted: len(uniqueItems(list)), Paths: []string{}}
	group := ""
	err := eachFile(list, func(path string) error {
		_, written, err := m.editFile(ctx, c,
			fileEdit{path: path, cause: "item", group: group,
				change: func(doc *memory.Document, r *memory.Revision) error {
					for i := range doc.Entries {
						e := &doc.Entries[i]
						if k, _, ok := e.Item(); ok && which(k) && e.Readable(c.View) {
							r.Remove(i)
						}
					}
					return nil
				}})
		if written.Changed {
			group = cmp.Or(group, written.ID)
			answer.Paths = append(answer.Paths, path)
		}
		return err
	})
	return answer, err
}

// eachFile calls do once for each file of the items, with the canonical
// subject's files last.
func eachFile(list []*foundItem, do func(path string) error) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *foundItem) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), a.name.compare(b.name))
	})
	before := ""
	for _, f := range list {
		if path := f.doc.Place.Path; path != before {
			before = path
			if err := do(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// itemVisibility changes the visibility of an item. private_only applies to all
// readable items of that name, so that none of the others becomes public in its
// place. public_ok applies to the one item only.
func (m writeOps) itemVisibility(ctx context.Context, c Call, r *api.ItemVisibilityRequest) (*api.ItemAnswer, error) {
	if m.Disabled {
		return &api.ItemAnswer{Disabled: true}, nil
	}
	if r.ID == "" || r.Visibility == "" {
		return nil, api.Errorf(api.Invalid, "id and visibility are required")
	}
	f, err := m.itemByID(c, r.ID)
	if err != nil {
		return nil, err
	}
	list := []*foundItem{f}
	if r.Visibility == memory.PrivateOnly.String() {
		list = m.findItems(c, f.name.namespace, func(k string) bool { return k == f.name.key })
	}
	answer, group := &api.ItemAnswer{}, ""
	err = eachFile(list, func(path string) error {
		at := -1
		after, written, err := m.editFile(ctx, c,
			fileEdit{path: path, cause: "item", group: group,
				change: func(doc *memory.Document, rev *memory.Revision) error {
					at = -1
					for _, i := range itemsNamed(doc, c, f.name.key) {
						meant := path == f.doc.Place.Path && doc.Entries[i].ID == f.entry.ID
						if meant {
							at = i
						}
						if meant || len(list) > 1 {
							rev.SetAttribute(i, "visibility", r.Visibility)
						}
					}
					if at < 0 && path == f.doc.Place.Path {
						return notFound("item", r.ID)
					}
					return nil
				}})
		group = cmp.Or(group, written.ID)
		if err == nil && at >= 0 {
			answer.Item = shownItem(c, after, after.Entries[at].ID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// itemByID returns the readable item with an id or path#id.
func (m writeOps) itemByID(c Call, id string) (*foundItem, error) {
	path, bare, _ := cutID(id)
	var found []*foundItem
	for _, f := range m.findItems(c, "", func(string) bool { return true }) {
		if f.entry.ID == bare && (path == "" || path == f.doc.Place.Path) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return nil, notFound("item", id)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, f := range found {
		names = append(names, f.doc.Place.Path+"#"+bare)
	}
	return nil, api.Errorf(api.Conflict, "more than one item has the id %q", id).
		WithHint("use one of %s", strings.Join(names, ", "))
}

// shownItem returns an item of a file in the form for the caller, or nil if the
// caller may not read it.
func shownItem(c Call, doc *memory.Document, id string) *api.Item {
	known := doc.For(c.View)
	if known == nil {
		return nil
	}
	e := entryOf(c, known, id)
	if e == nil {
		return nil
	}
	return itemOf(c, known, known.Shown(c.View), e)
}
