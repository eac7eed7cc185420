package index

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/memory"
)

// TestTooManyTerms checks that a file with too many different words is indexed
// up to the limit, the same way each time, and that hidden words take no room
// from those of the public text.
func TestTooManyTerms(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes, which the race detector slows down")
	}
	var words strings.Builder
	for n := range maxFileTerms / 2 { // the parts of a word are terms, too
		fmt.Fprintf(&words, "w%dx ", n)
	}
	private := "- zorb " + words.String() + "blarg <!-- visibility=private_only -->\n"
	const public = "- snork\n"
	layout := &memory.Layout{Sessions: memory.PublicOK}
	build := func(text string) (*file, []*block) {
		return newBuilder().buildFile(layout.Parse("2026-02-04/a.md", []byte(text), memory.Meta{}), memory.Stamp{}, [32]byte{})
	}
	has := func(blocks []*block, variant int, word string) bool {
		for _, b := range blocks {
			if b.variant == variant && b.terms[b.prefix+termKey(kindWord, word)] != nil {
				return true
			}
		}
		return false
	}
	f, blocks := build(private + public)
	terms := map[string]bool{}
	for _, b := range blocks {
		for key := range b.terms {
			terms[key] = true // with the partition
		}
	}
	if len(terms) > maxFileTerms+100 || len(terms) < maxFileTerms*9/10 || !f.truncated {
		t.Errorf("%d terms, truncated: %v", len(terms), f.truncated)
	}
	if len(f.variants) != 2 || !has(blocks, 0, "zorb") || has(blocks, 0, "blarg") || !has(blocks, 1, "snork") {
		t.Errorf("%d variants; zorb %v, blarg %v, snork %v", len(f.variants), has(blocks, 0, "zorb"), has(blocks, 0, "blarg"),
			has(blocks, 1, "snork"))
	}
	_, again := build(private + public)
	for i, b := range blocks {
		if !reflect.DeepEqual(b.terms, again[i].terms) {
			t.Errorf("block %d differs the second time", i)
		}
	}
	back, err := unmarshalFile(f.marshal())
	if err != nil || !back.truncated {
		t.Errorf("the record loses that the file is truncated: %v", err)
	}
	if f, _ := build(public); f.truncated {
		t.Error("a small file is truncated")
	}
}
