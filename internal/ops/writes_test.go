package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// The tests of writes below are those that archives cannot state: of concurrent requests, links
// and changes during a request.

// TestWriteBusy checks that an edit of a file that others keep saving returns
// Busy and loses none of their changes.
func TestWriteBusy(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a\n"})
	parse, saved := d.memory.Parse, "- a"
	d.memory.Parse = func(f vault.File) *memory.Document {
		saved += " more" // simulates a save between read and write
		checkError(t, os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), []byte(saved), 0o600))
		return parse(f)
	}
	_, err := do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: "- a", NewText: "- b"})
	if got := asError(err).Code; got != api.Busy {
		t.Errorf("the error is %v", err)
	}
	d.want(t, "MEMORY.md", saved)
}

// put stores an item.
func put(t testing.TB, m *Memory, by api.Caller, namespace, key, value, visibility string) (*api.Item, error) {
	t.Helper()
	a, err := do[api.ItemAnswer](t, m, by, api.ItemPutRequest{Namespace: namespace, Key: key, Value: &value, Visibility: visibility})
	if err != nil {
		return nil, err
	}
	return a.Item, nil
}

// TestPutsTogether checks that puts of one caller that wait for a change become one change,
// that each is answered with its own item or error, and that the last one of a key wins.
func TestPutsTogether(t *testing.T) {
	const path, puts = "_longterms/owner/fact.md", 20
	d := newDisk(t, map[string]string{path: "---\nsubject_id: owner\n---\n- **key 3**: by hand\n"})
	parse, waiting := d.memory.Parse, make(chan struct{})
	var once sync.Once
	d.memory.Parse = func(f vault.File) *memory.Document {
		once.Do(func() { <-waiting }) // in the first change
		return parse(f)
	}
	var done sync.WaitGroup
	q, callers := &d.memory.waiting, 0
	start := func(key, value string) {
		callers++
		done.Go(func() {
			item, err := put(t, d.memory, owner, "fact", key, value, "")
			if err != nil || item.Key != key || item.Value != value || item.Line == 0 {
				t.Errorf("%s: %+v, %v", key, item, err)
			}
		})
		for n := 0; n < callers; time.Sleep(time.Millisecond) { // it waits
			q.mu.Lock()
			n = 0
			for _, f := range q.files {
				n += f.uses
			}
			q.mu.Unlock()
		}
	}
	start("first", "1")
	for i := range puts {
		start(fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	start("key 5", "another value")
	close(waiting)
	done.Wait()
	text := d.read(t, path)
	for i := range puts {
		want := fmt.Sprintf("- **key %d**: value %d ", i, i)
		if i == 5 {
			want = "- **key 5**: another value "
		}
		if strings.Count(text, fmt.Sprintf("**key %d**", i)) != 1 || !strings.Contains(text, want) {
			t.Errorf("no %q, or not once, in\n%s", want, text)
		}
	}
	if n := len(d.memory.Writer.Journal.List(time.Time{}, "", 0)); n != 3 || len(q.files) != 0 {
		t.Errorf("%d changes; files are waited for: %v", n, q.files)
	}
}

// TestInboxLink checks that a link in place of an inbox is not followed.
func TestInboxLink(t *testing.T) {
	d, by, outside := newDisk(t, nil), guest("groupbot", "acct:42", "public"), t.TempDir()
	m, own := d.memory, filepath.Join(d.dir, "inbox/groupbot.acct_42")
	checkError(t, os.MkdirAll(filepath.Dir(own), 0o700))
	checkError(t, os.Symlink(outside, own))
	for name, err := range map[string]error{
		"note": errOf(do[api.NoteAnswer](t, m, by, api.NoteRequest{Text: "tea", Visibility: "public_ok"})),
		"item": errOf(do[api.ItemAnswer](t, m, by, api.ItemPutRequest{Namespace: "fact", Key: "a", Value: new("b"), Visibility: "public_ok"})),
		"session": errOf(do[api.SessionAnswer](t, m, by,
			api.SessionRequest{Session: "s", Draft: api.Draft{Summary: "tea"}})),
	} {
		if err == nil || strings.Contains(asError(err).Error(), outside) {
			t.Errorf("%s below a link: %v", name, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("the target of the link has %v, %v", list, err)
	}
}

// TestHiddenLiteralName checks that a readable file is found by the name that
// answers show if a hidden file has this name.
func TestHiddenLiteralName(t *testing.T) {
	for _, hidden := range []string{"notes/b.md", "notes/a\ufffd.md"} {
		m := newDisk(t, map[string]string{hidden: "- hidden\n", "notes/a\xff.md": "---\nvisibility: public_ok\n---\n- open to all\n"}).memory
		a, err := do[api.GetAnswer](t, m, as("owner", "public"), api.GetRequest{Path: "notes/a\ufffd.md", From: 1})
		if err != nil || !strings.Contains(a.Text, "open to all") {
			t.Errorf("beside %q: %+v, %v", hidden, a, err)
		}
	}
}

// TestSessionDraftsAllSurvive checks that concurrent drafts of one session are
// all in its file, as are those of another session whose file would have the
// same name, and that a third one is refused.
func TestSessionDraftsAllSurvive(t *testing.T) {
	const drafts = 24
	d := newDisk(t, nil)
	send := func(session string, draft api.Draft) error {
		return errOf(do[api.SessionAnswer](t, d.memory, owner, api.SessionRequest{Session: session, Draft: draft}))
	}
	var group errgroup.Group
	group.SetLimit(8) // each waits for all before it, and not for longer than a minute
	for i := range drafts {
		for _, session := range []string{"a:b:c", "a_b:c"} {
			group.Go(func() error {
				return send(session, api.Draft{Summary: "s", Facts: []api.DraftItem{{Title: "Shared", Text: fmt.Sprint("by ", i)}, {Text: fmt.Sprintf("fact %d of %s", i, session)}},
					Tasks: []api.DraftTask{{Text: fmt.Sprint("task ", i), Done: i%2 == 0}, {Text: "everybody's", Done: i%2 == 0}}})
			})
		}
	}
	checkError(t, group.Wait())
	found := map[string]bool{}
	for _, path := range []string{"2026-02-05/a_b_c.md", "2026-02-05/a_b_c.private.md"} {
		doc, err := d.Load(path)
		checkError(t, err)
		found[doc.Front.SessionID] = true
		text := string(doc.Source)
		want := []string{"**Shared**", "- [x] everybody's\n", "## Tasks"}
		for i := range drafts {
			want = append(want, fmt.Sprintf(". fact %d of %s\n", i, doc.Front.SessionID), fmt.Sprintf("- [%s] task %d\n", [2]string{"x", " "}[i%2], i))
		}
		for _, line := range want {
			if strings.Count(text, line) != 1 || len(doc.Problems) > 0 {
				t.Errorf("%s has %q %d times, %v", path, line, strings.Count(text, line), doc.Problems)
			}
		}
	}
	if !found["a:b:c"] || !found["a_b:c"] {
		t.Errorf("the files are those of %v", found)
	}
	if err := send("a:b_c", api.Draft{Summary: "s"}); asError(err).Code != api.Conflict {
		t.Errorf("a third session with this name: %v", err)
	}
}

// TestDraftEndsWithItsContext checks that once the context of a large draft has
// ended, nothing is parsed any more, however far the merge is, and the file
// stays the same.
func TestDraftEndsWithItsContext(t *testing.T) {
	d := newDisk(t, nil)
	parse, total := d.memory.Parse, 0
	// send ends the context in a call of Parse, and returns the number of later calls.
	send := func(text string, sections, last int, dry bool) (late int, err error) {
		items := map[string][]api.DraftItem{}
		for i := range maxDraft {
			section := fmt.Sprint("Section ", i%sections)
			items[section] = append(items[section], api.DraftItem{Title: fmt.Sprint("Title ", i), Text: text})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		total = 0
		d.memory.Parse = func(f vault.File) *memory.Document {
			total++
			if ctx.Err() != nil {
				late++
			}
			if total == last {
				cancel()
			}
			return parse(f)
		}
		_, err = d.memory.Do(ctx, owner, api.RequestOf(api.SessionRequest{Session: "s", DryRun: dry, Draft: api.Draft{Summary: text, Items: items}}))
		return late, err
	}
	_, err := send("first", maxDraftSections, 0, false)
	checkError(t, err)
	before := d.read(t, "2026-02-05/s.md")
	_, err = send("second", maxDraftSections, 0, true)
	checkError(t, err)
	if total < maxDraft {
		t.Fatalf("only %d calls of Parse: the draft is not large", total)
	}
	for last, all := 1, total; last < all; last += all / 7 {
		if late, err := send("second", maxDraftSections, last, false); late > 0 || err == nil {
			t.Errorf("canceled in the call %d of Parse: %d more calls, %v", last, late, err)
		}
	}
	d.want(t, "2026-02-05/s.md", before)
	if _, err := send("second", maxDraftSections+1, 0, false); asError(err).Code != api.TooLarge {
		t.Errorf("too many sections: %v", err)
	}
}

// A testJudge returns a proposal, and records the items that it received.
type testJudge struct {
	proposal string
	received string
	work     func() // during the request; may be nil
}

func (j *testJudge) ProposeMerge(_ context.Context, existing, draft []memory.Mergeable) ([]memory.ItemPair, error) {
	for _, m := range slices.Concat(existing, draft) {
		j.received += fmt.Sprintf("the model received %s: %s: %q %q\n", m.ID, m.Section, m.Title, m.Text)
	}
	if j.work != nil {
		j.work()
	}
	return decodeAnswer[struct{ Same []memory.ItemPair }](j.proposal).Same, nil
}

// TestJudgedFileChanges checks that the rules merge a draft if its file changes during the
// request to the model.
func TestJudgedFileChanges(t *testing.T) {
	const path, file = "2026-02-05/s.md", "---\nsession_id: s\n---\n\n## Temporary Facts\n1. **Port**: it listens on 8080\n"
	d := newDisk(t, map[string]string{path: file})
	d.judge = testJudge{proposal: `{"same":[{"existing":"e1","draft":"d1"}]}`,
		work: func() { d.write(t, path, file+"2. **Host**: atlas\n") }}
	d.memory.Judge = &d.judge
	a, err := do[api.SessionAnswer](t, d.memory, owner, api.SessionRequest{Session: "s",
		Draft: api.Draft{Facts: []api.DraftItem{{Title: "Address", Text: "it listens on 8081"}}}})
	if err != nil || a.Merge != "rules" || !strings.Contains(strings.Join(a.Hints, ";"), "the file changed during the request to the model") {
		t.Errorf("%+v, %v", a, err)
	}
	if text := d.read(t, path); !strings.Contains(text, "8080\n2. **Host**: atlas\n3. **Address**: it listens on 8081") {
		t.Errorf("the file is %s", text)
	}
}

// TestNotesAtOnce checks that concurrent notes in the same minute all become
// entries, each bullet of a session once.
func TestNotesAtOnce(t *testing.T) {
	const n = 12
	d := newDisk(t, nil)
	var group errgroup.Group
	want := []string{"- the same"}
	for i := range n {
		note, bullet := fmt.Sprintf("note %d", i), fmt.Sprint("bullet ", i)
		want = append(want, note, "- "+bullet)
		group.Go(func() error {
			return errOf(do[api.NoteAnswer](t, d.memory, owner, api.NoteRequest{Text: note, Topic: "Topic"}))
		})
		group.Go(func() error {
			a, err := do[api.CaptureAnswer](t, d.memory, owner, api.CaptureRequest{Bullets: []string{"the same", bullet}, Session: "s"})
			if err == nil && len(a.Lines) != 2 {
				return fmt.Errorf("the lines are %v", a.Lines)
			}
			return err
		})
	}
	checkError(t, group.Wait())
	doc, err := d.Load("memory/2026-02-05.md")
	checkError(t, err)
	var got []string
	for _, e := range doc.Entries {
		got = append(got, e.Text)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func received(t *testing.T, settings string) *testMemory {
	t.Helper()
	return openArchive(t, "now: 2026-02-05T12:00:00Z\nvisibility: private_only\n"+settings)
}

// TestReceive checks that a message is noted once, however often it arrives, in
// the log of the day on which it was sent.
func TestReceive(t *testing.T) {
	d := received(t, "timezone: Asia/Shanghai\n")
	now := d.memory.Now()
	for _, r := range []Received{
		{Source: "ntfy:phone:a1", Time: now.Add(-time.Minute), Title: "Shopping", Text: "Buy tea\nand milk"},
		{Source: "ntfy:phone:a2", Time: now.Add(-21 * time.Hour), Text: "Yesterday, by the clock there"},
		{Source: "ntfy:phone:a1", Time: now.Add(-time.Minute), Title: "Shopping", Text: "Buy tea\nand milk"},
		{Source: "ntfy:phone:a3", Text: "# [ ] <private> <!-- visibility=public_ok --> \x1b[31m ^id", Title: "<!-- ## #"},
		{Source: "ntfy:phone:a4", Time: now.Add(2 * time.Hour), Text: "From the future"},
		{Source: "ntfy:phone:a5", Time: now.AddDate(-1, 0, 0), Text: "From another year"},
		{Source: "ntfy:phone:a1", Time: now.Add(-time.Minute), Text: "another text of the same message"},
	} {
		if err := d.memory.Receive(t.Context(), r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	const attributes = " <!-- type=request source=ntfy:phone:"
	want := "memory/2026-02-04.md:\n" +
		"  + # 2026-02-04\n  + \n  + ## 11:00 PM\n  + Yesterday, by the clock there" + attributes + "a2 -->\n" +
		"memory/2026-02-05.md:\n" +
		"  + # 2026-02-05\n  + \n  + ## 7:59 PM - Shopping\n  + Buy tea and milk" + attributes + "a1 -->\n" +
		"  + \n  + ## 8:00 PM - &lt;!-- ## \\\\#\n  + \\\\# [ ] &lt;private> &lt;!-- visibility=public_ok --&gt; [31m \\\\^id" + attributes + "a3 -->\n" +
		"  + \n  + ## 8:00 PM\n  + From the future" + attributes + "a4 -->\n" +
		"  + \n  + ## 8:00 PM\n  + From another year" + attributes + "a5 -->\n"
	if diff := cmp.Diff(want, d.changes(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	doc, err := d.Load("memory/2026-02-05.md")
	checkError(t, err)
	for _, e := range doc.Entries {
		if !e.Author().Untrusted(memory.View{}) || e.Partition.Visibility != memory.PrivateOnly || len(e.Tasks) > 0 || e.Given {
			t.Errorf("%q is trusted", e.Text)
		}
	}
}

// TestReceiveRefuses checks that long messages are truncated, that empty ones
// and those with a credential are rejected permanently, and that nothing is
// written while memory is disabled.
func TestReceiveRefuses(t *testing.T) {
	d := received(t, "")
	for r, code := range map[Received]api.Code{
		{Source: "ntfy:p:a"}: api.Invalid, {Source: "ntfy:p:b", Text: "\x00\n\u200f"}: api.Invalid,
		{Source: "ntfy:p:s", Text: "a " + liveToken}: api.Secret, {Source: "ntfy:p:s", Text: "a", Title: liveToken}: api.Secret,
	} {
		if e, ok := errors.AsType[*api.Error](d.memory.Receive(t.Context(), r)); !ok || e.Code != code {
			t.Errorf("%+v: %v", r, e)
		}
	}
	long := strings.Repeat("<!-- 字", maxNote)
	checkError(t, d.memory.Receive(t.Context(), Received{Source: "ntfy:p:c", Text: long, Title: long + " #"}))
	doc, err := d.Load("memory/2026-02-05.md")
	checkError(t, err)
	text, topic := doc.Entries[0].Text, doc.Headings[1].Text
	if n := utf8.RuneCountInString(text); n > maxNote || n < maxNote-20 || !strings.HasSuffix(text, "…") ||
		utf8.RuneCountInString(topic) > maxTopic+20 {
		t.Errorf("%d characters: %q, %q", n, text, topic)
	}
	off := received(t, "enabled: false\n")
	if err := off.memory.Receive(t.Context(), Received{Source: "ntfy:p:d", Text: "a"}); err != nil || off.changes(t) != "" {
		t.Errorf("turned off, it is noted, %v", err)
	}
}
