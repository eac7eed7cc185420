package index

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// TestTooManyTerms checks that a file with too many different words is indexed
// up to the limit, the same way each time.
func TestTooManyTerms(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes, which the race detector slows down")
	}
	var words strings.Builder
	for n := range maxFileTerms/2 + 1000 { // the number in a word is a term, too
		fmt.Fprintf(&words, "w%dx ", n)
	}
	long := "- zorb " + words.String() + "blarg\n"
	layout := &memory.Layout{Sessions: memory.PublicOK}
	build := func(text string) (*file, []*block) {
		return newBuilder().buildFile(layout.Parse("2026-02-04/a.md", []byte(text), memory.Meta{}), disk.Stamp{}, [32]byte{}, nil)
	}
	has := func(blocks []*block, word string) bool {
		for _, b := range blocks {
			if len(b.fields) > 0 && b.fields[0].terms[word] != nil {
				return true
			}
		}
		return false
	}
	f, blocks := build(long)
	terms := map[string]bool{}
	for _, b := range blocks {
		for _, f := range b.fields {
			for term := range f.terms {
				terms[f.name+term] = true
			}
		}
	}
	if len(terms) > maxFileTerms+100 || len(terms) < maxFileTerms*9/10 || !f.Truncated {
		t.Errorf("%d terms, truncated: %v", len(terms), f.Truncated)
	}
	if !has(blocks, "zorb") || has(blocks, "blarg") {
		t.Errorf("zorb %v, blarg %v", has(blocks, "zorb"), has(blocks, "blarg"))
	}
	_, again := build(long)
	for i, b := range blocks {
		if !reflect.DeepEqual(b.fields, again[i].fields) {
			t.Errorf("block %d differs the second time", i)
		}
	}
	must(t, newTable().assignBlocks(f))
	back, err := unmarshalFile(f.marshal())
	if err != nil || !back.Truncated {
		t.Errorf("the record loses that the file is truncated: %v", err)
	}
	if f, _ := build("- snork\n"); f.Truncated {
		t.Error("a small file is truncated")
	}
}

// TestReusedBlocks checks that a changed file is indexed the same way whether or not its
// blocks come from the record before.
func TestReusedBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	layout := &memory.Layout{Sessions: memory.PublicOK}
	line := func() string {
		text := fmt.Sprintf("- **k%d**: word%d #tag%d [to](n%d.md)?", random.IntN(9), random.IntN(300), random.IntN(9), random.IntN(9))
		return text[:len(text)-random.IntN(2)] +
			[]string{"", "", " <!-- visibility=private_only -->", " <!-- id=i importance=0.5 -->"}[random.IntN(4)] + "\n"
	}
	lines := []string{"---\ntitle: a\n---\n\n"}
	for range 150 {
		lines = append(lines, line())
	}
	table := newTable()
	built := map[uint32]*block{} // by number
	var before *file
	reused := 0
	for round := range 300 {
		text := []byte(strings.Join(lines, ""))
		doc := layout.Parse("2026-02-04/a.md", text, memory.Meta{})
		f, blocks := newBuilder().buildFile(doc, disk.Stamp{}, sha256.Sum256(text), before)
		fresh, all := newBuilder().buildFile(doc, disk.Stamp{}, sha256.Sum256(text), nil)
		reused += len(all) - len(blocks)
		must(t, table.assignBlocks(f))
		for _, b := range blocks {
			built[f.blocks[b.nth]] = b
		}
		for _, b := range all {
			got := built[f.blocks[b.nth]]
			if got == nil || !reflect.DeepEqual(got.fields, b.fields) {
				t.Fatalf("round %d: block %d differs", round, b.nth)
			}
		}
		if !reflect.DeepEqual(f.entries, fresh.entries) || f.length != fresh.length || f.terms < fresh.terms ||
			!slices.Equal(f.important, fresh.important) {
			t.Fatalf("round %d: the record differs", round)
		}
		if before != nil {
			table.removeFile(before, f)
		}
		table.addFile(f)
		before = f
		switch i := 1 + random.IntN(len(lines)-1); random.IntN(4) {
		case 0:
			lines = append(lines, line())
		case 1:
			lines = slices.Insert(lines, i, line())
		case 2:
			lines = slices.Delete(lines, i, i+1)
		default:
			lines[i] = line()
		}
	}
	if reused < 1000 {
		t.Errorf("%d blocks were reused", reused)
	}
}
