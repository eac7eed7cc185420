package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// ByID returns the readable entries with an explicit id, ordered by path, or
// none. The errors are those of [Index.Search].
func (x *Index) ByID(ctx context.Context, view memory.View, id string) ([]Ref, error) {
	return x.findRefs(ctx, view, termKey(kindID, id))
}

// LinksTo returns the readable entries that may link to a file: by its path, or by one
// of its keys, see [memory.Document.NameKeys]. They are ordered by path. The errors
// are those of [Index.Search].
func (x *Index) LinksTo(ctx context.Context, view memory.View, path string, keys []string) ([]Ref, error) {
	terms := []key{termKey(kindLink, path)}
	for _, key := range keys {
		terms = append(terms, termKey(kindMention, key))
	}
	return x.findRefs(ctx, view, terms...)
}

// findRefs returns the readable entries that have one of the terms, given as keys
// without a partition.
func (x *Index) findRefs(ctx context.Context, view memory.View, terms ...key) (refs []Ref, err error) {
	err = x.browse(ctx, view, func(s *reader) {
		var found []entryKey
		for _, term := range terms {
			s.eachEntry(term, func(k entryKey) { found = append(found, k) })
		}
		slices.SortFunc(found, s.inOrder)
		for _, k := range slices.Compact(found) {
			if ref := s.refTo(k); ref != nil { // a later call finds the entries of a changed file
				refs = append(refs, *ref)
			}
		}
	})
	return refs, err
}

// filesNamed returns the readable files that links find by a key, see
// [memory.NameKey], ordered by path, or none.
func (x *Index) filesNamed(ctx context.Context, view memory.View, key string) (paths []string, err error) {
	err = x.browse(ctx, view, func(s *reader) {
		s.eachBlock(termKey(kindName, key), func(_ uint32, r ref, _ slots) {
			paths = append(paths, s.table.fileAt(r.file).Path)
		})
		slices.Sort(paths)
		paths = slices.Compact(paths)
	})
	return paths, err
}

// Successors returns the last of the readable entries that supersede an entry of a file, for each such
// entry, by its id. The errors are those of [Index.Search].
func (x *Index) Successors(ctx context.Context, view memory.View, path string) (refs map[string]Ref, err error) {
	err = x.browse(ctx, view, func(s *reader) {
		refs = map[string]Ref{}
		v := s.table.files.get(path)
		if v == nil || !view.Readable(v.partition) {
			return
		}
		for entry := range v.entries {
			of := entryKey{v.number, int32(entry)}
			next, ok := s.findSuccessor(of)
			if !ok {
				continue
			}
			_, e := s.resolveEntry(of)
			if ref := s.refTo(next); e != nil && ref != nil {
				refs[e.ID] = *ref
			}
		}
	})
	return refs, err
}

// A Listing selects names from a sorted list.
type Listing struct {
	Prefix string // include only names with this prefix
	After  string // include only names after this one; all if empty
	Limit  int    // maximum number of names
}

// Page returns the selected names, a part of names. The given names must be
// sorted and have the prefix.
func (l Listing) Page(names []string) []string {
	if l.After != "" {
		at, found := slices.BinarySearch(names, l.After)
		if found {
			at++
		}
		names = names[at:]
	}
	return names[:min(len(names), l.Limit)]
}

// Owners returns the owner keys of all indexed content, sorted, each once.
func (x *Index) Owners() (owners []string) {
	for p := range x.snapshot().partitions {
		owners = append(owners, p.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// Tags returns a page of the sorted tags of readable entries with the number of
// these entries, and the total number of tags with the prefix. The errors are
// those of [Index.Search].
func (x *Index) Tags(ctx context.Context, view memory.View, l Listing) (tags []string, entries []int, total int,
	err error) {
	err = x.browse(ctx, view, func(s *reader) {
		prefix := letters.Fold(memory.FoldTag(l.Prefix))
		terms := slices.DeleteFunc(s.termsWithPrefix(kindTag, ""), func(tag string) bool {
			return !strings.HasPrefix(letters.Fold(tag), prefix)
		})
		tags, total = l.Page(terms), len(terms)
		entries = make([]int, len(tags))
		for i, tag := range tags {
			s.eachEntry(termKey(kindTag, tag), func(entryKey) { entries[i]++ })
		}
	})
	return tags, entries, total, err
}

// Sections returns a page of the headings above readable entries, and the total
// number of headings with the prefix. Each heading is spelled as in its first
// occurrence. Headings that searches treat as equal are listed once. The order
// is that of the normalized headings. The errors are those of [Index.Search].
func (x *Index) Sections(ctx context.Context, view memory.View, l Listing) (names []string, total int, err error) {
	if l.After != "" {
		l.After = normalizePhrase(l.After)
	}
	// The prefix may end inside a word. Appending a letter prevents the space
	// that normalizePhrase adds after a whole word.
	const more = "x"
	prefix := strings.TrimSuffix(normalizePhrase(l.Prefix+more), more+" ")
	err = x.browse(ctx, view, func(s *reader) {
		terms := s.termsWithPrefix(kindSection, prefix)
		names, total = nil, len(terms)
		for _, term := range l.Page(terms) {
			// empty if its file has changed; a later call finds the new spelling
			if name := s.spellHeading(term); name != "" {
				names = append(names, name)
			}
		}
	})
	return names, total, err
}

// spellHeading returns the spelling of a heading in its first occurrence, or ""
// if the heading no longer occurs there.
func (s *reader) spellHeading(term string) string {
	first, found := entryKey{}, false
	s.eachBlock(termKey(kindSection, term), func(_ uint32, r ref, v slots) {
		slot, _ := v.next()
		c := entryKey{r.file, int32(entryOfSlot(int(r.nth), slot))}
		if !found || s.inOrder(c, first) < 0 {
			first, found = c, true
		}
	})
	if !found {
		return ""
	}
	_, e := s.resolveEntry(first)
	if e == nil {
		return ""
	}
	if i := slices.IndexFunc(e.Sections, func(s string) bool { return normalizePhrase(s) == term }); i >= 0 {
		return e.Sections[i]
	}
	return ""
}

// HasText reports whether the index contains an entry with a text. It needs
// [Options.Texts].
func (x *Index) HasText(t TextRef) bool { return len(x.snapshot().texts.get(t)) > 0 }

// FilesLacking returns the paths of the files with a text for which has returns
// false, the most recently changed first. It calls has for each text of each file.
func (x *Index) FilesLacking(has func(TextRef) bool) []string {
	var lacking []*file
	for _, f := range x.snapshot().files.all() {
		lacks := false
		for _, t := range f.texts() {
			lacks = !has(t) || lacks
		}
		if lacks {
			lacking = append(lacking, f)
		}
	}
	slices.SortFunc(lacking, func(a, b *file) int {
		return cmp.Or(cmp.Compare(b.Stamp.MTime, a.Stamp.MTime), strings.Compare(a.Path, b.Path))
	})
	paths := make([]string, len(lacking))
	for i, f := range lacking {
		paths[i] = f.Path
	}
	return paths
}

// FileTexts returns the texts of a file that can be embedded, in order.
func (x *Index) FileTexts(path string) []TextRef { return x.snapshot().files.get(path).texts() }

// CountTexts returns the numbers of different texts of the partitions with texts.
func (x *Index) CountTexts() map[memory.Partition]int {
	counts := make(map[memory.Partition]int)
	for of, p := range x.snapshot().partitions {
		if p.texts > 0 {
			counts[of] = p.texts
		}
	}
	return counts
}
