package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContainedWords checks the number of entries with all words, the words that
// nothing contains, and those that each hit lacks.
func TestContainedWords(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "# Deploying\n\n- k8s and C++ on kestrel\n- use a reducer, 9999 times\n- call foo.bar_baz of kestrel\n",
		"b.md": "- kestrel of foo and bar_baz, c and c#\n- 当时幸福地来了，敲门\n- 看了当幸福来敲门\n",
		"d.md": "- KestrelPort is useful\n- API-1234 and API 9999\n",
	})
	for _, c := range []struct {
		query string
		all   int
		gone  string
		want  []string // hits with the words they lack, and ~ before those in parts
	}{
		{"kestrel deploy", 2, "", []string{"a.md:5", "a.md:3", "a.md:4 kestrel", "d.md:1 deploy", "b.md:1 deploy"}},
		{"E9999 kestrel", 0, "E9999", nil},
		{"useReducer", 0, "useReducer", []string{"a.md:4 ~useReducer", "d.md:1 ~useReducer"}},
		{"foo.bar_baz", 1, "", []string{"a.md:5", "b.md:1 ~foo.bar_baz"}},
		{"C++", 1, "", []string{"a.md:3"}},
		{"c#", 1, "", []string{"b.md:1"}},
		{"API-9999 kestrel", 0, "API-9999", nil},
		{"API-1234", 1, "", []string{"d.md:2"}},
		{"k8s", 1, "", []string{"a.md:3"}},
		{"kestrl", 4, "", nil},
		{"kest*", 4, "", nil},
		{"kestrel kest*", 4, "", []string{"d.md:1", "a.md:5", "a.md:3", "b.md:1"}},
		{"kest* kestrel", 4, "", []string{"d.md:1", "a.md:5", "a.md:3", "b.md:1"}},
		{"zebra kestrel", 0, "zebra", nil},
		{"当幸福来敲门", 1, "", []string{"b.md:3", "b.md:2 ~当幸福来敲门"}},
		{"狮子 当幸福来敲门", 0, "狮子", nil},
		{"幸福来了", 0, "", nil},
		{"the", 0, "the", nil},
		{"", 9, "", nil},
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: c.query, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		if gone := strings.Join(res.Absent, " "); c.query != "" && (res.TotalAll != c.all || gone != c.gone) {
			t.Errorf("%s: %d contain all, want %d; absent: %q, want %q", c.query, res.TotalAll, c.all, gone, c.gone)
		}
		if c.want == nil {
			continue
		}
		var got []string
		for _, h := range res.Hits {
			line := fmt.Sprintf("%s:%d", h.Doc.Place.Path, h.Entry.Line)
			for _, w := range h.Missing {
				line += " "
				for _, p := range h.Partial {
					if p == w {
						line += "~"
					}
				}
				line += w
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
}

// TestSeenText checks that the text is found that a reader sees, without backslashes and
// entities, and with symbols.
func TestSeenText(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- set max\\_open\\_files to 4096\n- Tom&nbsp;Waits plays C\\+\\+ &amp; sings\n- ⭐ favourite\n- ⚠️ 10 € of C:\\dir\n"})
	for query, want := range map[string]string{
		"max_open_files": "a.md:1", `"max_open_files"`: "a.md:1", `"Tom Waits"`: "a.md:2", "C++": "a.md:2", "⭐": "a.md:3", "⚠": "a.md:4",
		"⚠️": "a.md:4", "€": "a.md:4", "dir": "a.md:4", "nbsp": "", `max\_open\_files`: "a.md:1",
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, Limit: 9, Exact: strings.Contains(query, `"`)})
		got := ""
		for _, h := range res.Hits {
			got += fmt.Sprintf("%s:%d", h.Doc.Place.Path, h.Entry.Line)
		}
		if got != want || want != "" && res.Absent != nil || err != nil {
			t.Errorf("%s: %q, want %q; absent: %q, %v", query, got, want, res.Absent, err)
		}
	}
	p := NewPhrase("open_files", false)
	const text = `a max\_open\_files b &lt;`
	if got := p.Find(text); len(got) != 1 || text[got[0][0]:got[0][1]] != `open\_files` {
		t.Errorf("found %v", got)
	}
}

// TestEncodedData checks that parts of encoded data are not words, and that whole
// ones are found.
func TestEncodedData(t *testing.T) {
	const (
		base64 = "iVBORw0KGgo4ANSUhEUgkid7AAAUA5dog9AFCAYAAACNbyblAAAAHElEQVQI12P4"
		hash   = "8f14e45fceea167a5a36dedd4bea2543"
		uuid   = "550e8400-e29b-41d4-a716-446655440000"
	)
	x := newFiles(t, map[string]string{
		"a.md": "- " + base64 + "\n- commit " + hash + "\n- id " + uuid + "\n- getUserById2 in src/Users/John/app2/views/main.go\n",
	})
	for query, want := range map[string][]string{
		"dog": nil, "kid": nil, "167": nil, "45": nil,
		base64: {"a.md:1"}, hash: {"a.md:2"}, uuid: {"a.md:3"}, "id": {"a.md:4", "a.md:3"}, "john": {"a.md:4"}, "main.go": {"a.md:4"},
		"user": {"a.md:4"},
	} {
		wantHits(t, x, Query{Text: query, KeepTypos: true}, want...)
	}
}
