package e2e

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// quark is a word found nowhere else.
const quark = "zyzzyvaquark"

// holding lists the files that contain a text, by path from the daemon's own
// directory or from the root. It includes the journal, which does not store
// text literally.
func (l *live) holding(text string) (list []string) {
	l.t.Helper()
	base := filepath.Dir(l.config)
	for _, dir := range []string{l.root, base} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil // it has just been deleted
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				return nil
			}
			if filepath.Base(filepath.Dir(path)) == "versions" && len(data) > sha256.Size {
				data, _ = io.ReadAll(flate.NewReader(bytes.NewReader(data[sha256.Size:])))
			}
			if bytes.Contains(data, []byte(text)) {
				rel, _ := filepath.Rel(dir, path)
				list = append(list, rel)
			}
			return err
		})
		testkit.Must(l.t, err)
	}
	return list
}

// wantHeld checks that a text is in all of these places: without that, a test
// of forgetting proves nothing.
func (l *live) wantHeld(text string, places ...string) {
	l.t.Helper()
	held := l.holding(text)
	for _, place := range places {
		if !slices.ContainsFunc(held, func(path string) bool { return strings.Contains(path, place) }) {
			l.t.Errorf("%q is not in %s to begin with, only in %q", text, place, held)
		}
	}
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

const forgetLimits = "compactor: {limits: [{path: '_longterms/*/_index.md', items: 2}], max_loss: 1}\n"

// TestForgottenEverywhere checks that forgotten text cannot be found anywhere:
// not in files, the archive, the journal, counts of use or the index.
func TestForgottenEverywhere(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), forgetLimits)
	l.write("_longterms/owner/_index.md", "---\nsummary: mine\n---\n\n# Facts\n\n- [x] **Told**: the word is "+quark+"\n- **The "+quark+"**: is a word\n- two\n- three\n")
	l.write("MEMORY.md", "# Facts\n\n- a word\n- tea\n")
	l.write("MEMORY.conflict-copy-0abc0000.md", "# Facts\n\n- "+quark+"\n- coffee\n")
	l.write(testkit.DaysAgo(1)+"/cli.md", "---\nsummary: We spoke of "+quark+".\n---\n\n## Session Summary\n\n1. **Word**: "+quark+"\n   - Result: said\n2. other\n\n## Tasks\n\n- [ ] say "+quark+"\n")
	l.write("notes.md", "- x "+quark+"\n")
	l.write("memory/"+testkit.DaysAgo(0)+".md", "# "+testkit.DaysAgo(0)+"\n\n## 10:30 AM - Words\n\nAmong others "+quark+", at least.\n")
	l.start()

	var edited api.EditAnswer
	l.must("edit", owner.with(fields{"path": "MEMORY.md", "old_text": "a word", "new_text": "the word " + quark}), &edited)
	l.must("edit", owner.with(fields{"path": "MEMORY.md", "old_text": "the word " + quark, "new_text": "a word, and " + quark}), &edited)
	l.must("edit", owner.with(fields{"path": "notes.md", "old_text": "x", "new_text": "y"}), &edited)
	l.must("edit", owner.with(fields{"path": "notes.md", "old_text": "- y " + quark, "new_text": "- y"}), &edited)
	var compacted api.CompactAnswer
	l.must("compact", owner, &compacted)
	l.sync()
	l.search(owner, quark, nil)
	testkit.Must(t, l.stop())
	shorter(t, l.segments()...)
	l.start()
	l.wantHeld(quark, "_archive", "MEMORY.md", ".conflict-copy-", "cli.md", "memory/"+testkit.DaysAgo(0), "journal", "uses.json")
	before := l.segments()

	done := l.forget(owner, quark)
	// Indexes do not store words literally, so each segment must be another one.
	for _, name := range before {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if len(done.Entries) > 0 {
		t.Errorf("it is still in %+v", done.Entries)
	}
	if held := l.holding(quark); held != nil {
		t.Errorf("it is still held in %q", held)
	}
	if a := l.search(owner, quark, nil); a.Total > 0 {
		t.Errorf("it is found: %+v", a.Hits)
	}
	for path, text := range map[string]string{
		"MEMORY.md":                            "# Facts\n\n- tea\n",
		"MEMORY.conflict-copy-0abc0000.md":     "# Facts\n\n- coffee\n",
		testkit.DaysAgo(1) + "/cli.md":         "---\nsummary: \"\"\n---\n\n## Session Summary\n\n2. other\n\n## Tasks\n",
		"memory/" + testkit.DaysAgo(0) + ".md": "# " + testkit.DaysAgo(0) + "\n",
		"notes.md":                             "- y\n",
	} {
		if data, err := os.ReadFile(l.path(path)); err != nil || string(data) != text {
			t.Errorf("%s is %q, %v", path, data, err)
		}
	}
	var journal api.JournalAnswer
	l.must("journal", owner, &journal)
	for _, w := range journal.Writes {
		if w.Cause == "host" {
			continue // unrelated to the forgotten text
		}
		var undone api.UndoAnswer
		l.must("undo", owner.with(fields{"id": w.ID, "dry_run": true}), &undone)
		if undone.Refused == 0 || !w.Forgotten {
			t.Errorf("it can be brought back: %+v", w)
		}
	}
	// The text does not reappear after a restart.
	testkit.Must(t, l.stop())
	l.start()
	if held := l.holding(quark); held != nil {
		t.Errorf("after another start it is held in %q", held)
	}
	if c := l.check(); len(c.Differing) > 0 {
		t.Errorf("%+v", c.Differing)
	}
}

