package ops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// maxYear is the last year of times in RFC 3339. Imported times are earlier,
// because each later change of an item has a later time.
const maxYear = 9999

// itemPut stores an item for the canonical subject. The item replaces all items
// of that key that the caller may change in the same file, and in private in all files,
// and keeps the id and the time of creation of the one that takes precedence. An item
// that the caller put in public stays public.
func (m writeOps) itemPut(ctx context.Context, c Call, r *api.ItemPutRequest) (*api.ItemAnswer, error) {
	source := sourceAttribute(c, r.Source)
	put := &itemEdit{m: m, item: api.Item{Subject: c.Scope.Subject, Namespace: r.Namespace,
		Key:        strings.TrimSpace(r.Key),
		Visibility: orPrivate(r.Visibility), Confidence: r.Confidence, Source: source,
		Untrusted: memory.IsUntrustedSource(source)}}
	item := &put.item
	if r.Value != nil {
		item.Value = *r.Value
	}
	if err := m.checkItem(item, r.Source); err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, api.Errorf(api.Invalid, "value is missing").WithHint("pass the text to store under the key")
	}
	dir := m.inbox(c)
	if dir == "" {
		var err error
		dir, err = m.subjectDir(ctx, &c)
		if err != nil {
			return nil, err
		}
	}
	if !c.View.Private() { // the item may be in a file that was created a moment ago
		if err := m.syncIndex(ctx, &c); err != nil {
			return nil, err
		}
	}
	put.call, put.others = c, m.findItems(c, r.Namespace, func(k string) bool { return k == item.Key })
	mine := m.changeable(c, put.others)
	if !c.View.Private() && len(mine) > 0 {
		item.Visibility = memory.PublicOK.String()
	}
	mine = slices.DeleteFunc(mine, func(f *foundItem) bool {
		return !c.View.Private() || c.View.SubjectOf(f.entry.Partition) != c.Scope.Subject
	})
	put.moved = mine
	var after *memory.Document
	var written vault.Written
	err := eachTarget(m.targets(c, dir+"/"+r.Namespace+".md", memory.PrivateOnly.String(), item.Visibility,
		memory.NewItems(c.Scope.Subject)),
		func(t writeTarget) (err error) {
			put.unseen, item.Path = t.unseen, t.path
			after, written, err = m.editTogether(ctx, c, item.Key,
				fileEdit{writeTarget: t, cause: "item", change: put.insertItem})
			return err
		})
	if err != nil {
		return nil, err
	}
	mine = slices.DeleteFunc(mine, func(f *foundItem) bool { return f.doc.Place.Path == item.Path })
	replaced := put.replaced
	_, err = m.editItems(ctx, c, mine, written.ID, func(doc *memory.Document, r *memory.Revision) error {
		for _, i := range itemsNamed(doc, item.Key) {
			r.Remove(i)
			_, value, _ := doc.Entries[i].Item()
			replaced = append(replaced, value)
		}
		return nil
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
	unseen   bool         // the caller can read nothing of the file
	others   []*foundItem // readable items of the same name, before the change
	moved    []*foundItem // items of the same name in other files, which the item replaces
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

// insertItem inserts the item into its file. Its time is later than that of every readable
// item of the same name, so that the newest value wins whatever the clock shows.
func (p *itemEdit) insertItem(doc *memory.Document, r *memory.Revision) error {
	may := p.m.mayChangeEntry(p.call, doc.Place.Path)
	named := itemsNamed(doc, p.item.Key)
	held := slices.DeleteFunc(slices.Clone(named), func(i int) bool { return !may(&doc.Entries[i]) })
	known := held
	if p.unseen { // the answer must not depend on the replaced items
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
	return insertItem(p.m.Layout, doc, r, held, item)
}

// insertItem adds the edits that write an item in place of the entries held.
func insertItem(l *memory.Layout, doc *memory.Document, r *memory.Revision, held []int, item *api.Item) error {
	confidence := ""
	if item.Confidence != nil {
		confidence = strconv.FormatFloat(*item.Confidence, 'g', -1, 64)
	}
	p := &memory.Put{Form: memory.ValueForm, Title: item.Key, Text: item.Value, Attributes: map[string]string{
		"id": item.ID, "visibility": "", memory.OriginAttribute: "", "confidence": confidence, "source": item.Source,
		"created": item.Created.Format(time.RFC3339Nano), "updated": item.Updated.Format(time.RFC3339Nano),
	}}
	if err := l.Fit(doc.Place.Path, p); err != nil {
		return api.Errorf(api.Invalid, "value: %v", err)
	}
	placeItem(doc, r, held, p)
	return nil
}

// placeItem adds the edits that write an item in place of the entries held, of
// which the first is replaced and the others are removed.
func placeItem(doc *memory.Document, r *memory.Revision, held []int, p *memory.Put) {
	if len(held) == 0 {
		r.Insert(doc.ItemInsertionPoint(), p)
		return
	}
	r.Replace(held[0], p, time.Time{}) // an item has its own time
	for _, i := range held[1:] {
		r.Remove(i)
	}
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
		return (&foundItem{entry: first}).compare(&foundItem{entry: second})
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

// deleteItems removes items from their files.
func (m writeOps) deleteItems(ctx context.Context, c Call, list []*foundItem,
	which func(key string) bool) (*api.ItemDeleteAnswer, error) {
	list = m.changeable(c, list)
	answer := &api.ItemDeleteAnswer{Deleted: len(uniqueItems(list)), Paths: []string{}}
	edited, err := m.editItems(ctx, c, list, "", func(doc *memory.Document, r *memory.Revision) error {
		for i := range doc.Entries {
			if k, _, ok := doc.Entries[i].Item(); ok && which(k) {
				r.Remove(i)
			}
		}
		return nil
	})
	for _, f := range edited {
		if f.changed {
			answer.Paths = append(answer.Paths, f.Place.Path)
		}
	}
	return answer, err
}

// An editedFile is a file after a change.
type editedFile struct {
	*memory.Document
	changed bool
}

// editItems changes the files of items, the canonical subject's last, so that after a
// failure the item that took precedence remains. The changes belong to a group, a new one if
// it is empty.
func (m writeOps) editItems(ctx context.Context, c Call, list []*foundItem, group string,
	change func(*memory.Document, *memory.Revision) error) (edited []editedFile, err error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *foundItem) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), a.name.compare(b.name))
	})
	for i, f := range list {
		path := f.doc.Place.Path
		if i > 0 && path == list[i-1].doc.Place.Path {
			continue
		}
		after, written, err := m.editFile(ctx, c,
			fileEdit{writeTarget: writeTarget{path: path}, cause: "item", group: group, change: change})
		if err != nil {
			return edited, err
		}
		group, edited = cmp.Or(group, written.ID), append(edited, editedFile{after, written.Changed})
	}
	return edited, nil
}

