package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	golden(t, "judge", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
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

func TestLost(t *testing.T) {
	for _, test := range []struct {
		name, text, other string
		want              []string
	}{
		{"plain words", "We chose the left door", "nothing", nil},
		{"a number", "5 doors", "no doors", []string{"5"}},
		{"a number in a longer one", "5 doors", "15 doors, 5.5 keys, 1,5 rooms, -5 degrees", []string{"5"}},
		{"a number with a unit", "5s", "5", []string{"5s"}},
		{"a number in a range", "at 10:30", "10:30-11:00", []string{"10:30"}},
		{"a number at the end of a sentence", "it is 5.", "5, it is", nil},
		{"a number that is gone among characters", "端口8080已开", "端口已开", []string{"8080"}},
		{"less than nothing", "-5 degrees", "5 degrees", []string{"-5"}},
		{"a date", "on 2026-02-04", "on 2026-02-05", []string{"2026-02-04"}},
		{"a version", "v2.5.7", "v2.5", []string{"v2.5.7"}},
		{"an address", "see https://example.org/a_(b)?c=1#d.", "see https://example.org/a_(c)?c=1#d.", []string{"https://example.org/a_(b)?c=1#d"}},
		{"an address in brackets", "([x](https://example.org/y))", "https://example.org/y", nil},
		{"an address with other letters", "https://例え.jp/あ、", "https://例え.jp/い", []string{"https://例え.jp/あ"}},
		{"a path", "in cmd/main and ~/.config, not ../x", "in cmd/ and .config", []string{"cmd/main", "~/.config", "../x"}},
		{"the name of a file", "notes.md", "notes", []string{"notes.md"}},
		{"ids", "acct:42 k3f9 snake_case #tag @alice ^anchor camelCase", "", []string{"acct:42", "k3f9", "snake_case", "#tag", "@alice", "^anchor", "camelCase"}},
		{"flags", "run it with -v and --force", "run it", []string{"-v", "--force"}},
		{"emphasis", "_word_ __word__ ~~word~~ **word**", "", nil},
		{"case", "camelCase", "camelcase", []string{"camelCase"}},
	} {
		if diff := cmp.Diff(test.want, MissingWords(test.text, test.other)); diff != "" && len(test.want)+len(MissingWords(test.text, test.other)) > 0 {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
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
			if lost := MissingWords(text, other); len(lost) > 0 {
				t.Errorf("%q has lost %q", other, lost)
			}
		}
	})
}

// TestMergedText checks the texts that may replace two items.
func TestMergedText(t *testing.T) {
	port := &Mergeable{Title: "Port", Text: "the service listens on 8080, see docs/net.md"}
	moved := &Mergeable{Title: "Where it listens", Text: "the service moved to port 8081"}
	bob := &Mergeable{Title: "Owner", Text: "Bob looks after the service"}
	alice := &Mergeable{Title: "Who", Text: "Alice looks after it from now on"}
	const both = "the service moved to port 8081, listens on 8081, see docs/net.md"
	refuse := func(text string) error {
		if strings.Contains(text, "hunter") {
			return errors.New("text: it has a credential")
		}
		return CheckText(text)
	}
	for _, test := range []struct {
		name    string
		was, is *Mergeable
		text    string
		want    string // the text or the error
	}{
		{"two texts", port, moved, both, both},
		{"other words", bob, alice, "Alice looks after the service, it, from now on", "Alice looks after the service, it, from now on"},
		// Sessions by day, line 120: the correction wins, also if the model returns the old text.
		{"the old text", bob, alice, "Bob looks after the service", "Alice looks after it from now on"},
		{"the old value", port, moved, "the service listens on 8080, see docs/net.md", `"8081" would be lost`},
		{"both values", port, moved, both + ", 8080", `"8080" is corrected by the draft`},
		{"a path is lost", port, moved, "the service moved to port 8081", `"docs/net.md" would be lost`},
		// Sessions by day, line 122: nothing is invented.
		{"a number", port, moved, both + ", 9090", `"9090" is in neither text`},
		{"an address", port, moved, both + " or http://evil.example", `"http://evil.example" is in neither text`},
		{"a word", port, moved, both + ", secretly", `"secretly" is in neither text`},
		{"an empty text", port, moved, " \n", "a merged text is empty"},
		{"a long text", port, moved, both + strings.Repeat(" the service", 20), "a merged text is longer than both texts together"},
		{"hidden text", port, moved, both + " <private>", "text contains a <private> tag; set visibility instead"},
		{"a credential", port, moved, both + " hunter", "text: it has a credential"},
	} {
		got, err := mergedText(test.was, test.is, test.text, refuse)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestJudgedTasks checks which done tasks mark another task as done.
func TestJudgedTasks(t *testing.T) {
	for _, test := range []struct {
		open, done string
		want       bool
	}{
		{"Write the report for Bob", "Finish the report for Bob", true},
		{"Call the plumber", "Rang the plumber", true},
		{"Write the report for Bob", "Pay the rent", false},
		{"Write the report for Bob", "Write the report for Alice", false},
		{"Order 3 chairs", "Order 4 chairs", false},
		{"Order chairs soon", "Order 3 chairs soon", false},
		{"给小王打电话", "已给小王打电话", true},
		{"给小王打电话", "给小李打电话", false},
	} {
		if err := checkTasks(test.open, test.done); (err == nil) != test.want {
			t.Errorf("%q by %q: %v", test.open, test.done, err)
		}
	}
}
