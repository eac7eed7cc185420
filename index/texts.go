package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// countTexts adds the entries of a file to those that the table finds by their
// embedded text, or removes them if sign is -1.
func (t *table) countTexts(v *file, sign int) {
	for i, key := range v.keys {
		if key != 0 {
			countListed(&t.texts, t.edition, TextRef{v.partition, key}, entryKey{v.number, int32(i)}, sign)
		}
	}
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
		return cmp.Or(cmp.Compare(b.written, a.written), strings.Compare(a.Path, b.Path))
	})
	paths := make([]string, len(lacking))
	for i, f := range lacking {
		paths[i] = f.Path
	}
	return paths
}

// FileTexts returns the texts of a file that can be embedded, in order.
func (x *Index) FileTexts(path string) []TextRef { return x.snapshot().files.get(path).texts() }

// texts returns the texts of the file, which may be nil.
func (f *file) texts() (list []TextRef) {
	if f == nil {
		return nil
	}
	for _, k := range f.keys {
		if k != 0 {
			list = append(list, TextRef{f.partition, k})
		}
	}
	return list
}

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
