package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// TestDictionaryIsPrivate checks that corrections and prefixes use only words that
// the view may read and that still occur.
func TestDictionaryIsPrivate(t *testing.T) {
	public := contextView(t, memory.Public)
	s := &mapSource{text: map[string]string{
		"memory/2026-02-04.md": "---\nvisibility: public_ok\n---\n- A launchpod.\n",
		"memory/2026-02-05.md": "---\nvisibility: private_only\n---\n- A launchpad.\n- A harbour.\n",
		"memory/2026-02-06.md": "---\nvisibility: public_ok\n---\n- Launchpid.\n",
	}}
	x := s.complete(t)
	delete(s.text, "memory/2026-02-06.md")
	s.apply(t, x, "memory/2026-02-06.md")
	for _, tc := range []struct {
		view memory.View
		text string
		want string
	}{
		{public, "launchpud", "1 hits [{launchpud [launchpod]}]"},
		{public, "launch*", "1 hits []"},
		{public, "habrour", "0 hits []"},
		{public, "harb*", "0 hits []"},
		{ownerView(t), "launchpud", "2 hits [{launchpud [launchpad launchpod]}]"},
		{ownerView(t), "launch*", "2 hits []"},
		{ownerView(t), "habrour", "1 hits [{habrour [harbour]}]"},
	} {
		res := x.mustSearch(t, tc.view, Query{Text: tc.text, Limit: 10})
		for _, c := range res.Corrected {
			slices.Sort(c.To)
		}
		if got := fmt.Sprint(res.Total, " hits ", res.Corrected); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestLevelInSection(t *testing.T) {
	var l, before level
	for n := range 12 {
		both := l.inSection()
		if both.inSection() != both {
			t.Errorf("level %d in two headings is %d, in one %d", l, both.inSection(), both)
		}
		if levelTenths[both] <= levelTenths[l] || n > 1 && levelTenths[l] < levelTenths[before] {
			t.Errorf("level %d counts %d, with a heading %d", l, levelTenths[l], levelTenths[both])
		}
		if (both > levelSection) != (n > 0) {
			t.Errorf("%d occurrences and a heading are level %d", n, both)
		}
		before, l = l, l.next()
	}
}

// TestSnippetLines checks that code, lists and tables keep their lines.
func TestSnippetLines(t *testing.T) {
	a := newAnalyzer()
	for _, c := range []struct{ text, query, want, language string }{
		{"one\nline of\ntext", "line", "one [line] of text", ""},
		{"> one\n> line\n>\n> > with 5 > 4", "line", "> one [line] with 5 > 4", ""},
		{"```go\nfunc main() {\n\tgo run()\n}\n```", "run", "func main() {\n    go [run]()\n}", "go"},
		{"Try:\n\n```sh\na\nb\nc\nd\nkestrel\ne\nf\ng\n```", "kestrel", "c\nd\n[kestrel]\ne\nf\ng", "sh"},
		{"- a list\n  - of items", "items", "- a list\n  - of [items]", ""},
		{"- a list\n  - " + strings.Repeat("of items ", 80) + "and kestrel here", "kestrel",
			"- a list\n…" + strings.Repeat("items of ", 24) + "items and [kestrel] here", ""},
		{"```\n" + strings.Repeat("a b ", 80) + "\nkestrel\n```", "kestrel", strings.Repeat("a b ", 60)[:239] + "…\n[kestrel]", ""},
		{"| port | host |\n|---|---|\n| 80 | kestrel |", "kestrel port", "| [port] | host |\n|---|---|\n| 80 | [kestrel] |", ""},
	} {
		snippet, marks, language := a.buildSnippet(c.text, a.parseQuery(c.query, false).terms, map[string]bool{})
		runes := []rune(snippet)
		for _, m := range slices.Backward(marks) {
			runes = slices.Insert(slices.Insert(runes, m[1], ']'), m[0], '[')
		}
		if string(runes) != c.want || language != c.language {
			t.Errorf("%q is %q in %q, want %q in %q", c.text, string(runes), language, c.want, c.language)
		}
	}
}

var queryOptions = map[string]func(q *Query, value string){
	"all":     func(q *Query, _ string) { q.All = true },
	"asof":    func(q *Query, v string) { q.AsOf, _ = time.Parse(time.DateOnly, v) },
	"cover":   func(q *Query, _ string) { q.Cover = true },
	"exact":   func(q *Query, _ string) { q.Exact = true },
	"exclude": func(q *Query, v string) { q.Exclude = v },
	"file":    func(q *Query, _ string) { q.ByFile = true },
	"keep":    func(q *Query, _ string) { q.KeepTypos = true },
	"overlap": func(q *Query, _ string) { q.Mode = Overlap },
	"path":    func(q *Query, v string) { q.Filter.Path = v },
	"score":   func(*Query, string) {}, // show scores
	"recent":  func(q *Query, _ string) { q.Mode = Recent },
	"tag":     func(q *Query, v string) { q.Filter.Tags = []string{v} },
	"type":    func(q *Query, v string) { q.Filter.Types = []string{v} },
	"typing":  func(q *Query, _ string) { q.Typing = true },
	"words":   func(*Query, string) {}, // show the words that hits lack
}

// TestQueries compares the hits of queries with the archives in testdata/queries. A line
// of queries is "{options} text → hits". The text of a file can be repeated: the name
// a*9.md stands for a0.md to a8.md, in whose text # is the number.
func TestQueries(t *testing.T) {
	golden.Run(t, "queries", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		files := map[string]string{}
		var queries *txtar.File
		for i := range a.Files {
			f := &a.Files[i]
			if f.Name == "queries" {
				queries = f
				continue
			}
			before, after, many := strings.Cut(f.Name, "*")
			if !many {
				files[f.Name] = string(f.Data)
				continue
			}
			n, kind := 0, ""
			fmt.Sscanf(after, "%d%s", &n, &kind)
			for i := range n {
				files[fmt.Sprint(before, i, kind)] = strings.ReplaceAll(string(f.Data), "#", fmt.Sprint(i))
			}
		}
		x := newFiles(t, files)
		var got strings.Builder
		for line := range strings.Lines(string(queries.Data)) {
			if text, _, ok := strings.Cut(line, " →"); ok {
				line = text + " →" + answerOf(t, x, text) + "\n"
			}
			got.WriteString(line)
		}
		queries.Data = []byte(got.String())
		return a
	})
}

// answerOf returns the answer to a query of an archive, each part after a space.
func answerOf(t *testing.T, x *Index, text string) (answer string) {
	t.Helper()
	q := Query{Limit: 20, AsOf: time.Unix(1_800_000_000, 0)}
	shows := map[string]bool{}
	if options, rest, ok := strings.Cut(text, "} "); ok {
		for option := range strings.FieldsSeq(strings.TrimPrefix(options, "{")) {
			name, value, _ := strings.Cut(option, "=")
			queryOptions[name](&q, value)
			shows[name] = true
		}
		text = rest
	}
	q.Text = strings.NewReplacer(`\u00ad`, "\u00ad", `\ufe0f`, "\ufe0f", `\u0301`, "\u0301").Replace(text)
	res := x.mustSearch(t, ownerView(t), q)
	for _, h := range res.Hits {
		answer += fmt.Sprintf(" %s:%d", h.Doc.Place.Path, h.Entry.Line)
		for _, w := range h.Missing {
			if shows["words"] {
				answer += "-" + w
			}
		}
		if shows["score"] {
			answer += fmt.Sprintf("=%.4f", h.Score)
		}
		if h.Successor != nil {
			answer += fmt.Sprintf("<%s:%d", h.Successor.Path, h.Successor.Line)
		}
	}
	if q.Cover {
		answer += fmt.Sprintf(" (%d concern it)", len(Covered(res.Hits, threshold)))
	}
	if shows["words"] {
		answer += fmt.Sprintf(" (%d with all)", res.TotalAll)
	}
	if res.Absent != nil {
		answer += fmt.Sprintf(" (absent: %s)", strings.Join(res.Absent, ", "))
	}
	for _, c := range res.Corrected {
		answer += fmt.Sprintf(" (%s for %s)", strings.Join(c.To, ", "), c.Word)
	}
	if res.Note != "" {
		answer += " (" + res.Note + ")"
	}
	return answer
}
