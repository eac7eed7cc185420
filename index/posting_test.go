package index

import (
	"math/rand/v2"
	"testing"
)

func TestSlots(t *testing.T) {
	var s slots
	for slot := range slotsPerBlock {
		s.raise(slot, level(slot%8))
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
	s.raise(3, 1)
	if got := s.level(3); got != 3 {
		t.Errorf("a lower level replaced a higher one: %d", got)
	}
}

// TestPostingsSurviveBleve writes every block number's and every slot's extremes
// and reads them back, before and after segments are merged.
func TestPostingsSurviveBleve(t *testing.T) {
	s, err := openStore(t.TempDir()+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := rand.New(rand.NewPCG(1, 2))
	want := map[uint32]slots{0: 1, 1: 7 << 60, maxBlocks - 1: 1<<63 - 1, maxBlocks - 2: 3 << 30}
	for range 3000 {
		want[r.Uint32N(maxBlocks)] = slots(r.Uint64()>>1 | 1)
	}
	var blocks []*block
	for n, v := range want {
		blocks = append(blocks, &block{id: blockID("f", int(n)), number: n, prefix: "p", terms: map[string]slots{"wx": v}})
		if len(blocks) == 100 {
			if err := s.batch(blocks, nil, true); err != nil {
				t.Fatal(err)
			}
			blocks = nil
		}
	}
	if err := s.batch(blocks, nil, true); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		reader, err := s.index.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		got := make(map[uint32]slots)
		err = postings(t.Context(), reader, "pwx", func(n uint32, v slots) { got[n] = v })
		if err != nil {
			t.Fatal(err)
		}
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
	if err := s.merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after a merge")
}
