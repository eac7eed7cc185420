package index

import (
	"maps"
	"slices"
	"testing"

	"github.com/memwatchd/memwatchd/memory"
)

// TestCountTexts checks that equal texts count once, and that FilesLacking examines
// every text.
func TestCountTexts(t *testing.T) {
	text := "- We go to the sea by train.\n- The train leaves early in the morning.\n"
	x, _ := openTextTest(t, map[string]string{"a.md": text, "b.md": text})
	if got := x.CountTexts(); !maps.Equal(got, map[memory.Partition]int{{Owner: "owner"}: 2}) {
		t.Fatalf("%v", got)
	}
	var seen []TextRef
	x.FilesLacking(func(ref TextRef) bool {
		seen = append(seen, ref)
		return false
	})
	for _, path := range []string{"a.md", "b.md"} {
		refs := x.FileTexts(path)
		if len(refs) != 2 || !slices.Contains(seen, refs[0]) || !slices.Contains(seen, refs[1]) || len(seen) != 4 {
			t.Errorf("%s: %v, seen %v", path, refs, seen)
		}
	}
	if refs := x.FileTexts("c.md"); refs != nil {
		t.Errorf("a missing file: %v", refs)
	}
}
