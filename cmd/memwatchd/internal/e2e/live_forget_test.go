package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/state/statetest"
)

// quark is a word found nowhere else.
const quark = "zyzzyvaquark"

// holding lists the files of the root and of the daemon's own directory that contain a
// text.
func (l *live) holding(text string) []string {
	l.t.Helper()
	files, err := statetest.FilesContaining(l.root, text)
	testkit.Must(l.t, err)
	own, err := statetest.FilesContaining(filepath.Dir(l.config), text)
	testkit.Must(l.t, err)
	return append(files, own...)
}

// forget removes all entries with a text, and returns the answer with the rest.
func (l *live) forget(who fields, text string) *api.ForgetAnswer {
	l.t.Helper()
	var list, done api.ForgetAnswer
	l.must("forget", who.with(fields{"match": text}), &list)
	ids := []string{}
	for _, e := range list.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	l.must("forget", who.with(fields{"ids": ids, "token": list.Token}), &done)
	if done.Problem != "" || len(done.Failed) > 0 {
		l.t.Errorf("problem %q, failed %+v", done.Problem, done.Failed)
	}
	return &done
}

// TestForgetKilled checks that if a daemon is killed while it forgets, the text is in files,
// where a repeated request finds it, or nowhere.
func TestForgetKilled(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	l.write("MEMORY.md", "- one\n")
	l.write("notes.md", "- two\n")
	l.start()
	note := filepath.Join(filepath.Dir(l.config), "state", "memwatchd", "memwatchd", "forget.json")
	pause, rounds := time.Millisecond, 8
	for n := range rounds {
		for _, path := range []string{"MEMORY.md", "notes.md"} {
			var edited api.EditAnswer
			data, err := os.ReadFile(l.path(path))
			testkit.Must(t, err)
			if !strings.Contains(string(data), quark) {
				l.must("edit", owner.with(fields{"path": path, "old_text": string(data), "new_text": string(data) + "- the " + quark + "\n"}), &edited)
			}
		}
		var list api.ForgetAnswer
		l.must("forget", owner.with(fields{"match": quark}), &list)
		if len(list.Entries) != 2 {
			t.Fatalf("round %d: %+v", n, list.Entries)
		}
		answered := make(chan error, 1)
		go func() {
			answered <- l.ask("forget", owner.with(fields{"ids": []string{list.Entries[0].ID, list.Entries[1].ID}, "token": list.Token}), new(api.ForgetAnswer))
		}()
		time.Sleep(pause)
		pause = pause * 2
		l.kill()
		<-answered
		l.start()
		l.until("what was begun is done", func() bool {
			_, err := os.Stat(note)
			return os.IsNotExist(err)
		})
		l.sync()
		l.wantSettled() // the next daemon removes temporary files a moment later
		held := l.holding(quark)
		t.Logf("round %d: held in %q", n, held)
		if held != nil && !slices.Contains(held, "MEMORY.md") && !slices.Contains(held, "notes.md") {
			t.Errorf("round %d: it is in no file, and held in %q", n, held)
		}
	}
	done := l.forget(owner, quark)
	if held := l.holding(quark); held != nil {
		t.Errorf("after a repeated request it is held in %q: %+v", held, done)
	}
}
