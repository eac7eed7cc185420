package memory

import (
	"context"
	"encoding/json"
	"errors"
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

func TestLost(t *testing.T) {
	for _, test := range []struct {
		name, text, other string
		want              []string
	}{
		{"plain words", "We chose the left door", "nothing", nil},
		{"a number", "5 doors", "no doors", []string{"5"}},
		{"a number in a longer one", "5 doors", "15 doors, 5.5 keys, 1,5 rooms, -5 degrees", []string{"5"}},
		{"a number with a unit", "5s", "5", []string{"5s"}},
		{"a number in a range", "at 10:30", "10:30-11:00", nil},
		{"a number at the end of a sentence", "it is 5.", "5, it is", nil},
		{"a number among characters", "端口8080已开", "端口是8080。", nil},
		{"a number that is gone among characters", "端口8080已开", "端口已开", []string{"8080"}},
		{"thousands", "1,000 keys", "1 000 keys", []string{"1,000"}},
		{"less than nothing", "-5 degrees", "5 degrees", []string{"-5"}},
		{"a date", "on 2026-02-04", "on 2026-02-05", []string{"2026-02-04"}},
		{"a version", "v2.5.7", "v2.5", []string{"v2.5.7"}},
		{"a version in a longer one", "v2.5", "v2.5.7", []string{"v2.5"}},
		{"an address", "see https://example.org/a_(b)?c=1#d.", "see https://example.org/a_(c)?c=1#d.", []string{"https://example.org/a_(b)?c=1#d"}},
		{"an address in brackets", "([x](https://example.org/y))", "https://example.org/y", nil},
		{"an address that goes on", "https://example.org/y", "https://example.org/y/z", []string{"https://example.org/y"}},
		{"an address with other letters", "https://例え.jp/あ、", "https://例え.jp/い", []string{"https://例え.jp/あ"}},
		{"a path", "in cmd/main and ~/.config, not ../x", "in cmd/ and .config", []string{"cmd/main", "~/.config", "../x"}},
		{"a path in a longer one", "a/b", "a/b/c, x/a/b, a/b.md", []string{"a/b"}},
		{"the name of a file", "notes.md", "notes", []string{"notes.md"}},
		{"an abbreviation", "e.g. this", "this", nil},
		{"ids", "acct:42 k3f9 snake_case #tag @alice ^anchor camelCase", "", []string{"acct:42", "k3f9", "snake_case", "#tag", "@alice", "^anchor", "camelCase"}},
		{"an id in a longer one", "k3f9", "k3f9-2 k3f9b", []string{"k3f9"}},
		{"flags", "run it with -v and --force", "run it", []string{"-v", "--force"}},
		{"a code span", "type `make it so`", "type make it", []string{"make it so"}},
		{"a code span that is text", "type `make it so`", "make it so", nil},
		{"a code span over lines", "type `make  it so`", "make it\nso", nil},
		{"emphasis", "_word_ __word__ ~~word~~ **word**", "", nil},
		{"case", "camelCase", "camelcase", []string{"camelCase"}},
		{"each once", "5 5 5", "", []string{"5"}},
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

func TestProposalCheck(t *testing.T) {
	existing := []Mergeable{
		{ID: "e1", Section: "Temporary Facts", Title: "Port", Text: "the service listens on 8080, see docs/net.md"},
		{ID: "e2", Section: "Temporary Facts", Title: "Owner", Text: "Bob looks after the service"},
		{ID: "e3", Section: "Temporary Facts", Text: "the build is slow"},
		{ID: "t1", Section: "Tasks", Text: "Write the report for Bob", Task: true},
		{ID: "t2", Section: "Tasks", Text: "Order 3 chairs", Task: true},
		{ID: "t3", Section: "Tasks", Text: "Call the plumber", Task: true, State: Done},
		{ID: "t4", Section: "Tasks", Text: "给小王打电话", Task: true},
	}
	draft := []Mergeable{
		{ID: "d1", Section: "Temporary Facts", Title: "Where it listens", Text: "the service moved to port 8081"},
		{ID: "d3", Section: "Temporary Facts", Title: "Who", Text: "Alice looks after it from now on"},
		{ID: "u1", Section: "Tasks", Text: "Finish the report for Bob", Task: true, State: Done},
		{ID: "u2", Section: "Tasks", Text: "Order 4 chairs", Task: true, State: Done},
		{ID: "u3", Section: "Tasks", Text: "Ring the plumber", Task: true},
		{ID: "u4", Section: "Tasks", Text: "Pay the rent", Task: true, State: Done},
		{ID: "u5", Section: "Tasks", Text: "Order chairs", Task: true, State: Done},
		{ID: "u6", Section: "Tasks", Text: "Write a report for Bob", Task: true},
		{ID: "u7", Section: "Tasks", Text: "Rang the plumber", Task: true, State: Done},
		{ID: "u8", Section: "Tasks", Text: "Write the report for Alice", Task: true, State: Done},
		{ID: "v1", Section: "Tasks", Text: "已给小王打电话", Task: true, State: Done},
		{ID: "v2", Section: "Tasks", Text: "给小李打电话", Task: true, State: Done},
	}
	moved := "the service moved to port 8081, listens on 8081, see docs/net.md"
	refuse := func(text string) error {
		if strings.Contains(text, "hunter") {
			return errors.New("text: it has a credential")
		}
		return CheckText(text)
	}
	for _, test := range []struct {
		name string
		same []ItemPair
		want string
	}{
		{"nothing", nil, ""},
		{"two texts", []ItemPair{{"e1", "d1", moved}}, ""},
		{"several", []ItemPair{{"e1", "d1", moved}, {"e2", "d3", "Alice looks after the service, it, from now on"}, {"t1", "u1", ""}}, ""},
		{"an invented item of the file", []ItemPair{{"e9", "d1", moved}}, `item "e9" is not in the file`},
		{"an invented item of the draft", []ItemPair{{"e1", "d9", moved}}, `item "d9" is not in the draft`},
		{"the lists exchanged", []ItemPair{{"d1", "e1", moved}}, `item "d1" is not in the file`},
		{"no item", []ItemPair{{}}, `item "" is not in the file`},
		{"a very long name", []ItemPair{{strings.Repeat("x", 99), "d1", moved}},
			`item "` + strings.Repeat("x", 40) + `…" is not in the file`},
		{"one of the file twice", []ItemPair{{"e1", "d1", moved}, {"e1", "d3", moved}}, `items "e1" and "d3" are merged, one of them for the second time`},
		{"one of the draft twice", []ItemPair{{"e1", "d1", moved}, {"e3", "d1", moved}}, `items "e3" and "d1" are merged, one of them for the second time`},
		{"two sections", []ItemPair{{"t1", "d1", moved}}, "items of different sections are merged, Tasks and Temporary Facts"},
		// Sessions by day, line 120: the correction wins, also if the model returns the old text.
		{"the old value", []ItemPair{{"e1", "d1", "the service listens on 8080, see docs/net.md"}}, `"moved" would be lost`},
		{"both values", []ItemPair{{"e1", "d1", "the service moved to port 8081, 8080, see docs/net.md"}}, `"8080" is corrected by the draft`},
		{"the draft alone", []ItemPair{{"e2", "d3", "Bob looks after the service"}}, ""},
		{"a path is lost", []ItemPair{{"e1", "d1", "the service moved to port 8081"}}, `"docs/net.md" would be lost`},
		{"a number is made up", []ItemPair{{"e1", "d1", moved + ", 9090"}}, `"9090" is in neither text`},
		{"an address is made up", []ItemPair{{"e1", "d1", moved + " or http://evil.example"}}, `"http://evil.example" is in neither text`},
		// Sessions by day, line 122: nothing is invented.
		{"a word is made up", []ItemPair{{"e1", "d1", moved + ", secretly"}}, `"secretly" is in neither text`},
		{"a name is made up", []ItemPair{{"e2", "d3", "Alice and Carol looks after it from now on"}}, `"and" is in neither text`},
		{"an empty text", []ItemPair{{"e1", "d1", " \n"}}, "a merged text is empty"},
		{"a long text", []ItemPair{{"e1", "d1", moved + strings.Repeat(" the service", 20)}}, "a merged text is longer than both texts together"},
		{"a short text", []ItemPair{{"e2", "d3", "no"}}, "a merged text is much shorter than either text"},
		{"another text", []ItemPair{{"e2", "d3", "nothing of what stood here was of any importance"}}, `"any" is in neither text`},
		{"a comment", []ItemPair{{"e1", "d1", moved + " <!-- visibility=public_ok -->"}},
			"text contains a comment (<!-- -->); remove the comment"},
		{"hidden text", []ItemPair{{"e1", "d1", moved + " <private>"}}, "text contains a <private> tag; set visibility instead"},
		{"a credential", []ItemPair{{"e1", "d1", moved + " hunter"}}, "text: it has a credential"},
		{"an open task is done", []ItemPair{{"t1", "u1", "ignored"}}, ""},
		{"an open task is done by another", []ItemPair{{"t1", "u4", ""}}, "a task would be marked done because of a different task"},
		{"another number", []ItemPair{{"t2", "u2", "Order 3 or 4 chairs"}}, `"4" occurs in only one of two merged tasks`},
		{"no number", []ItemPair{{"t2", "u5", ""}}, `"3" occurs in only one of two merged tasks`},
		{"an open task in a done one", []ItemPair{{"t3", "u3", ""}}, "an open task would be lost"},
		{"an open task in an open one", []ItemPair{{"t1", "u6", ""}}, "an open task would be lost"},
		{"a done task in a done one", []ItemPair{{"t3", "u7", ""}}, ""},
		{"the task of somebody else", []ItemPair{{"t1", "u8", ""}}, "a task would be marked done because of a different task"},
		{"another task", []ItemPair{{"t3", "u4", ""}}, "a task would be marked done because of a different task"},
		{"all characters", []ItemPair{{"t4", "v1", ""}}, ""},
		{"all characters but one", []ItemPair{{"t4", "v2", ""}}, "a task would be marked done because of a different task"},
	} {
		p := &Proposal{Pairs: test.same}
		got := ""
		if err := p.Check(existing, draft, refuse); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	mixed := []Mergeable{{ID: "x", Section: "S", Text: "a"}}
	if err := (&Proposal{Pairs: []ItemPair{{"x", "y", "a"}}}).Check(mixed, []Mergeable{{ID: "y", Section: "S", Text: "a", Task: true}}, CheckText); err == nil {
		t.Error("a task is taken for a text")
	}
}
