package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestJudgeGolden compares results with the archives in testdata/judge. Each
// contains a session's file, a draft for it, the items for the judge, and
// proposals, each with the resulting file or error. "tell public" limits the
// judge's items to public ones. Text with the word hunter2 stands for a
// credential, which must neither be shown to the judge nor be written.
func TestJudgeGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/judge/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: a.Comment}
			var c mergeFixture
			for _, f := range a.Files {
				if strings.HasPrefix(f.Name, "→") {
					continue
				}
				got.Files = append(got.Files, f)
				switch word, _, _ := strings.Cut(f.Name, " "); word {
				case "draft":
					got.Files = append(got.Files, txtar.File{Name: "→ asked", Data: []byte(c.listItems(t, f))})
				case "proposal":
					got.Files = append(got.Files, txtar.File{Name: "→ " + f.Name, Data: []byte(c.applyProposal(t, f.Data))})
				default:
					c = mergeFixture{layout: testLayout(), doc: testLayout().Parse(f.Name, f.Data, testMeta)}
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type mergeFixture struct {
	layout  *Layout
	doc     *Document
	entries []DraftEntry
	filter  func(Visibility, string) bool
}

func (c *mergeFixture) newMerge(t *testing.T) (m *Merge, existing, draft []Mergeable) {
	t.Helper()
	view, err := new(Directories).View(Scope{Subject: "owner", Context: Private})
	if err == nil {
		m, err = c.layout.Merge(c.doc, c.entries, permitReadable(view))
	}
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

// applyProposal returns the file after a proposal was applied, or the error.
func (c *mergeFixture) applyProposal(t *testing.T, data []byte) string {
	t.Helper()
	var p Proposal
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	_, existing, draft := c.newMerge(t)
	m, _, _ := c.newMerge(t) // a second one, as when the file is read again
	before := fmt.Sprint(m.Items, m.taken)
	err := m.ApplyProposal(&p, existing, draft, func(text string) error {
		if strings.Contains(text, "hunter2") {
			return fmt.Errorf("the text has a credential")
		}
		return CheckText(text)
	})
	if err != nil {
		if fmt.Sprint(m.Items, m.taken) != before {
			t.Error("something has happened all the same")
		}
		return err.Error() + "\n"
	}
	if err := m.ByRules(context.Background()); err != nil {
		return err.Error() + "\n"
	}
	r := c.doc.Revise()
	m.Revise(r, Author{Source: "api"}, mergeNow)
	out, err := r.Apply(func(b []byte) *Document { return c.layout.Parse(c.doc.Place.Path, b, testMeta) })
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
