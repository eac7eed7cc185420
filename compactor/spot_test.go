package compactor

import (
	"testing"

	"github.com/memwatchd/memwatchd/memory"
)

// TestLevelOf checks the levels of empty headings of each form.
func TestLevelOf(t *testing.T) {
	for text, want := range map[string]int{
		"# One\n": 1, "### Three ###\n": 3, "One\n===\n": 1, "Two\n---\n": 2, "Two\nlines\n-\n": 2, "One -\n=\n": 1, "Two\n---  \n": 2,
	} {
		doc := new(memory.Layout).Parse("MEMORY.md", []byte(text), memory.Meta{})
		if got := levelOf(doc, doc.Entries[0].Span.End); got != want {
			t.Errorf("%q: level %d, want %d", text, got, want)
		}
	}
}
