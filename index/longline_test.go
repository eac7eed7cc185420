package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// longLine returns a line of about 4 MB with a rare word at its end.
func longLine() string {
	var b strings.Builder
	for i := range 450_000 {
		fmt.Fprintf(&b, "word%d ", i%5000)
	}
	return b.String() + "Kestrels nest in the valley"
}

// TestLongLine checks that a hit in a long line shows the rarest word, lacks
// no word of the line or of a long heading above, and that only a part of the line is analyzed.
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes, which the race detector slows down")
	}
	line := longLine()
	x := newFiles(t, map[string]string{"long.md": "- " + line + "\n", "a.md": "- word7 is short\n"})
	res := x.mustSearch(t, ownerView(t), Query{Text: "word7 kestrel word4999 zebra", Limit: 20})
	h := res.Hits[0]
	if !strings.Contains(h.Snippet, "Kestrels nest") || len(h.Highlights) == 0 || !slices.Equal(h.Missing, []string{"zebra"}) {
		t.Errorf("snippet %q, highlights %v, missing %q", h.Snippet, h.Highlights, h.Missing)
	}
	x = newFiles(t, map[string]string{"long.md": "# " + line + "\n\n- quince\n", "a.md": "- word7 is short\n"})
	res = x.mustSearch(t, ownerView(t), Query{Text: "quince word7 kestrel word4999 zebra", Limit: 20})
	if h := res.Hits[0]; h.Doc.Place.Path != "long.md" || !slices.Equal(h.Missing, []string{"zebra"}) {
		t.Errorf("below a long heading: %s is first, missing %q", h.Doc.Place.Path, h.Missing)
	}
	wide := strings.Repeat("会议", 100_000)
	for _, text := range []string{line, wide, "a" + wide, strings.Repeat("a", 1<<20)} {
		for _, term := range []string{"kestrel", "会议", "absent"} {
			got := excerptOf(text, []qterm{{term: term}}, []float64{1})
			if len(got) > maxAnalyzed || !strings.Contains(text, got) || strings.ToValidUTF8(got, "") != got {
				t.Errorf("%s: part of %d bytes", term, len(got))
			}
		}
	}
}

// TestLongQuery checks that the rarest words of a long query count wherever they are.
func TestLongQuery(t *testing.T) {
	s := &mapSource{text: map[string]string{"hut.md": "- 小木屋的门牌号是刺猬路四十二号。\n- The code of the hut is heron\n"}}
	words, run := "", "" // talk of which the memory has each word often
	for i := range 300 {
		words += fmt.Sprintf("word%c%c ", 'a'+i%26, 'a'+i/26)
		run += string(rune('一' + i))
	}
	for i := range 30 {
		s.text[fmt.Sprintf("talk%d.md", i)] = words + run
	}
	x := s.complete(t)
	absent := strings.Repeat("unheard quagga ", 100)
	for _, query := range []string{run + "小木屋的门牌号是多少?", words + absent + "which code has the hut"} {
		res := x.mustSearch(t, ownerView(t), Query{Text: query, Limit: 1, ByFile: true})
		if len(res.Hits) == 0 || res.Hits[0].Doc.Place.Path != "hut.md" || res.TotalAll > 0 {
			t.Errorf("%s…: %v", query[:30], res.Hits)
		}
	}
	a := newAnalyzer()
	for _, all := range []bool{false, true} {
		if w := a.parseQuery(strings.Repeat("字x ", 1<<20), all); len(w.terms) > maxQueryText {
			t.Errorf("%d terms", len(w.terms))
		}
	}
}

// BenchmarkLongLine searches beside and within a line of 4 MB.
func BenchmarkLongLine(b *testing.B) {
	x := openFiles(b, map[string]string{"long.md": "- " + longLine() + "\n", "a.md": "- Only this is short\n",
		"below.md": "# " + longLine() + "\n" + strings.Repeat("\n- quince\n", 20)}, nil)
	for _, query := range []string{"short", "quince", "kestrel", "word7 word8", `"nest in the"`} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				x.mustSearch(b, ownerView(b), Query{Text: query})
			}
		})
	}
}
