package ipc

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// ItemPutRequest asks to keep an item: in place of the one of the same namespace
// and key, all of it, or as a new one.
type ItemPutRequest struct {
	Namespace  string   `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Key        string   `json:"key" arg:"2" need:"true" complete:"key" doc:"what the item is found by again; white space around it does not count"`
	Value      string   `json:"value" arg:"rest" stdin:"true" doc:"a text, or JSON"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"where it may be shown: in private only, or in public too"`
	Confidence *float64 `json:"confidence" min:"0" max:"1" doc:"how sure it is, from 0 to 1"`
	Source     string   `json:"source" doc:"where it comes from, such as the id of a message"`
	Scope
}

// ItemDeleteRequest asks to delete an item.
type ItemDeleteRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" complete:"key" doc:"the key, exactly"`
	ID        string `json:"id" doc:"the item's id, in place of namespace and key"`
	Fresh
	Scope
}

// ItemDeleteNamespaceRequest asks to delete all items of a namespace.
type ItemDeleteNamespaceRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Fresh
	Scope
}

// ItemDeleteAnswer is what was deleted.
type ItemDeleteAnswer struct {
	Deleted  int      `json:"deleted"` // keys
	Paths    []string `json:"paths"`   // of the files that they were in
	Disabled bool     `json:"disabled,omitempty"`
}

// ItemVisibilityRequest asks to show an item in public, or in private only.
type ItemVisibilityRequest struct {
	ID         string `json:"id" arg:"1" doc:"the item's id"`
	Visibility string `json:"visibility" arg:"2" enum:"private_only,public_ok" doc:"private_only or public_ok"`
	Fresh
	Scope
}

// itemPut keeps an item for the canonical subject. A key that is there and that
// the caller may not read is like one that is free: the new item is kept beside
// the old one. Who may read several of one key replaces them all by one, which
// has the id of the one that held.
func (m *Memory) itemPut(ctx context.Context, c Call, r *ItemPutRequest) (*ItemAnswer, error) {
	if m.Disabled {
		return &ItemAnswer{Disabled: true}, nil
	}
	if err := m.mayAdd(c); err != nil {
		return nil, err
	}
	put := &puttingItem{m: m, call: c, request: r, name: itemName{r.Namespace, strings.TrimSpace(r.Key)}, now: m.now().UTC().Truncate(time.Second)}
	if err := put.check(); err != nil {
		return nil, err
	}
	if _, err := m.home(ctx, &put.call); err != nil {
		return nil, err
	}
	c = put.call
	after, _, err := m.add(ctx, c, adding{
		path: itemPath(c.Scope.Subject, r.Namespace), cause: "item", fresh: memory.NewItems(c.Scope.Subject), change: put.change,
	})
	if err != nil {
		return nil, err
	}
	return &ItemAnswer{Item: put.shown(after)}, nil
}

// A puttingItem is an item on its way into a file.
type puttingItem struct {
	m       *Memory
	call    Call
	request *ItemPutRequest
	name    itemName
	now     time.Time

	id      string // that it has got
	created time.Time
}

// shown is the item as its caller is shown it, or, where it may not be read by the
// caller from now on, as the caller wrote it: another may have the same id.
func (p *puttingItem) shown(after *memory.Document) *Item {
	if known := after.For(p.call.View); known != nil {
		if held := itemsNamed(known, p.call, p.name.key); len(held) > 0 {
			e := &known.Entries[held[0]]
			item := itemOf(p.call, known, e)
			item.Line = known.Shown(p.call.View).Line(e.Line)
			return item
		}
	}
	source := origin(p.call, p.request.Source)
	return &Item{
		ID: p.id, Subject: p.call.Scope.Subject, Namespace: p.name.namespace, Key: p.name.key, Value: p.request.Value,
		Visibility: visible(p.request.Visibility), Confidence: p.request.Confidence, Source: source, Untrusted: memory.FromOthers(source),
		Created: p.created, Updated: p.now, Path: after.Place.Path,
	}
}

