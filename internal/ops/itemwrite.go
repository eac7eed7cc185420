package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// itemPut stores an item for the canonical subject. The item replaces all items
// of that key that the caller may change in the same file, and in private in all files,
// and keeps the id and the time of creation of the one that takes precedence. An item
// that the caller put in public stays public.
func (m writeOps) itemPut(ctx context.Context, c Call, r *api.ItemPutRequest) (*api.ItemAnswer, error) {
	put := &itemEdit{m: m, call: c, request: r, name: itemName{r.Namespace, strings.TrimSpace(r.Key)},
		visibility: visibilityAttribute(r.Visibility)}
	if r.Value != nil {
		put.value = *r.Value
	}
	if err := m.checkItem(put.name, put.value, r.Source); err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, api.Errorf(api.Invalid, "value is missing").WithHint("pass the text to store under the key")
	}
	dir := m.inbox(c)
	if dir == "" {
		var err error
		dir, err = m.subjectDir(ctx, &put.call)
		if err != nil {
			return nil, err
		}
		c = put.call
	}
	if !c.View.Private() { // the item may be in a file that was created a moment ago
		if err := m.syncIndex(ctx, &c); err != nil {
			return nil, err
		}
		put.call = c
	}
	put.others = m.findItems(c, r.Namespace, func(k string) bool { return k == put.name.key })
	if !c.View.Private() && len(m.changeable(c, put.others)) > 0 {
		put.visibility = memory.PublicOK.String()
	}
	private := put.visibility != memory.PublicOK.String()
	var after *memory.Document
	var written vault.Written
	err := eachTarget(m.targets(c, dir+"/"+r.Namespace+".md", "", private, memory.NewItems(c.Scope.Subject)),
		func(t writeTarget) (err error) {
			put.writeTarget = t
			after, written, err = m.editTogether(ctx, c, put.name.key, fileEdit{writeTarget: t, cause: "item", change: put.insertItem})
			return err
		})
	if err != nil {
		return nil, err
	}
	replaced, done := put.replaced, map[string]bool{put.path: true}
	for _, f := range m.changeable(c, put.others) {
		path := f.doc.Place.Path
		if done[path] || !c.View.Private() || c.View.SubjectOf(f.entry.Partition) != c.Scope.Subject {
			continue
		}
		done[path], put.replaced = true, nil
		_, _, err = m.editFile(ctx, c, fileEdit{writeTarget: writeTarget{path: path}, cause: "item", group: written.ID,
			change: func(doc *memory.Document, r *memory.Revision) error {
				for _, i := range itemsNamed(doc, put.name.key) {
					r.Remove(i)
					put.addReplaced(&doc.Entries[i])
				}
				return nil
			}})
		if err != nil {
			return nil, err
		}
		replaced = append(replaced, put.replaced...)
	}
	return &api.ItemAnswer{Item: put.answerItem(after), Hints: put.hints(replaced)}, nil
}

// An itemEdit is an item that is being written to a file.
type itemEdit struct {
	m       writeOps
	call    Call
	request *api.ItemPutRequest
	name    itemName
	value   string
	others  []*foundItem // readable items of the same name, before the change

	writeTarget        // its file
	visibility  string // of the item
	id          string // its assigned id

	created, updated time.Time
	replaced         []string // values of readable items that an edit replaces
}

func (p *itemEdit) addReplaced(e *memory.Entry) {
	_, value, _ := e.Item()
	p.replaced = append(p.replaced, value)
}

// hints reports removed values other than the first one, which the caller replaced.
// A person may have typed them.
func (p *itemEdit) hints(replaced []string) []string {
	removed := 0
	for _, value := range replaced {
		if value != replaced[0] && value != p.value {
			removed++
		}
	}
	if removed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("other items with this key and another value were removed: %d; "+
		"to restore them, use undo", removed)}
}

