package ops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

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
