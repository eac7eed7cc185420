package ops

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestSessionDraftsAllSurvive checks that concurrent drafts of one session are
// all in its file, as are those of another session whose file would have the
// same name.
func TestSessionDraftsAllSurvive(t *testing.T) {
	const drafts = 24
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	socket := serveOps(t, d.memory)
	sessions := []string{"a:b", "a_b"}
	var wg sync.WaitGroup
	for i := range drafts {
		for _, session := range sessions {
			wg.Go(func() {
				request := fmt.Sprintf(`{"session": %q, "draft": {"summary": "s", "facts": [{"title": "Shared", "text": "by %d"}, {"text": "fact %d of %s"}], "tasks": [{"text": "task %d", "done": %t}, {"text": "everybody's", "done": %[6]t}]}}`,
					session, i, i, session, i, i%2 == 0)
				var answer struct {
					api.SessionAnswer
					Error *api.Error
				}
				if err := json.Unmarshal(postOps(t, socket, "session", []byte(request)), &answer); err != nil || answer.Error != nil {
					t.Errorf("%v %v", err, answer.Error)
				}
			})
		}
	}
	wg.Wait()
	files, err := filepath.Glob(filepath.Join(d.dir, "2026-02-05", "*.md"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the files are %q, %v", files, err)
	}
	var found []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := d.Load("2026-02-05/" + filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
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