// answerItem returns the item in the form for the caller. If the caller may no
// longer read the item, answerItem returns it as the caller wrote it, because
// another readable item may have the same id.
func (p *itemEdit) answerItem(after *memory.Document) *api.Item {
	if item := shownItem(p.m.Location, p.call, after, p.id); item != nil && item.Key == p.name.key && item.Value == p.value {
		return item
	}
	source := sourceAttribute(p.call, p.request.Source)
	return &api.Item{
		ID: p.id, Subject: p.call.Scope.Subject, Namespace: p.name.namespace, Key: p.name.key, Value: p.value,
		Visibility: p.visibility, Confidence: p.request.Confidence, Source: source,
		Untrusted: memory.IsUntrustedSource(source),
		Created:   p.created, Updated: p.updated, Path: after.Place.Path,
	}
}

// checkItem rejects an item that cannot be stored.
func (m writeOps) checkItem(name itemName, value, source string) error {
	if err := requireNamespace(name.namespace); err != nil {
		return err
	}
	if err := memory.CheckKey(name.key); err != nil {
		return api.Errorf(api.Invalid, "key: %v", err)
	}
	if err := memory.CheckValue(value); err != nil {
		return api.Errorf(api.Invalid, "value: %v", err)
	}
	if rule := secrets.MatchingRule(value); rule != "" {
		return secretError("value", rule)
	}
	return cmp.Or(m.checkText("key", name.key), m.checkText("source", source), m.checkNamed("value", name.key, value))
}

// insertItem inserts the item into its file.
func (p *itemEdit) insertItem(doc *memory.Document, r *memory.Revision) error {
	may := p.m.mayChangeEntry(p.call, doc.Place.Path)
	named := itemsNamed(doc, p.name.key)
	held := slices.DeleteFunc(slices.Clone(named), func(i int) bool { return !may(&doc.Entries[i]) })
	p.replaced, p.id = nil, ""
	known := held
	if p.unseen { // the answer must not depend on the replaced items
		known, named = nil, nil
	}
	p.setUpdated(doc, named)
	p.created = p.updated.Truncate(time.Second)
	for _, i := range known {
		p.addReplaced(&doc.Entries[i])
	}
	if len(known) > 0 {
		e := &doc.Entries[known[0]]
		if e.Given {
			p.id = e.ID
		}
		if t, ok := memory.ParseTime(e.Attributes["created"], p.m.Location); ok {
			p.created = t.UTC().Truncate(time.Second)
		} else if !e.Time.IsZero() && e.Time.Before(p.created) {
			p.created = e.Time.UTC().Truncate(time.Second)
		}
	}
	if p.id == "" {
		p.id = memory.NewID(takenIDs(doc), p.name.namespace, p.name.key, p.value,
			p.m.Now().UTC().Format(time.RFC3339Nano))
	}
	return insertItem(doc, r, held, &api.Item{
		ID: p.id, Key: p.name.key, Value: p.value, Visibility: p.visibility,
		Confidence: p.request.Confidence, Source: sourceAttribute(p.call, p.request.Source),
		Created: p.created, Updated: p.updated,
	})
}

// setUpdated sets the time of the item. It is later than that of every readable
// item of the same name, so that the newest value wins whatever the clock shows.
func (p *itemEdit) setUpdated(doc *memory.Document, named []int) {
	p.updated = p.m.Now().UTC().Truncate(time.Millisecond)
	after := func(e *memory.Entry) {
		later := e.Time.UTC().Truncate(time.Millisecond).Add(time.Millisecond)
		if _, ok := e.Attributes["updated"]; ok && !e.Time.Before(p.updated) && later.Year() <= maxYear {
			p.updated = later
		}
	}
	for _, f := range p.others {
		after(f.entry)
	}
	for _, i := range named {
		after(&doc.Entries[i])
	}
}

// insertItem adds the edits that write an item in place of the entries held, of
// which the first is replaced and the others are removed.
func insertItem(doc *memory.Document, r *memory.Revision, held []int, item *api.Item) error {
	at, confidence := -1, ""
	if len(held) > 0 {
		at = held[0]
	}
	if item.Confidence != nil {
		confidence = strconv.FormatFloat(*item.Confidence, 'g', -1, 64)
	}
	text, err := doc.ItemText(at, item.Key, item.Value, []memory.Attribute{
		{Key: "id", Value: item.ID}, {Key: "visibility", Value: item.Visibility},
		{Key: "confidence", Value: confidence}, {Key: "source", Value: item.Source},
		{Key: "created", Value: item.Created.Format(time.RFC3339Nano)},
		{Key: "updated", Value: item.Updated.Format(time.RFC3339Nano)},
	})
	switch {
	case err != nil:
		return api.Errorf(api.Invalid, "value: %v", err)
	case at < 0:
		r.Insert(doc.ItemInsertionPoint(memory.ParseVisibility(item.Visibility)), text)
	default:
		r.Replace(at, text)
		for _, i := range held[1:] {
			r.Remove(i)
		}
	}
	return nil
}

