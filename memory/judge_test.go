package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// TestJudgeGolden compares results with the archives in testdata/judge. Each
// contains a session's file, a draft for it, the items for the judge, and
// proposals, each with the lines that it changes or its error. "tell public" limits the
// judge's items to public ones. Text with the word hunter2 stands for a
// credential, which must neither be shown to the judge nor be written.
func TestJudgeGolden(t *testing.T) {
	golden.Run(t, "judge", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		out := &txtar.Archive{Comment: a.Comment}
		var c mergeFixture
		for _, f := range a.Files {
			out.Files = append(out.Files, f)
			switch word, _, _ := strings.Cut(f.Name, " "); word {
			case "draft":
				out.Files = append(out.Files, txtar.File{Name: "→ asked", Data: []byte(c.listItems(t, f))})
			case "proposal":
				out.Files = append(out.Files, txtar.File{Name: "→ " + f.Name, Data: []byte(c.applyProposal(t, f.Data))})
			default:
				c = mergeFixture{layout: testLayout(), doc: testLayout().Parse(f.Name, f.Data, testMeta)}
			}
		}
		return out
	})
}

type mergeFixture struct {
	layout  *Layout
	doc     *Document
	entries []DraftEntry
	filter  func(Visibility, string) bool
}

func (c *mergeFixture) newMerge(t *testing.T) (m *Merge, existing, draft []Mergeable) {
	t.Helper()
	m, err := c.layout.Merge(c.doc, c.entries, permitReadable(viewOf(t, Scope{Subject: "owner", Context: Private})))
	if err != nil {
		t.Fatal(err)
	}
	existing, draft = m.Undecided(context.Background(), c.filter)
	return m, existing, draft
}

func (c *mergeFixture) listItems(t *testing.T, f txtar.File) string {
	t.Helper()
	var d Draft
	if err := json.Unmarshal(f.Data, &d); err != nil {
		t.Fatal(err)
	}
	var err error
	c.entries, err = d.Entries()
	if err != nil {
		t.Fatal(err)
	}
	public := strings.Contains(f.Name, "tell public")
	c.filter = func(v Visibility, text string) bool {
		return (v == PublicOK || !public) && !strings.Contains(text, "hunter2")
	}
	_, existing, draft := c.newMerge(t)
	var b strings.Builder
	for _, list := range [][]Mergeable{existing, draft} {
		for _, m := range list {
			fmt.Fprintf(&b, "%s %s", m.ID, m.Section)
			if m.Task {
				fmt.Fprintf(&b, " (%s)", m.State)
			}
			fmt.Fprintf(&b, " | %s | %q\n", m.Title, m.Text)
		}
	}
	return b.String()
}

// applyProposal returns the lines that a proposal changes.
func (c *mergeFixture) applyProposal(t *testing.T, data []byte) string {
	t.Helper()
	var p struct{ Same []ItemPair }
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	_, existing, draft := c.newMerge(t)
	m, _, _ := c.newMerge(t) // a second one, as when the file is read again
	m.ApplyProposal(p.Same, existing, draft)
	r := c.doc.Revise()
	m.Revise(r, Author{Source: "api"}, mergeNow)
	out, err := r.Apply(func(b []byte) *Document { return c.layout.Parse(c.doc.Place.Path, b, testMeta) })
	if err != nil {
		t.Fatal(err)
	}
	return string(golden.Diff(golden.Encode(c.doc.Source), golden.Encode(out)))
}

func TestMissingWords(t *testing.T) {
	golden.Table(t, "missingwords", func(_ *testing.T, in []string) string { return strings.Join(letters.MissingWords(in[0], in[1]), " ") })
}

// FuzzLost checks that a text loses no words compared with itself, with any
// text around it.
func FuzzLost(f *testing.F) {
	for _, s := range append(seeds, "https://a.b/c_(d)). 1,000.5 `a b` -x ^y 端口8080。") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			t.Skip("every word is looked for in all of the text")
		}
		for _, other := range []string{text, "x " + text + " y", "（" + text + "）"} {
			if lost := letters.MissingWords(text, other); len(lost) > 0 {
				t.Errorf("%q has lost %q", other, lost)
			}
		}
	})
}

// TestJudgedTasks checks which done tasks mark another task as done.
func TestJudgedTasks(t *testing.T) {
	golden.Table(t, "donetasks", func(_ *testing.T, in []string) string {
		return fmt.Sprint(isSameTask(in[0], in[1]))
	})
}
