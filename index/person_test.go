package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestQuestionsInFirstPerson checks that own statements and decisions come before
// reference notes if a question is in the first person, and concern it.
func TestQuestionsInFirstPerson(t *testing.T) {
	files := map[string]string{
		"MEMORY.md": "- Helix is the favourite editor\n- The flat is at 12 Rue Verte\n",
		"memory/2026-02-04.md": "- We decided to use pnpm because of disk space. <!-- type=decision -->\n- I called the plumber\n\n" +
			"我们决定用麦丽素 <!-- type=decision -->\n",
		"notes/a.md": "- A package manager installs packages\n- An editor can call a plumber\n",
		"notes/b.md": "- Choose a package\n- An editor of one\n- 数据库用什么都行\n- They called the plumber twice\n",
	}
	for i := range 40 {
		files[fmt.Sprintf("notes/other%d.md", i)] = strings.Repeat("- something else to use in a line\n", 5)
	}
	x := newFiles(t, files)
	for query, want := range map[string]string{
		"which package manager did we choose": "memory/2026-02-04.md:1", "which package manager do we use": "memory/2026-02-04.md:1",
		"what editor do I use": "MEMORY.md:1", "did I call the plumber?": "memory/2026-02-04.md:2", "我们用什么数据库": "memory/2026-02-04.md:4",
	} {
		if got := hitsOf(t, x, Query{Text: query}); !slices.Contains(got[:min(2, len(got))], want) {
			t.Errorf("%s: %q, want %s among the first", query, got, want)
		}
	}
	for query, want := range map[string]int{"which package manager did we choose?": 2, "what zebra did we buy?": 0, "we should choose a zebra": 0} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, Limit: 9, Cover: true, Filter: Filter{Types: []string{decision}}})
		if got := len(Covered(res.Hits, 0.4)); got != want || err != nil {
			t.Errorf("%s: concerns %d decisions, want %d, %v", query, got, want, err)
		}
	}
}