// itemsNamed returns the indexes of the entries with a key in an item file. The one that
// takes precedence comes first.
func itemsNamed(doc *memory.Document, key string) (list []int) {
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Title != key {
			continue
		}
		if k, _, ok := e.Item(); ok && k == key {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		first, second := &doc.Entries[a], &doc.Entries[b]
		return (&foundItem{entry: first, time: first.Time}).compare(&foundItem{entry: second, time: second.Time})
	})
	return list
}

// takenIDs returns the ids of the entries of a file.
func takenIDs(doc *memory.Document) map[string]bool {
	taken := map[string]bool{}
	for i := range doc.Entries {
		taken[doc.Entries[i].ID] = true
	}
	return taken
}

// itemDelete deletes every readable item of a name, in all files.
func (m writeOps) itemDelete(ctx context.Context, c Call, r *api.ItemDeleteRequest) (*api.ItemDeleteAnswer, error) {
	name := itemName{r.Namespace, strings.TrimSpace(r.Key)}
	if r.ID == "" && (name.namespace == "" || name.key == "") || r.ID != "" && name != (itemName{}) {
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
	if len(m.changeable(c, list)) == 0 {
		return nil, errNotAuthor
	}
	return m.deleteItems(ctx, c, list, func(k string) bool { return k == name.key })
}

// itemDeleteNamespace deletes all readable items of a namespace. Other content
// of the files stays.
func (m writeOps) itemDeleteNamespace(ctx context.Context, c Call,
	r *api.ItemDeleteNamespaceRequest) (*api.ItemDeleteAnswer, error) {
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
	list = m.changeable(c, list)
	answer := &api.ItemDeleteAnswer{Deleted: len(uniqueItems(list)), Paths: []string{}}
	group := ""
	err := eachFile(list, func(path string) error {
		_, written, err := m.editFile(ctx, c,
			fileEdit{writeTarget: writeTarget{path: path}, cause: "item", group: group,
				change: func(doc *memory.Document, r *memory.Revision) error {
					for i := range doc.Entries {
						e := &doc.Entries[i]
						if k, _, ok := e.Item(); ok && which(k) {
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

// changeable returns the items that the caller may change.
func (m writeOps) changeable(c Call, list []*foundItem) []*foundItem {
	return slices.DeleteFunc(slices.Clone(list), func(f *foundItem) bool {
		return !m.mayChange(c, f.doc.Place.Path, f.entry.Partition, f.entry.Author())
	})
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
	if r.ID == "" || r.Visibility == "" {
		return nil, api.Errorf(api.Invalid, "id and visibility are required")
	}
	f, err := m.itemByID(c, r.ID)
	if err != nil {
		return nil, err
	}
	list := []*foundItem{f}
	if r.Visibility == memory.PrivateOnly.String() {
		list = m.changeable(c, m.findItems(c, f.name.namespace, func(k string) bool { return k == f.name.key }))
	}
	answer, group := &api.ItemAnswer{}, ""
	err = eachFile(list, func(path string) error {
		at := -1
		after, written, err := m.editFile(ctx, c,
			fileEdit{writeTarget: writeTarget{path: path}, cause: "item", group: group,
				change: func(doc *memory.Document, rev *memory.Revision) error {
					at = -1
					for _, i := range itemsNamed(doc, f.name.key) {
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
			answer.Item = shownItem(m.Location, c, after, after.Entries[at].ID)
		}
		return err
	})
	return answer, err
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
func shownItem(loc *time.Location, c Call, doc *memory.Document, id string) *api.Item {
	known := doc.For(c.View)
	if known == nil {
		return nil
	}
	e := entryOf(c, known, id)
	if e == nil {
		return nil
	}
	return itemOf(loc, c, known, known.Shown(c.View), e)
}