// changeable returns the items that the caller may change.
func (m writeOps) changeable(c Call, list []*foundItem) []*foundItem {
	return slices.DeleteFunc(slices.Clone(list), func(f *foundItem) bool {
		return !m.mayChange(c, f.doc.Place.Path, f.entry.Partition, f.entry.Author())
	})
}

// itemVisibility moves an item to the file with other readers. private_only applies to all
// readable items of that name, so that none of the others becomes public in its place.
// public_ok applies to the one item only.
func (m writeOps) itemVisibility(ctx context.Context, c Call, r *api.ItemVisibilityRequest) (*api.ItemAnswer, error) {
	if r.ID == "" || r.Visibility == "" {
		return nil, api.Errorf(api.Invalid, "id and visibility are required")
	}
	f, err := m.itemByID(c, r.ID)
	if err != nil {
		return nil, err
	}
	list := m.changeable(c, []*foundItem{f})
	if len(list) == 0 {
		return nil, errNotAuthor
	}
	if r.Visibility == memory.PrivateOnly.String() {
		list = m.changeable(c, m.findItems(c, f.name.namespace, func(k string) bool { return k == f.name.key }))
	}
	answer, group := &api.ItemAnswer{Item: itemOf(m.Location, c, f.doc, f.entry)}, ""
	for _, it := range list {
		if it.doc.Partition.Visibility.String() == r.Visibility && it.doc.Unmarked().String() == r.Visibility {
			continue
		}
		moved, id, err := m.moveItem(ctx, c, it, r.Visibility, group)
		group = cmp.Or(group, id)
		if err != nil {
			return nil, err
		}
		if it.doc.Place.Path == f.doc.Place.Path && it.entry.ID == f.entry.ID {
			answer.Item = moved
		}
	}
	return answer, nil
}

// moveItem writes an item to the file of its directory with a visibility, in place of one of
// the same name there, and then removes it from its file. A private item that takes
// precedence stays instead.
func (m writeOps) moveItem(ctx context.Context, c Call, f *foundItem, visibility,
	group string) (item *api.Item, id string, err error) {
	from := f.doc.Place.Path
	usual := path.Dir(from) + "/" + f.name.namespace + ".md"
	p := &memory.Put{Form: memory.ValueForm, Title: f.name.key, Text: f.value, Evidence: f.entry.Evidence,
		Attributes: map[string]string{}}
	maps.Copy(p.Attributes, f.entry.Attributes)
	p.Attributes["visibility"] = ""
	var after *memory.Document
	var written vault.Written
	shown := f.entry.ID
	err = eachTarget(m.targets(c, usual, memory.PrivateOnly.String(), visibility,
		memory.NewItems(c.View.SubjectOf(f.entry.Partition))),
		func(t writeTarget) (err error) {
			after, written, err = m.editFile(ctx, c, fileEdit{writeTarget: t, cause: "item", group: group,
				change: func(doc *memory.Document, r *memory.Revision) error {
					held := itemsNamed(doc, f.name.key)
					if len(held) > 0 && visibility == memory.PrivateOnly.String() {
						e := &doc.Entries[held[0]]
						if (&foundItem{rank: f.rank, entry: e}).compare(f) < 0 {
							shown = e.ID
							return nil
						}
					}
					placeItem(doc, r, held, p)
					return nil
				}})
			return err
		})
	if err != nil {
		return nil, "", err
	}
	group = cmp.Or(group, written.ID)
	_, _, err = m.editFile(ctx, c, fileEdit{writeTarget: writeTarget{path: from}, cause: "item", group: group,
		change: func(doc *memory.Document, r *memory.Revision) error {
			for _, i := range itemsNamed(doc, f.name.key) {
				if e := &doc.Entries[i]; e.Text == f.entry.Text {
					r.Remove(i)
				}
			}
			if r.Empty() {
				return api.Errorf(api.Conflict, "the item has just changed").WithHint("try again")
			}
			return nil
		}})
	return shownItem(m.Location, c, after, shown), group, err
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
