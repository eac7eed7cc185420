package index

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/memwatchd/memwatchd/memory"
)

func TestSlots(t *testing.T) {
	var s slots
	for slot := range slotsPerBlock {
		s.set(slot, level(slot%8))
	}
	n := 0
	for slot := range slotsPerBlock {
		if got, want := s.level(slot), level(slot%8); got != want {
			t.Errorf("slot %d is %d, want %d", slot, got, want)
		}
		if slot%8 != 0 {
			n++
		}
	}
	if got := s.count(); got != n {
		t.Errorf("%d slots have the term, want %d", got, n)
	}
	s.set(3, 1)
	if got := s.level(3); got != 1 {
		t.Errorf("slot 3 is %d after it was set to 1", got)
	}
}

// TestFrequency checks that slots of every form survive encoding and decoding.
func TestFrequency(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(s slots, atMost uint64) {
		t.Helper()
		f := s.frequency()
		if f == 0 || f > atMost {
			t.Errorf("%o is written as %d, want 1 to %d", s, f, atMost)
		}
		if got := slotsOf(f); got != s {
			t.Errorf("%o is read as %o", s, got)
		}
	}
	const most = 1<<(3*slotsPerBlock+2) - 1
	for slot := range slotsPerBlock {
		for l := level(1); l <= 7; l++ {
			check(slots(l)<<(3*slot), most)
		}
		check(slots(levelOnce)<<(3*slot), 2*slotsPerBlock) // fits into a byte, although bleve adds one bit
	}
	for range 2000 {
		check(slots(r.Uint64())&(1<<(3*slotsPerBlock)-1)|1, most)
		var s slots
		l := level(1 + r.IntN(7))
		for range 1 + r.IntN(slotsPerBlock) {
			s.set(r.IntN(slotsPerBlock), l)
		}
		check(s, 1<<(slotsPerBlock+5)-1)
	}
}

func FuzzFrequency(f *testing.F) {
	f.Add(uint64(0))
	f.Add(uint64(1) << 62)
	f.Fuzz(func(t *testing.T, n uint64) {
		if s := slotsOf(n); s>>(3*slotsPerBlock) == 0 && s != 0 && slotsOf(s.frequency()) != s {
			t.Errorf("%o is not read as it was written", s)
		}
	})
}

// TestPostingsSurviveBleve writes extreme block numbers and slots and reads
// them back, before and after a merge of the segments.
func TestPostingsSurviveBleve(t *testing.T) {
	s, err := openStore(t.TempDir()+"/x", func(*store, error, bool) {})
	must(t, err)
	defer s.close()
	r := rand.New(rand.NewPCG(1, 2))
	const all = 1<<(3*slotsPerBlock) - 1
	want := map[uint32]slots{0: 1, 1: 7 << (3*slotsPerBlock - 3), maxBlocks - 3: all, maxBlocks - 2: 3 << 30}
	for range 3000 {
		want[r.Uint32N(purgeBlock)] = slots(r.Uint64())&all | 1
	}
	var blocks []*block
	fields := fieldsOf(memory.Partition{Owner: "p"})
	for n, v := range want {
		b := &block{number: n}
		b.setTerms(&fields, []blockTerm{{termKey(kindWord, "x"), v}})
		blocks = append(blocks, b)
		if len(blocks) == 100 {
			must(t, s.addDurably(blocks, nil))
			blocks = nil
		}
	}
	must(t, s.addDurably(blocks, nil))
	check := func(when string) {
		t.Helper()
		l, err := openPostings(s)
		must(t, err)
		defer l.close()
		got := make(map[uint32]slots)
		err = l.eachPosting(t.Context(), fields[kindWord], "x", func(n uint32, v slots) { got[n] = v })
		must(t, err)
		if len(got) != len(want) {
			t.Fatalf("%s: %d postings, want %d", when, len(got), len(want))
		}
		for n, v := range want {
			if got[n] != v {
				t.Fatalf("%s: block %d has %b, want %b", when, n, got[n], v)
			}
		}
	}
	check("as written")
	must(t, s.mergeAll())
	list, err := s.openSnapshot()
	must(t, err)
	defer list.Close()
	if n := len(list.Segments()); n != 1 {
		t.Errorf("%d segments after the merge", n)
	}
	check("after a merge")
}

// add writes a batch without a table.
func (s *store) add(blocks []*block, gone []string) error {
	return s.writeBatch(blocks, gone, func() {})
}

// addDurably writes a batch and waits until its additions and deletions are on disk.
func (s *store) addDurably(blocks []*block, gone []string) error {
	return errors.Join(s.add(blocks, gone), s.flush())
}

func openPostings(s *store) (*postingReader, error) {
	list, err := s.openSnapshot()
	if err != nil {
		return nil, err
	}
	l := &postingReader{snapshot: list}
	return l, l.open(&s.numbers)
}
