package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
)

// TestHitPlaces checks the line and the column of the first match of a hit.
func TestHitPlaces(t *testing.T) {
	for _, test := range []struct {
		name string
		hit  api.Hit
		want []listed
	}{
		{"one line", api.Hit{Path: "a.md", Line: 3, EndLine: 3, Text: "- the quince", Snippet: "- the quince", Highlights: [][2]int{{6, 12}}},
			[]listed{{"a.md", 3, 7, "- the quince"}}},
		{"joined lines", api.Hit{Path: "a.md", Line: 3, EndLine: 4, Text: "A tree\nwith 木 quinces", Snippet: "A tree with 木 quinces", Highlights: [][2]int{{14, 20}}},
			[]listed{{"a.md", 4, 10, "A tree with 木 quinces"}}},
		{"the line of the snippet", api.Hit{Path: "a.md", Line: 1, EndLine: 3, Text: "- quince\n  - one\n  - a quince", Snippet: "  - one\n  - a quince", Highlights: [][2]int{{14, 20}}},
			[]listed{{"a.md", 3, 7, "- a quince"}}},
		{"a cut line", api.Hit{Path: "a.md", Line: 1, EndLine: 2, Text: "- x\n  - quince and more", Snippet: "- x\n  - quince and…", Highlights: [][2]int{{8, 14}}},
			[]listed{{"a.md", 2, 5, "- quince and…"}}},
		{"a comment on a line of its own", api.Hit{Path: "a.md", Line: 1, EndLine: 3, Text: "- x\n  quince", Snippet: "- x quince", Highlights: [][2]int{{4, 10}}},
			[]listed{{"a.md", 1, 0, "- x quince"}}},
		{"no match", api.Hit{Path: "a.md", Line: 5, EndLine: 6, Text: "- x\n  more"}, []listed{{"a.md", 5, 0, "- x"}}},
		{"copies", api.Hit{Path: "a.md", Line: 5, EndLine: 5, Text: "- x", AlsoAt: []api.Place{{Path: "b.md", Line: 2}}},
			[]listed{{"a.md", 5, 0, "- x"}, {"b.md", 2, 0, "- x"}}},
		{"a range beyond the snippet", api.Hit{Path: "a.md", Line: 5, EndLine: 5, Text: "- x", Snippet: "- x", Highlights: [][2]int{{1, 9}}},
			[]listed{{"a.md", 5, 0, "- x"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, hitPlaces(&test.hit), cmp.AllowUnexported(listed{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFormat checks that templates have all JSON fields, with escaped texts, and no
// others.
func TestFormat(t *testing.T) {
	answer := &api.SearchAnswer{Hits: []api.Hit{{Path: "a b.md", Text: "\x1b[31mred\tone\n", Tags: []string{"tea"}, Time: time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)}}}
	for format, want := range map[string]string{
		`{{range .hits}}{{.path}} {{.time.Format "Jan 2"}} {{.task}}{{end}}`: "a b.md Feb 5 \n",
		`{{(index .hits 0).text}}`:                                   `\x1b[31mred` + "\tone\n",
		`{{range .hits}}{{json .tags}}{{"\x00"}}{{end}}`:             `["tea"]` + "\x00",
		`{{len .hits}} {{.redacted}} {{.index.degraded}} {{.total}}`: "1 0 false 0\n",
		`{{file "x"}}`:     "x!\n",
		`{{.nothing}}`:     "error",
		`{{range .hits}}`:  "error",
		`{{.hits.Secret}}`: "error",
	} {
		o := output{format: format}
		var b bytes.Buffer
		err := o.check(false, func(path string) string { return path + "!" })
		if err == nil {
			err = o.printFormatted(&b, answer)
		}
		if err != nil {
			b.Reset()
			b.WriteString("error")
		}
		if b.String() != want {
			t.Errorf("%s prints %q (%v), want %q", format, b.String(), err, want)
		}
	}
	for _, o := range []output{{files: true, quiet: true}, {null: true}, {vimgrep: true, format: "x"}} {
		if err := o.check(false, nil); err == nil || !strings.Contains(err.Error(), "--") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
