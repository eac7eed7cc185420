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
)

// maxYear is the last year of times in RFC 3339. Imported times are earlier,
// because each later change of an item has a later time.
const maxYear = 9999

// itemPut stores an item for the canonical subject. The item replaces all items of that key
// and subject that the caller may change, in all files, and keeps the id and the time of
// creation of the one that takes precedence. Without a value it keeps its value, box and attributes
// too, also those of an alias, and writes them to the file with the requested visibility.
func (m writeOps) itemPut(ctx context.Context, c Call, r *api.ItemPutRequest) (*api.ItemAnswer, error) {
	put := &itemEdit{m: m, item: api.Item{Subject: c.Scope.Subject, Namespace: r.Namespace,
		Key: strings.TrimSpace(r.Key), Visibility: r.Visibility, Confidence: r.Confidence,
		Source: sourceAttribute(c, r.Source)}}
	item := &put.item
	p := &addition{Put: memory.Put{Form: memory.ValueForm, Title: item.Key}}
	put.put = p
	if err := m.syncIndex(ctx, &c); err != nil { // the item may be in a file that was created a moment ago
		return nil, err
	}
	put.call, put.others = c, m.findItems(c, r.Namespace, func(k string) bool { return k == item.Key })
	mine := m.changeable(c, put.others)
	var kept *memory.Entry
	switch {
	case r.Value != nil:
		item.Value = *r.Value
	case r.Visibility == "" || len(mine) == 0:
		return nil, api.Errorf(api.Invalid, "value is missing").
			WithHint("pass the text to store under the key, or the `visibility` of a stored item")
	case mine[0].doc.InPrivate() && r.Visibility == memory.PublicOK.String():
		return nil, api.Errorf(api.Forbidden, "%s contains <private> text, so its values stay private",
			mine[0].doc.Place.Path).WithHint("pass the `value` to publish")
	default:
		stored := itemOf(m.Location, c, mine[0].doc, mine[0].entry)
		item.Value, item.Confidence, item.Source = stored.Value, stored.Confidence, stored.Source
		kept, p.Evidence = mine[0].entry, mine[0].entry.Evidence
	}
	if item.Visibility == "" && !c.View.Private() && len(mine) > 0 { // public, because it is readable
		item.Visibility = memory.PublicOK.String()
	}
	hides := r.Value == nil && r.Visibility == memory.PrivateOnly.String()
	put.moved = slices.DeleteFunc(mine, func(f *foundItem) bool { // values of aliases stay, unless one would appear
		return !hides && c.View.SubjectOf(f.entry.Partition) != c.Scope.Subject
	})
	item.Visibility, item.Untrusted = orPrivate(item.Visibility), memory.IsUntrustedSource(item.Source)
	if err := m.checkItem(item, r.Source); err != nil {
		return nil, err
	}
	dir := m.inbox(c)
	if dir == "" {
		var err error
		dir, err = m.subjectDir(ctx, &c)
		if err != nil {
			return nil, err
		}
	}
	p.Text = item.Value
	e := &putEdit{cause: "item", name: item.Key, puts: []*addition{p}, same: put.isHeld, replace: true, unread: true,
		check: put.complete,
		insert: func(_ *writeTarget, doc *memory.Document, r *memory.Revision, puts []*memory.Put) {
			if kept != nil {
				puts[0].Inherit(kept, m.Now())
			}
			r.Insert(doc.ItemInsertionPoint(), puts[0])
		},
		finish: func(_ *memory.Document, r *memory.Revision) {
			for _, i := range put.held[min(1, len(put.held)):] {
				r.Remove(i)
			}
		}}
	after, err := m.put(ctx, c, m.targets(c, dir+"/"+r.Namespace+".md", memory.PrivateOnly.String(), item.Visibility,
		memory.NewItems(c.Scope.Subject)), e)
	if err != nil {
		return nil, err
	}
	item.Path = after.Place.Path
	elsewhere := slices.DeleteFunc(slices.Clone(put.moved),
		func(f *foundItem) bool { return f.doc.Place.Path == item.Path })
	replaced := put.replaced
	_, err = m.removeItems(ctx, c, elsewhere, e.written.ID, item.Key, func(e *memory.Entry) {
		_, value, _ := e.Item()
		replaced = append(replaced, value)
	})
	if err != nil {
		return nil, err
	}
	answer := &api.ItemAnswer{Item: item}
	// If the caller may no longer read the item, another readable one may have its id.
	if shown := shownItem(m.Location, c, after, item.ID); shown != nil && shown.Key == item.Key &&
		shown.Value == item.Value {
		answer.Item = shown
	}
	if len(replaced) > 0 { // the caller replaced the first one; a person may have typed the others
		first := replaced[0]
		replaced = slices.DeleteFunc(replaced, func(value string) bool { return value == first || value == item.Value })
		if len(replaced) > 0 {
			answer.Hints = []string{fmt.Sprintf("other items with this key and another value were removed: %d; "+
				"to restore them, use undo", len(replaced))}
		}
	}
	return answer, nil
}

