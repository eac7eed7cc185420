package index

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A textTable finds the entries whose embedded text has a key, by partition. It
// contains current versions of files only.
type textTable map[memory.Partition]*partitionTexts

// A partitionTexts holds the entries of one partition by key. Most texts occur once.
type partitionTexts struct {
	edition uint64
	first   shards[TextKey, entryKey]
	more    shards[TextKey, []entryKey] // further entries with an equal text
}

// countVariant adds the entries of a variant, or removes them if sign is -1.
func (t textTable) countVariant(edition uint64, v *variant, sign int) {
	for i, key := range v.keys {
		if key == 0 || i >= len(v.entries) {
			continue
		}
		p := t[v.partition]
		if p == nil {
			p = &partitionTexts{edition, newShards[TextKey, entryKey](), newShards[TextKey, []entryKey]()}
			t[v.partition] = p
		} else if p.edition != edition {
			p = &partitionTexts{edition, p.first.clone(), p.more.clone()}
			t[v.partition] = p
		}
		if e := (entryKey{v.number, int32(i)}); sign > 0 {
			p.add(key, e)
		} else {
			p.remove(key, e)
		}
		if p.first.length == 0 {
			delete(t, v.partition)
		}
	}
}

func (p *partitionTexts) add(key TextKey, e entryKey) {
	if p.first.has(key) {
		p.more.set(p.edition, key, append(slices.Clone(p.more.get(key)), e))
		return
	}
	p.first.set(p.edition, key, e)
}

func (p *partitionTexts) remove(key TextKey, e entryKey) {
	all := append([]entryKey{p.first.get(key)}, p.more.get(key)...)
	all = slices.DeleteFunc(all, func(o entryKey) bool { return o == e })
	p.first.delete(p.edition, key)
	p.more.delete(p.edition, key)
	if len(all) > 0 {
		p.first.set(p.edition, key, all[0])
	}
	if len(all) > 1 {
		p.more.set(p.edition, key, all[1:])
	}
}

// count returns the number of different texts of a partition.
func (t textTable) count(part memory.Partition) int {
	if p := t[part]; p != nil {
		return p.first.length
	}
	return 0
}

// entriesOf returns the entries of a partition whose text has the key.
func (t textTable) entriesOf(part memory.Partition, key TextKey) iter.Seq[entryKey] {
	return func(yield func(entryKey) bool) {
		p := t[part]
		if p == nil {
			return
		}
		if !p.first.has(key) || !yield(p.first.get(key)) {
			return
		}
		for _, e := range p.more.get(key) {
			if !yield(e) {
				return
			}
		}
	}
}

// HasText reports whether the index contains an entry of a partition whose text has
// the key. It needs [Options.Texts].
func (x *Index) HasText(part memory.Partition, key TextKey) bool {
	for range x.snapshot().texts.entriesOf(part, key) {
		return true
	}
	return false
}

// FilesLacking returns the paths of the files with a text for which has returns
// false, the most recently changed first. It calls has for each text of each file.
func (x *Index) FilesLacking(has func(memory.Partition, TextKey) bool) []string {
	var lacking []*file
	for _, f := range x.snapshot().files.all() {
		lacks := false
		for _, v := range f.variants {
			for _, k := range v.keys {
				if k != 0 && !has(v.partition, k) {
					lacks = true
				}
			}
		}
		if lacks {
			lacking = append(lacking, f)
		}
	}
	slices.SortFunc(lacking, func(a, b *file) int {
		return cmp.Or(cmp.Compare(b.written, a.written), strings.Compare(a.path, b.path))
	})
	paths := make([]string, len(lacking))
	for i, f := range lacking {
		paths[i] = f.path
	}
	return paths
}

// A TextRef identifies a text by its partition and key.
type TextRef struct {
	Partition memory.Partition
	Key       TextKey
}

// FileTexts returns the texts of a file that can be embedded, in order.
func (x *Index) FileTexts(path string) (list []TextRef) {
	f := x.snapshot().files.get(path)
	if f == nil {
		return nil
	}
	for _, v := range f.variants {
		for _, k := range v.keys {
			if k != 0 {
				list = append(list, TextRef{v.partition, k})
			}
		}
	}
	return list
}

// CountTexts returns the number of different texts of a partition.
func (x *Index) CountTexts(part memory.Partition) int {
	return x.snapshot().texts.count(part)
}

// TextPartitions returns the partitions with texts, in order.
func (x *Index) TextPartitions() []memory.Partition {
	return slices.SortedFunc(maps.Keys(x.snapshot().texts), memory.Partition.Compare)
}
