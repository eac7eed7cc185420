package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestSessionDraftsAllSurvive checks that concurrent drafts of one session are
// all in its file, as are those of another session whose file would have the
// same name.
func TestSessionDraftsAllSurvive(t *testing.T) {
	const drafts = 24
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	socket := serveOps(t, d.memory)
	sessions := []string{"a:b", "a_b"}
	var group errgroup.Group
	group.SetLimit(8) // each waits for all before it, and not for longer than a minute
	for i := range drafts {
		for _, session := range sessions {
			group.Go(func() error {
				request := fmt.Sprintf(`{"session": %q, "draft": {"summary": "s", "facts": [{"title": "Shared", "text": "by %d"}, {"text": "fact %d of %s"}], "tasks": [{"text": "task %d", "done": %t}, {"text": "everybody's", "done": %[6]t}]}}`,
					session, i, i, session, i, i%2 == 0)
				var answer struct {
					api.SessionAnswer
					Error *api.Error
				}
				if err := json.Unmarshal(postOps(t, socket, "session", []byte(request)), &answer); err != nil || answer.Error != nil {
					t.Errorf("%v %v", err, answer.Error)
				}
				return nil
			})
		}
	}
	group.Wait()
	files, err := filepath.Glob(filepath.Join(d.dir, "2026-02-05", "*.md"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the files are %q, %v", files, err)
	}
	var found []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		checkError(t, err)
		doc, err := d.Load("2026-02-05/" + filepath.Base(name))
		checkError(t, err)
		if len(doc.Problems) > 0 {
			t.Errorf("%s: %v", name, doc.Problems)
		}
		text := string(data)
		session := doc.Front.SessionID
		found = append(found, session)
		for i := range drafts {
			box := " "
			if i%2 == 0 {
				box = "x"
			}
			for _, want := range []string{fmt.Sprintf(". fact %d of %s\n", i, session), fmt.Sprintf("- [%s] task %d\n", box, i)} {
				if strings.Count(text, want) != 1 {
					t.Errorf("%s has %q %d times", name, want, strings.Count(text, want))
				}
			}
		}
		if strings.Count(text, "**Shared**") != 1 || strings.Count(text, "- [x] everybody's\n") != 1 || strings.Count(text, "## Tasks") != 1 {
			t.Errorf("%s is\n%s", name, text)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, sessions) {
		t.Errorf("the files are those of %q", found)
	}
}

// TestDraftEndsWithItsContext checks that once the context of a large draft has
// ended, nothing is parsed any more, however far the merge is, and the file
// stays the same.
func TestDraftEndsWithItsContext(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	c := d.callAs(t, "owner", "private")
	draft := func(text string) *api.SessionRequest {
		items := map[string][]api.DraftItem{}
		for i := range maxDraft {
			section := fmt.Sprint("Section ", i%maxDraftSections)
			items[section] = append(items[section], api.DraftItem{Title: fmt.Sprint("Title ", i), Text: text})
		}
		return &api.SessionRequest{Session: "s", Draft: api.Draft{Summary: text, Items: items}}
	}
	if _, err := d.memory.adminOps().session(t.Context(), c, draft("first")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(d.dir, "2026-02-05/s.md"))
	checkError(t, err)
	parse, total := d.memory.Parse, 0
	send := func(last int) (late int, err error) {
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
		request := draft("second")
		request.DryRun = last == 0
		_, err = d.memory.adminOps().session(ctx, c, request)
		return late, err
	}
	if _, err := send(0); err != nil {
		t.Fatal(err)
	}
	if total < maxDraft {
		t.Fatalf("only %d calls of Parse: the draft is not large", total)
	}
	for last := 1; last < total; last += total / 7 {
		late, err := send(last)
		if late > 0 || err == nil {
			t.Errorf("canceled in the call %d of Parse: %d more calls, %v", last, late, err)
		}
	}
	after, err := os.ReadFile(filepath.Join(d.dir, "2026-02-05/s.md"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
	if _, err := d.memory.adminOps().session(t.Context(), c, &api.SessionRequest{Session: "s", Draft: api.Draft{
		Items: manySections(maxDraftSections + 1)}}); asError(err).Code != api.TooLarge {
		t.Errorf("too many sections: %v", err)
	}
}

// manySections returns n sections of one item each.
func manySections(n int) map[string][]api.DraftItem {
	items := map[string][]api.DraftItem{}
	for i := range n {
		items[fmt.Sprint("Section ", i)] = []api.DraftItem{{Text: "text"}}
	}
	return items
}
