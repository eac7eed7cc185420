package index

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
)

// The parts of a table are immutable once searches can see them: a change makes a
// new version, which shares all that it leaves as it is with the one before. So a
// search needs no lock, however long it takes.
//
// An edition numbers the versions of one table. A version may change the pages and
// shards that it has copied, which have its number, until it is published.

const (
	pageSize  = 128
	maxShards = 256
)

// pages is a list of values by number, in pages.
type pages[T any] struct {
	list   []*numbered[[pageSize]T]
	length uint32
}

// A numbered is a part of a version.
type numbered[T any] struct {
	edition uint64
	value   T
}

// at returns the n-th element, which the caller must not change.
func (p *pages[T]) at(n uint32) *T { return &p.list[n/pageSize].value[n%pageSize] }

// set sets the n-th element, which is at most the one after the last.
func (p *pages[T]) set(edition uint64, n uint32, v T) {
	k := n / pageSize
	switch {
	case int(k) == len(p.list):
		p.list = append(p.list, &numbered[[pageSize]T]{edition: edition})
	case p.list[k].edition != edition:
		p.list[k] = &numbered[[pageSize]T]{edition, p.list[k].value}
	}
	p.list[k].value[n%pageSize] = v
	p.length = max(p.length, n+1)
}

// clone returns a list that can be changed without changing p.
func (p pages[T]) clone() pages[T] { return pages[T]{slices.Clone(p.list), p.length} }

func (p *pages[T]) all() iter.Seq2[uint32, T] {
	return func(yield func(uint32, T) bool) {
		for n := range p.length {
			if !yield(n, *p.at(n)) {
				return
			}
		}
	}
}

// shards is a map in parts.
type shards[K comparable, V any] struct {
	list   *[maxShards]numbered[map[K]V]
	length int
}

var shardSeed = maphash.MakeSeed()

func shardOf[K comparable](k K) int { return int(maphash.Comparable(shardSeed, k) % maxShards) }

func newShards[K comparable, V any]() shards[K, V] {
	return shards[K, V]{list: new([maxShards]numbered[map[K]V])}
}

// get returns the value of a key, or the zero value.
func (s *shards[K, V]) get(k K) V { return s.list[shardOf(k)].value[k] }

func (s *shards[K, V]) set(edition uint64, k K, v V) {
	m := s.own(edition, k)
	s.length -= len(m)
	m[k] = v
	s.length += len(m)
}

func (s *shards[K, V]) delete(edition uint64, k K) {
	m := s.own(edition, k)
	s.length -= len(m)
	delete(m, k)
	s.length += len(m)
}

// countListed adds a value to the list of a key, or removes it if sign is -1. A key
// with an empty list is deleted.
func countListed[K, V comparable](s *shards[K, []V], edition uint64, k K, v V, sign int) {
	list := slices.Clip(s.get(k)) // earlier versions have it
	if sign > 0 {
		s.set(edition, k, append(list, v))
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(o V) bool { return o == v })
	s.set(edition, k, list)
	if len(list) == 0 {
		s.delete(edition, k)
	}
}

// own returns the part with a key, which the version may change.
func (s *shards[K, V]) own(edition uint64, k K) map[K]V {
	p := &s.list[shardOf(k)]
	if p.value == nil {
		*p = numbered[map[K]V]{edition, make(map[K]V)}
	} else if p.edition != edition {
		*p = numbered[map[K]V]{edition, maps.Clone(p.value)}
	}
	return p.value
}

// clone returns a map that can be changed without changing s.
func (s shards[K, V]) clone() shards[K, V] {
	list := *s.list
	return shards[K, V]{&list, s.length}
}

func (s *shards[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range s.list {
			for k, v := range s.list[i].value {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}
