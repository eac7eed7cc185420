package api

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRenderers checks that every answer that front ends show has lines.
func TestRenderers(t *testing.T) {
	for _, op := range Operations {
		answer := reflect.TypeOf(op.NewAnswer())
		shown := op.Name != "export" && (!op.ProgramsOnly || op.Name == "edit" || op.Name == "write")
		if _, ok := op.NewAnswer().(interface{ render(*Text) }); ok != shown {
			t.Errorf("%s: %s has lines: %v, want %v", op.Name, answer, ok, shown)
		}
	}
}

// TestHitPlaces checks the line and the column of the first match of a hit.
func TestHitPlaces(t *testing.T) {
	for _, test := range []struct {
		name string
		hit  Hit
		want []Match
	}{
		{"one line", Hit{Path: "a.md", Line: 3, EndLine: 3, Text: "- the quince", Snippet: "- the quince", Highlights: [][2]int{{6, 12}}},
			[]Match{{"a.md", 3, 7, "- the quince"}}},
		{"joined lines", Hit{Path: "a.md", Line: 3, EndLine: 4, Text: "A tree\nwith 木 quinces", Snippet: "A tree with 木 quinces", Highlights: [][2]int{{14, 20}}},
			[]Match{{"a.md", 4, 10, "A tree with 木 quinces"}}},
		{"the line of the snippet", Hit{Path: "a.md", Line: 1, EndLine: 3, Text: "- quince\n  - one\n  - a quince", Snippet: "  - one\n  - a quince", Highlights: [][2]int{{14, 20}}},
			[]Match{{"a.md", 3, 7, "- a quince"}}},
		{"a cut line", Hit{Path: "a.md", Line: 1, EndLine: 2, Text: "- x\n  - quince and more", Snippet: "- x\n  - quince and…", Highlights: [][2]int{{8, 14}}},
			[]Match{{"a.md", 2, 5, "- quince and…"}}},
		{"a comment on a line of its own", Hit{Path: "a.md", Line: 1, EndLine: 3, Text: "- x\n  quince", Snippet: "- x quince", Highlights: [][2]int{{4, 10}}},
			[]Match{{"a.md", 1, 0, "- x quince"}}},
		{"no match", Hit{Path: "a.md", Line: 5, EndLine: 6, Text: "- x\n  more"}, []Match{{"a.md", 5, 0, "- x"}}},
		{"copies", Hit{Path: "a.md", Line: 5, EndLine: 5, Text: "- x", AlsoAt: []Place{{Path: "b.md", Line: 2}}},
			[]Match{{"a.md", 5, 0, "- x"}, {"b.md", 2, 0, "- x"}}},
		{"a range beyond the snippet", Hit{Path: "a.md", Line: 5, EndLine: 5, Text: "- x", Snippet: "- x", Highlights: [][2]int{{1, 9}}},
			[]Match{{"a.md", 5, 0, "- x"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.hit.places()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