func (p *puttingItem) check() error {
	r := p.request
	if err := needsNamespace(r.Namespace); err != nil {
		return err
	}
	if err := memory.CheckKey(p.name.key); err != nil {
		return Errorf(Invalid, "key: %v", err)
	}
	for _, f := range [][2]string{{"key", p.name.key}, {"value", r.Value}, {"source", r.Source}} {
		if err := p.m.outside(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// change puts the item into its file.
func (p *puttingItem) change(doc *memory.Document, r *memory.Revision) error {
	held := itemsNamed(doc, p.call, p.name.key)
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
		p.id = p.m.itemID(p.call, doc, p.name.namespace, p.name.key, p.request.Value, p.m.now().UTC().Format(time.RFC3339Nano))
	}
	p.created = created.UTC().Truncate(time.Second)
	confidence := ""
	if p.request.Confidence != nil {
		confidence = strconv.FormatFloat(*p.request.Confidence, 'g', -1, 64)
	}
	text, err := doc.ItemText(at, p.name.key, p.request.Value, []memory.Attribute{
		{Key: "id", Value: p.id}, {Key: "visibility", Value: visible(p.request.Visibility)}, {Key: "confidence", Value: confidence},
		{Key: "source", Value: origin(p.call, p.request.Source)},
		{Key: "created", Value: p.created.Format(time.RFC3339)}, {Key: "updated", Value: p.now.Format(time.RFC3339)},
	})
	switch {
	case err != nil:
		return Errorf(Invalid, "value: %v", err)
	case at < 0:
		r.Insert(doc.ItemSpot(memory.ParseVisibility(p.request.Visibility)), text)
	default:
		r.Replace(at, text)
		for _, i := range held[1:] {
			r.Remove(i)
		}
	}
	return nil
}

// itemsNamed are the entries of a file of items that have a key and that the caller
// may read, the one that holds first.
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

// itemID is an id that no item of the caller's has, readable or not.
func (m *Memory) itemID(c Call, doc *memory.Document, of ...string) string {
	taken := map[string]bool{}
	for _, subject := range c.View.Subjects() {
		for _, ns := range memory.Namespaces() {
			d, path := doc, itemPath(subject, ns)
			if path != doc.Place.Path {
				var err error
				if d, err = m.Files.Load(path); err != nil {
					continue
				}
			}
			for i := range d.Entries {
				taken[d.Entries[i].ID] = true
			}
		}
	}
	return memory.NewID(taken, of...)
}

// itemDelete deletes an item wherever the caller may read it: afterwards there
// is none of that name.
func (m *Memory) itemDelete(ctx context.Context, c Call, r *ItemDeleteRequest) (*ItemDeleteAnswer, error) {
	if m.Disabled {
		return &ItemDeleteAnswer{Paths: []string{}, Disabled: true}, nil
	}
	if err := m.mayWrite(c); err != nil {
		return nil, err
	}
	name := itemName{r.Namespace, strings.TrimSpace(r.Key)}
	switch {
	case r.ID == "" && (name.namespace == "" || name.key == ""), r.ID != "" && name != itemName{}:
		return nil, Errorf(Invalid, "either namespace and key are needed, or id")
	}
	if _, err := m.sync(ctx, &c, r.Fresh); err != nil {
		return nil, err
	}
	if r.ID != "" {
		f, err := m.itemByID(c, r.ID)
		if err != nil {
			return nil, err
		}
		name = f.name
	}
	list := m.items(c, name.namespace, func(k string) bool { return k == name.key })
	if len(list) == 0 {
		return nil, notFound("item", name.namespace+"/"+name.key)
	}
	return m.deleteItems(ctx, c, list, func(k string) bool { return k == name.key })
}

// itemDeleteNamespace deletes all items of a namespace that the caller may read.
// What else stands in its files stays.
func (m *Memory) itemDeleteNamespace(ctx context.Context, c Call, r *ItemDeleteNamespaceRequest) (*ItemDeleteAnswer, error) {
	if m.Disabled {
		return &ItemDeleteAnswer{Paths: []string{}, Disabled: true}, nil
	}
	if err := m.mayWrite(c); err != nil {
		return nil, err
	}
	if err := needsNamespace(r.Namespace); err != nil {
		return nil, err
	}
	if _, err := m.sync(ctx, &c, r.Fresh); err != nil {
		return nil, err
	}
	all := func(string) bool { return true }
	return m.deleteItems(ctx, c, m.items(c, r.Namespace, all), all)
}

// deleteItems removes items from the files that they are in. The canonical
// subject's file comes last: what is left if that fails is what held before.
func (m *Memory) deleteItems(ctx context.Context, c Call, list []*foundItem, which func(key string) bool) (*ItemDeleteAnswer, error) {
	answer := &ItemDeleteAnswer{Deleted: len(union(list)), Paths: []string{}}
	group := ""
	err := eachFile(list, func(path string) error {
		_, written, err := m.add(ctx, c, adding{path: path, cause: "item", group: group, change: func(doc *memory.Document, r *memory.Revision) error {
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

// eachFile calls do with the files of items, each once, those of the canonical
// subject last.
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

// itemVisibility changes where an item may be shown. In private only means all
// that the caller may read of that name: no other of them takes its place in
// public. To be shown in public is a wish for the one item.
func (m *Memory) itemVisibility(ctx context.Context, c Call, r *ItemVisibilityRequest) (*ItemAnswer, error) {
	if m.Disabled {
		return &ItemAnswer{Disabled: true}, nil
	}
	if err := m.mayWrite(c); err != nil {
		return nil, err
	}
	if r.ID == "" || r.Visibility == "" {
		return nil, Errorf(Invalid, "id and visibility are needed")
	}
	if _, err := m.sync(ctx, &c, r.Fresh); err != nil {
		return nil, err
	}
	f, err := m.itemByID(c, r.ID)
	if err != nil {
		return nil, err
	}
	list := []*foundItem{f}
	if r.Visibility == memory.PrivateOnly.String() {
		list = m.items(c, f.name.namespace, func(k string) bool { return k == f.name.key })
	}
	answer, group := &ItemAnswer{}, ""
	err = eachFile(list, func(path string) error {
		at := -1
		after, written, err := m.add(ctx, c, adding{path: path, cause: "item", group: group, change: func(doc *memory.Document, rev *memory.Revision) error {
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

// itemByID is the item of an id, which may have the path of its file in front,
// among all that the caller may read.
func (m *Memory) itemByID(c Call, id string) (*foundItem, error) {
	path, bare := "", id
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		path, bare = id[:i], id[i+1:]
	}
	var found []*foundItem
	for _, f := range m.items(c, "", func(string) bool { return true }) {
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
	return nil, Errorf(Conflict, "more than one item has the id %q", id).hint("ask for one of %s", strings.Join(names, ", "))
}

// shownItem is an item of a file as the caller is shown it, nil if it is not.
func shownItem(c Call, doc *memory.Document, id string) *Item {
	known := doc.For(c.View)
	if known == nil {
		return nil
	}
	e := entryOf(c, known, id)
	if e == nil {
		return nil
	}
	item := itemOf(c, known, e)
	item.Line = known.Shown(c.View).Line(e.Line)
	return item
}
