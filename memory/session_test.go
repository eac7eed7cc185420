package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

var mergeNow = time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)

type sessionDraft struct {
	Draft
	Summary         string
	Source          string
	Channel         string
	ContactID       string `json:"contact_id"`
	ContactNickname string `json:"contact_nickname"`
	SubjectID       string `json:"subject_id"`
}

// mergeDraft returns a document after a draft was merged into it, with the outcomes
// of the draft's items.
func mergeDraft(l *Layout, d *Document, draft *sessionDraft, view View, source string, now time.Time) (*Document, []Outcome, error) {
	parse := func(b []byte) *Document { return l.Parse(d.Place.Path, b, testMeta) }
	parts, err := draft.Entries()
	if err != nil {
		return nil, nil, err
	}
	m, err := l.Merge(d, parts, permitReadable(view))
	if err != nil {
		return nil, nil, err
	}
	if err := m.ByRules(context.Background()); err != nil {
		return nil, nil, err
	}
	r := d.Revise()
	m.Revise(r, Author{Source: source}, now)
	r.CompleteSession(SessionHead{
		Day: d.Place.Day, Now: now, Summary: draft.Summary, SessionID: "s", Source: draft.Source, Channel: draft.Channel,
		ContactID: draft.ContactID, ContactNickname: draft.ContactNickname, SubjectID: draft.SubjectID,
	})
	out, err := r.Apply(parse)
	if err != nil {
		return nil, nil, err
	}
	next := parse(out)
	return next, m.Outcomes(next), nil
}

// TestMergeGolden compares results with the archives in testdata/merge. Each
// contains sessions' files, each followed by drafts, which are merged in turn,
// with the lines that each draft changes. "draft: public" is a draft from an
// untrusted source and a reader of public text only. The section "→ items"
// contains the outcomes: a plus is a new item, a tilde a changed one, an equals
// sign an existing one.
func TestMergeGolden(t *testing.T) {
	golden.Run(t, "merge", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		l := testLayout()
		if strings.Contains(string(a.Comment), "sections: 任务 跟进") {
			l.Tasks = []string{"任务"}
		}
		var d *Document
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			out.Files = append(out.Files, f)
			if !strings.HasPrefix(f.Name, "draft") {
				d = l.Parse(f.Name, golden.Decode(f.Data), testMeta)
				continue
			}
			before := golden.Encode(d.Source)
			var said []string
			d, said = mergeCase(t, l, d, f)
			out.Files = append(out.Files, txtar.File{Name: "→", Data: golden.Diff(before, golden.Encode(d.Source))},
				txtar.File{Name: "→ items", Data: []byte(strings.Join(said, ""))})
		}
		return out
	})
}

