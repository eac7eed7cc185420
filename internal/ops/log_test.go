package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

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
	return openArchive(t, "now: 2026-02-05T12:00:00Z\n"+settings)
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
	const attributes = " <!-- type=request visibility=private_only source=ntfy:phone:"
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
