package index

import (
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A TextRef identifies a text by its partition and key.
type TextRef struct {
	Partition memory.Partition
	Key       TextKey
}

// FileTexts returns the texts of a file that can be embedded, in order.
func (x *Index) FileTexts(path string) (list []TextRef) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f := x.table.files[path]
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
	x.mu.RLock()
	defer x.mu.RUnlock()
	if p := x.table.texts[part]; p != nil {
		return len(p.first)
	}
	return 0
}

// TextPartitions returns the partitions with texts, in order.
func (x *Index) TextPartitions() []memory.Partition {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(x.table.texts), memory.Partition.Compare)
}