// mergeCase merges a draft, and merges it again to check that the second merge
// has no effect.
func mergeCase(t *testing.T, l *Layout, d *Document, f txtar.File) (*Document, []string) {
	t.Helper()
	var draft sessionDraft
	dec := json.NewDecoder(bytes.NewReader(f.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&draft); err != nil {
		t.Fatalf("%s: %v", f.Data, err)
	}
	scope, source := Scope{Subject: "owner", Context: Private}, "cli"
	if strings.Contains(f.Name, "public") {
		scope.Context, source = Public, PublicSource+"telegram"
	}
	view := viewOf(t, scope)
	next, outcomes, err := mergeDraft(l, d, &draft, view, source, mergeNow)
	if err != nil {
		return d, []string{"error: " + err.Error() + "\n"}
	}
	var said []string
	for _, o := range outcomes {
		text := ""
		if o.Entry >= 0 {
			text, _, _ = strings.Cut(next.Entries[o.Entry].Text, "\n")
		}
		said = append(said, fmt.Sprintf("%c %s line %d: %s\n", "+~="[o.Change], o.Name, o.Line, strings.TrimSpace(text)))
	}
	again, outcomes, err := mergeDraft(l, next, &draft, view, source, mergeNow.Add(time.Hour))
	if err != nil {
		t.Fatalf("once more: %v", err)
	}
	later := bytes.Replace(again.Source, []byte("2026-02-05T13:00:00Z"), []byte("2026-02-05T12:00:00Z"), 1)
	if diff := cmp.Diff(string(next.Source), string(later)); diff != "" {
		t.Errorf("%s\nonce more (-first +second):\n%s", f.Data, diff)
	}
	for _, o := range outcomes {
		if o.Change != Merged || o.Entry < 0 {
			t.Errorf("%s once more is %d, at entry %d", o.Name, o.Change, o.Entry)
		}
	}
	return next, said
}

// permitReadable permits changes of every entry that a view reads.
func permitReadable(v View) func(*Entry) bool { return func(e *Entry) bool { return e.Readable(v) } }

func TestMostSimilar(t *testing.T) {
	list := []string{
		"The port is 8080 (added 2026-02-04)", "Book a van for Saturday", "提醒主人周五准备面试", "short one", "The build takes an hour",
	}
	texts := newSimilarTexts(list)
	golden.Table(t, "similar", func(_ *testing.T, in []string) string {
		if i := texts.mostSimilar(in[0]); i >= 0 {
			return list[i]
		}
		return ""
	})
	if newSimilarTexts(make([]string, maxSimilar+1)).mostSimilar("The port is 8080") != -1 {
		t.Error("compared with very many texts")
	}
}

// randomDraft returns a draft with texts from the random files and texts that
// look like structure.
func randomDraft(r *rand.Rand) *sessionDraft {
	text := func() string {
		list := []string{"tea", "same", "SAME", "**Bob**: likes coffee", "[x](2026-02-01/a.md)", "[y](b.md#c)", "喝茶", "nested", "a ^b", "# h", "- [ ] x", "```", "a\n===", "|a|\n|-|", "1. x", "<div>", "[a]: b", "---", "a  \\", "`", "x\n\ty\n  z", "> q", "***", "2026-01-03: rain", "coffee (added 2026-01-02)", "_", "&amp;", "a\u2028b"}
		return list[r.IntN(len(list))]
	}
	title := func() string { return []string{"", "", "Bob", "bob ", "Other", "T:", "`x`"}[r.IntN(7)] }
	d := &sessionDraft{Summary: text(), Draft: Draft{Items: map[string][]DraftItem{}}}
	for range 1 + r.IntN(5) {
		switch r.IntN(5) {
		case 0:
			d.Tasks = append(d.Tasks, DraftTask{Text: text(), Done: r.IntN(2) == 0})
		case 1:
			d.FollowUps = append(d.FollowUps, DraftTask{Text: text(), Reopen: r.IntN(4) == 0})
		case 2:
			d.Facts = append(d.Facts, DraftItem{Title: title(), Text: text()})
		case 3:
			d.Links = append(d.Links, DraftLink{Text: text(), Target: []string{"2026-02-01/a.md", "b.md#c", "https://a.b/c d", "x.md"}[r.IntN(4)]})
		default:
			section := []string{sessionSummary, "A", "Key Facts", "tasks", "10:30 AM - a", "New"}[r.IntN(6)]
			item := DraftItem{Title: title(), Text: text()}
			if r.IntN(3) == 0 {
				item = DraftItem{Topic: "Bob", Users: "a", Event: text()}
			}
			d.Items[section] = append(d.Items[section], item)
		}
	}
	return d
}

// mergeAtRandom merges a draft into a file and checks the invariants: only
// entries paired with the draft change, all items of the draft are in the file,
// and merging the same draft again changes only the time.
func mergeAtRandom(t *testing.T, d *Document, draft *sessionDraft, view View, source string) (*Document, error) {
	t.Helper()
	l := testLayout()
	next, outcomes, err := mergeDraft(l, d, draft, view, source, mergeNow)
	if err != nil {
		return nil, err
	}
	fail := func(what string) {
		t.Helper()
		t.Fatalf("%s: %+v\n%q\n=>\n%q\n%s", what, *draft, d.Source, next.Source, next.Source)
	}
	if d.Unsound || next.Unsound {
		fail("written though it is unsound")
	}
	touched := map[int]bool{}
	for _, o := range outcomes {
		if o.Entry < 0 {
			fail("not to be seen: " + o.Name)
		}
		e := &next.Entries[o.Entry]
		if o.Into >= 0 && o.Change == Updated {
			touched[o.Into] = true
		}
		if o.Change == Added && (e.Author().Untrusted(View{}) != IsUntrustedSource(source) || e.Partition.Visibility != next.Partition.Visibility) {
			fail("new, and not marked as it should be: " + o.Name)
		}
	}
	lines := strings.Split(string(unixText(next.Source)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	at := 0
	for line := d.bodyLine(); line <= d.lines.count(); line++ {
		own := -1
		for i := range d.Entries {
			if d.Entries[i].Line <= line && line <= d.Entries[i].EndLine {
				own = i
			}
		}
		span := d.lines.span(line, line)
		text := strings.TrimRight(string(trimEnding(unixText(d.Source)[span.Start:span.End])), " ")
		if touched[own] || strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t") == "" {
			continue
		}
		found := slices.IndexFunc(lines[at:], func(s string) bool { return strings.TrimPrefix(s, "\ufeff") == strings.TrimPrefix(text, "\ufeff") })
		if found < 0 {
			fail("lost or moved: " + text)
		}
		at += found + 1
	}
	again, outcomes, err := mergeDraft(l, next, draft, view, source, mergeNow.Add(time.Hour))
	if err != nil {
		fail("not the same again: " + err.Error())
	}
	later := bytes.Replace(again.Source, []byte("2026-02-05T13:00:00Z"), []byte("2026-02-05T12:00:00Z"), 1)
	if !bytes.Equal(next.Source, later) {
		fail("the same draft changes it: " + cmp.Diff(string(next.Source), string(later)))
	}
	for _, o := range outcomes {
		if o.Change != Merged {
			fail("not the same again: " + o.Name)
		}
	}
	return next, nil
}

func FuzzMerge(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint64(i))
	}
	for i, s := range []string{
		"## Tasks\n- [ ] tea\n- [x] tea\n  - [ ] tea\n", "## Temporary Facts\n9. **Bob**: x\n10. tea\n\ntext\n", "# A\r\n\r\n## A\r\n* **bob**: x <!-- id=a -->\r\n* [y](b.md#c)", "## 待办与承诺\n- ✅ tea\n- same\n",
		"## Related Links\n- [y](b.md#c) ^x\n- a [x](../2026-02-01/a.md)\n## Tasks\n", "Tasks\n===\n- [ ] **Bob**: a\n  - [ ] nested\n", "## Session Summary\n1. **Topic**: Bob\n2. Bob:\n   - a\n", "---\nsummary: [a]\ntasks: 3/4\n---\n## tasks\n- [ ] nested\n",
	} {
		f.Add([]byte(s), uint64(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) {
		view, source := viewOf(t, Scope{Subject: "owner", Context: Private}), "cli"
		if seed%2 == 0 {
			view, source = viewOf(t, Scope{Subject: "acct:1", Context: Public}), PublicSource+"x"
		}
		d := testLayout().Parse("2026-02-04/a.md", src, testMeta)
		if !view.Readable(d.Partition) {
			return
		}
		mergeAtRandom(t, d, randomDraft(rand.New(rand.NewPCG(seed, 17))), view, source)
	})
}

// TestMergeAtRandom merges random drafts into random files.
func TestMergeAtRandom(t *testing.T) {
	private := viewOf(t, Scope{Subject: "owner", Context: Private})
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 19))
		src := []string{"", "---\nsession_id: s\nsummary: s\n---\n"}[r.IntN(2)] + joinChunks("", randomDocument(r, PublicOK))
		mergeAtRandom(t, testLayout().Parse("2026-02-04/a.md", []byte(src), testMeta), randomDraft(r), private, "cli")
	}
}