// TestForgetKilled checks that if a daemon is killed while it forgets, the text is in files,
// where a repeated request finds it, or nowhere.
func TestForgetKilled(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), forgetLimits)
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
	var list, done api.ForgetAnswer
	l.must("forget", owner.with(fields{"match": quark}), &list)
	ids := []string{}
	for _, e := range list.Entries {
		ids = append(ids, e.ID)
	}
	l.must("forget", owner.with(fields{"ids": ids, "token": list.Token}), &done)
	if held := l.holding(quark); held != nil {
		t.Errorf("after a repeated request it is held in %q: %+v", held, done)
	}
}

// TestWiped checks that all memory of a subject can be deleted, and is then in
// none of the daemon's files.
func TestWiped(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), forgetLimits)
	ann := fields{"subject": "acct:42", "context": "private"}
	l.write("_longterms/acct_42/_index.md", "---\nsubject_id: acct:42\n---\n- [x] **"+quark+"**: done\n- two\n- three\n")
	l.write("_longterms/_identities.yaml", "links:\n  telegram:1: acct:42\n  telegram:2: acct:7\n")
	l.write("_longterms/ext_telegram_1/fact.md", "- **Alias**: "+quark+"\n")
	l.write("_longterms/acct_42/profile.md", "- **Name**: "+quark+"\n")
	l.write("_longterms/acct_42/gone.md", "- x\n")
	l.write("_longterms/acct_42/photo.txt", "a photo")
	l.write(testkit.DaysAgo(1)+"/ann.md", "---\nsubject_id: acct:42\n---\n- said "+quark+"\n")
	l.write(testkit.DaysAgo(1)+"/all.md", "- said by others\n")
	l.start()
	var edited api.EditAnswer
	l.must("edit", ann.with(fields{"path": "_longterms/acct_42/_index.md", "old_text": "two", "new_text": "**Two " + quark + "**: two"}), &edited)
	l.must("edit", ann.with(fields{"path": "_longterms/acct_42/gone.md", "old_text": "x", "new_text": quark}), &edited)
	testkit.Must(t, os.Remove(l.path("_longterms/acct_42/gone.md")))
	var compacted api.CompactAnswer
	l.must("compact", owner, &compacted)
	l.sync()
	l.search(ann, quark, nil)
	testkit.Must(t, l.stop())
	l.start()
	l.wantHeld(quark, "_archive", "profile.md", "ann.md", "journal", "uses.json")
	var wiped api.WipeAnswer
	l.must("wipe_subject", ann.with(fields{"confirm": "acct:42", "sessions": true}), &wiped)
	if wiped.Problem != "" || len(wiped.Failed) > 0 || len(wiped.Deleted) != 5 || !slices.Equal(wiped.Unlinked, []string{"telegram:1"}) || !slices.Equal(wiped.Left, []string{"_longterms/acct_42/photo.txt"}) {
		t.Errorf("%+v", wiped)
	}
	if held := l.holding(quark); held != nil {
		t.Errorf("it is still held in %q", held)
	}
	if data, err := os.ReadFile(l.path(testkit.DaysAgo(1) + "/all.md")); err != nil || string(data) != "- said by others\n" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := os.ReadFile(l.path("_longterms/_identities.yaml")); err != nil || string(data) != "links:\n  telegram:2: acct:7\n" {
		t.Errorf("%q, %v", data, err)
	}
	if a := l.search(ann, "said", nil); a.Total != 1 {
		t.Errorf("%+v", a.Hits)
	}
}