// An itemEdit is an item that is being written to a file.
type itemEdit struct {
	m        writeOps
	call     Call
	item     api.Item
	put      *addition
	may      func(*memory.Entry) bool
	held     []int        // in order, the items of the file that the edit replaces
	others   []*foundItem // readable items of the same name, before the change
	moved    []*foundItem // those that the item replaces in all files
	replaced []string     // values of readable items that the edit replaces
}

// checkItem rejects an item that cannot be stored.
func (m writeOps) checkItem(item *api.Item, source string) error {
	if err := requireNamespace(item.Namespace); err != nil {
		return err
	}
	if err := memory.CheckKey(item.Key); err != nil {
		return api.Errorf(api.Invalid, "key: %v", err)
	}
	if err := memory.CheckValue(item.Value); err != nil {
		return api.Errorf(api.Invalid, "value: %v", err)
	}
	if rule := secrets.MatchingRule(item.Value); rule != "" {
		return secretError("value", rule)
	}
	return cmp.Or(checkText("key", item.Key), checkText("source", source), checkNamed("value", item.Key, item.Value))
}

// isHeld reports whether an entry is an item of the same name that the caller may change.
func (p *itemEdit) isHeld(e *memory.Entry, _ *addition) bool {
	key, _, ok := e.Item()
	return ok && key == p.item.Key && p.may(e)
}

// complete sets the id and the times of the item for a file. Its time is later than that of every
// readable item of the same name, so that the newest value wins whatever the clock shows.
func (p *itemEdit) complete(t *writeTarget, doc *memory.Document) error {
	p.may = p.m.mayChangeEntry(p.call, t.path)
	named := itemsNamed(doc, p.item.Key)
	known := slices.DeleteFunc(slices.Clone(named), func(i int) bool { return !p.may(&doc.Entries[i]) })
	p.held = slices.Sorted(slices.Values(known))
	if t.unseen { // the answer must not depend on the replaced items
		known, named = nil, nil
	}
	item := &p.item
	item.ID, item.Updated, p.replaced = "", p.m.Now().UTC().Truncate(time.Millisecond), nil
	follow := func(e *memory.Entry) {
		later := e.Time.UTC().Truncate(time.Millisecond).Add(time.Millisecond)
		if e.Attributes["updated"] != "" && !e.Time.Before(item.Updated) && later.Year() <= maxYear {
			item.Updated = later
		}
	}
	for _, f := range p.others {
		follow(f.entry)
	}
	for _, i := range named {
		follow(&doc.Entries[i])
	}
	item.Created = item.Updated.Truncate(time.Second)
	var first *memory.Entry // that takes precedence
	for n, i := range known {
		e := &doc.Entries[i]
		_, value, _ := e.Item()
		p.replaced = append(p.replaced, value)
		if n == 0 {
			first = e
		}
	}
	if first == nil && len(p.moved) > 0 {
		first = p.moved[0].entry
	}
	if e := first; e != nil {
		if e.Given {
			item.ID = e.ID
		}
		if t, ok := memory.ParseTime(e.Attributes["created"], p.m.Location); ok {
			item.Created = t.UTC().Truncate(time.Second)
		} else if !e.Time.IsZero() && e.Time.Before(item.Created) {
			item.Created = e.Time.UTC().Truncate(time.Second)
		}
	}
	if item.ID == "" {
		item.ID = memory.NewID(takenIDs(doc), item.Namespace, item.Key, item.Value,
			p.m.Now().UTC().Format(time.RFC3339Nano))
	}
	p.put.Attributes = map[string]string{
		"id": item.ID, "visibility": "", "confidence": confidenceText(item.Confidence), "source": item.Source,
		"created": item.Created.Format(time.RFC3339Nano), "updated": item.Updated.Format(time.RFC3339Nano),
	}
	return nil
}

