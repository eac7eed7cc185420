package ops

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestSplitUndone checks that the split of generated files gives each line to the readers
// that its mark asks for, and that undo restores every byte.
func TestSplitUndone(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a thousand files")
	}
	const count = 500
	r := rand.New(rand.NewPCG(1, 2))
	files, want := map[string]string{}, map[string]memory.Visibility{}
	for n := range count {
		usual, other := memory.Visibility(n%2), memory.Visibility(1-n%2)
		var b strings.Builder
		ending := []string{"\n", "\r\n"}[r.IntN(2)]
		fmt.Fprintf(&b, "---\nvisibility: %s\n---\n", usual)
		for i := range 2 + r.IntN(5) {
			word, marked := fmt.Sprintf("word%dx%d.", n, i), i < 2 && i == n/2%2 || i > 1 && r.IntN(2) == 0
			want[word] = usual
			comment := ""
			if marked {
				want[word] = other
				comment = fmt.Sprintf(" <!-- visibility=%s -->", other)
			}
			if r.IntN(3) == 0 {
				fmt.Fprintf(&b, "\n## Part %d\n\n", i)
			}
			switch form := r.IntN(4); {
			case form == 0 && marked && other == memory.PrivateOnly:
				fmt.Fprintf(&b, "\n<private>\n\n%s\n\n</private>\n\n", word)
			case form == 1:
				fmt.Fprintf(&b, "\n%s%s\n\n", word, comment)
			default:
				fmt.Fprintf(&b, "- %s%s\n", word, comment)
			}
		}
		files[fmt.Sprintf("notes/%d.md", n)] = strings.ReplaceAll(b.String(), "\n", ending)
	}
	d := newDisk(t, files)
	got := map[string]memory.Visibility{}
	for path, text := range files {
		if doc, err := d.Load(path); err != nil || doc.Partition.Visibility != memory.PrivateOnly {
			t.Fatalf("%s is not private as a whole: %v\n%s", path, err, text)
		}
		_, beside, err := d.memory.adminOps().splitFile(t.Context(), path, "")
		if err != nil || beside == "" {
			t.Fatalf("%s: %q, %v\n%s", path, beside, err, text)
		}
		for _, part := range []string{path, beside} {
			doc, err := d.Load(part)
			checkError(t, err)
			for word := range strings.FieldsSeq(string(doc.Source)) {
				if _, ok := want[word]; ok {
					got[word] = doc.Partition.Visibility
				}
			}
		}
	}
	for word, v := range want {
		if is, ok := got[word]; !ok || is != v {
			t.Errorf("%s is %s, %t, want %s", word, is, ok, v)
		}
	}
	_, err := do[api.UndoAnswer](t, d.memory, owner, api.UndoRequest{Since: "24h"})
	checkError(t, err)
	for path, text := range files {
		d.want(t, path, text)
	}
}