// confidenceText returns a confidence as an attribute.
func confidenceText(confidence *float64) string {
	if confidence == nil {
		return ""
	}
	return strconv.FormatFloat(*confidence, 'g', -1, 64)
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
		return (&foundItem{entry: &doc.Entries[a]}).compare(&foundItem{entry: &doc.Entries[b]})
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

// itemDelete deletes every readable item of a name, or all of a namespace, in all files.
// Other content of the files stays.
func (m writeOps) itemDelete(ctx context.Context, c Call, r *api.ItemDeleteRequest) (*api.ItemDeleteAnswer, error) {
	if err := m.syncIndex(ctx, &c); err != nil { // as in itemPut
		return nil, err
	}
	name := itemName{r.Namespace, strings.TrimSpace(r.Key)}
	if r.ID != "" {
		f, err := m.itemByID(c, r.ID)
		if err != nil {
			return nil, err
		}
		name = f.name
	}
	if name.namespace == "" || name.key == "" && !r.All {
		return nil, api.Errorf(api.Invalid, "set namespace and key, or id, or namespace and all")
	}
	list := m.findItems(c, name.namespace, func(k string) bool { return k == name.key || name.key == "" })
	if len(list) == 0 {
		return nil, notFound("item", name.namespace+"/"+name.key)
	}
	list = m.changeable(c, list)
	if len(list) == 0 {
		return nil, errNotAuthor
	}
	answer := &api.ItemDeleteAnswer{Paths: []string{}}
	paths, err := m.removeItems(ctx, c, list, "", name.key, func(*memory.Entry) {})
	answer.Paths, answer.Deleted = append(answer.Paths, paths...), len(uniqueItems(list))
	return answer, err
}

// removeItems removes the items of a key, all if it is empty, from the files of a list. It
// begins with the files of aliases, so that after a failure the item that took precedence
// remains. The changes belong to a group, a new one if it is empty. It returns the paths of
// the changed files, and calls removed with each item, again if a change is repeated.
func (m writeOps) removeItems(ctx context.Context, c Call, list []*foundItem, group, key string,
	removed func(*memory.Entry)) (paths []string, err error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *foundItem) int { return cmp.Compare(b.rank, a.rank) })
	for _, f := range list {
		path := f.doc.Place.Path
		if slices.Contains(paths, path) {
			continue
		}
		may := m.mayChangeEntry(c, path)
		_, written, err := m.editFile(ctx, c, fileEdit{
			writeTarget: writeTarget{path: path}, cause: "item", group: group,
			change: func(doc *memory.Document, r *memory.Revision) error {
				for i := range doc.Entries {
					e := &doc.Entries[i]
					if k, _, ok := e.Item(); ok && (k == key || key == "") && may(e) {
						removed(e)
						r.Remove(i)
					}
				}
				return nil
			}})
		if err != nil {
			return paths, err
		}
		group, paths = cmp.Or(group, written.ID), append(paths, path)
	}
	return paths, nil
}

// changeable returns the items that the caller may change.
func (m writeOps) changeable(c Call, list []*foundItem) []*foundItem {
	return slices.DeleteFunc(slices.Clone(list), func(f *foundItem) bool {
		return !m.mayChange(c, f.doc.Place.Path, f.entry.Partition, f.entry.Author())
	})
}

// itemByID returns the readable item with an id or path#id.
func (m writeOps) itemByID(c Call, id string) (*foundItem, error) {
	file, bare, _ := cutID(id)
	var found []*foundItem
	for _, f := range m.findItems(c, "", func(string) bool { return true }) {
		if f.entry.ID == bare && (file == "" || file == f.doc.Place.Path) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return nil, notFound("item", id)
	case 1:
		return found[0], nil
	}
	names := convertEach(found, func(f *foundItem) string { return f.doc.Place.Path + "#" + bare })
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
	return itemOf(loc, c, known, e)
}
