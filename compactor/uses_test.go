package compactor

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

const indexPath = "_longterms/acct_42/_index.md"

// usesAt returns Uses that are stored in the file at path, with an adjustable
// time.
func usesAt(t *testing.T, path string, now *time.Time) *Uses {
	t.Helper()
	u := &Uses{
		Path: path, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return *now }, Files: noFiles{},
	}
	if err := u.Open(); err != nil {
		t.Fatal(err)
	}
	return u
}

// noFiles fails every load as if the files were being written.
type noFiles struct{}

func (noFiles) Load(string) (*memory.Document, error) { return nil, errors.New("not now") }

// textFiles are files that contain the given texts.
type textFiles map[string]string

func (files textFiles) Load(path string) (*memory.Document, error) {
	text, ok := files[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return parseText(path, text), nil
}

func parseText(path, text string) *memory.Document {
	return parse(vault.File{Path: path, Data: []byte(text), ModTime: oldTime})
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestUsesHalveInThirtyDays(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	u := usesAt(t, filepath.Join(t.TempDir(), "uses"), &now)
	id := indexPath + "#a"
	u.Used([]string{id, id}, now)
	if got := u.Of(indexPath, "a", now); !near(got, 2) {
		t.Errorf("used twice just now: %+v", got)
	}
	if got := u.Of(indexPath, "a", now.AddDate(0, 0, 30)); !near(got, 1) {
		t.Errorf("used twice 30 days ago: %+v", got)
	}
	u.Used([]string{id}, now.AddDate(0, 0, 60))
	if got := u.Of(indexPath, "a", now.AddDate(0, 0, 60)); !near(got, 1.5) {
		t.Errorf("used twice 60 days ago, and now: %+v", got)
	}
	if got := u.Of(indexPath, "b", now); got != 0 {
		t.Errorf("never used: %+v", got)
	}
	if got := u.Of(indexPath, "a", now.AddDate(0, 0, -60)); got > 3 {
		t.Errorf("a clock that was set back makes counts grow: %+v", got)
	}
	u.Used([]string{"no path", ""}, now) // no effect
}

func TestUsesAreKept(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "uses")
	u := usesAt(t, path, &now)
	u.Used([]string{indexPath + "#a", "a#b.md#~x"}, now)
	if err := u.Save(); err != nil {
		t.Error(err)
	}
	now = now.AddDate(0, 0, 30)
	v := usesAt(t, path, &now)
	if got := v.Since(); !got.Equal(u.Since()) {
		t.Errorf("counting began at %s, and after a restart at %s", u.Since(), got)
	}
	for _, id := range [][2]string{{indexPath, "a"}, {"a#b.md", "~x"}} {
		if got := v.Of(id[0], id[1], now); !near(got, 0.5) {
			t.Errorf("%s after a restart: %+v", id, got)
		}
	}

	// A damaged file restarts the counts.
	if err := state.Write(path, []byte(`{"version":1,"since":"2026-`)); err != nil {
		t.Fatal(err)
	}
	w := &Uses{Path: path, Now: func() time.Time { return now }}
	if err := w.Open(); err == nil {
		t.Error("a damaged file is not reported")
	}
	if got := w.Since(); !got.Equal(now) {
		t.Errorf("after damage, counting began at %s, want %s", got, now)
	}
	w.Used([]string{indexPath + "#a"}, now)
	w.Files = noFiles{}
	if err := w.Save(); err != nil {
		t.Error(err)
	}
	if got := usesAt(t, path, &now).Of(indexPath, "a", now); !near(got, 1) {
		t.Errorf("counted anew: %+v", got)
	}
}

// TestUsesFollowEdits checks which entry has the count of another one after an edit that
// changes a generated id.
func TestUsesFollowEdits(t *testing.T) {
	const before = "## Key Facts\n- **Home**: Lisbon\n- likes tea\n- **Car**: none\n- **Car**: red\n\n## Other\n- likes tea too\n"
	golden.Table(t, "edits", func(t *testing.T, in []string) string {
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		u := usesAt(t, filepath.Join(t.TempDir(), "uses"), &now)
		for _, e := range parseText(indexPath, before).Entries {
			if e.Text == "- "+in[1] {
				u.Used([]string{indexPath + "#" + e.ID}, now)
			}
		}
		counted := func(texts ...string) (list string) {
			for _, text := range texts {
				u.Files = textFiles{indexPath: text}
				u.Changed(indexPath)
				u.update()
			}
			for _, e := range parseText(indexPath, texts[0]).Entries {
				if near(u.Of(indexPath, e.ID, now), 1) {
					list += strings.TrimPrefix(e.Text, "- ")
				}
			}
			return list
		}
		counted(before)
		got := counted(in[2], in[2])
		if got == "" && counted(before) != in[1] { // a reverted edit
			t.Errorf("%s: the count is lost", in[0])
		}
		return got
	})
}

func TestUsesAreForgotten(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "uses")
	u := usesAt(t, path, &now)
	u.Files = textFiles{"there.md": "- b <!-- id=b -->\n", "other.md": ""}
	u.Used([]string{"gone.md#a", "there.md#b"}, now)
	for _, days := range []int{29, 2, 200} {
		now = now.AddDate(0, 0, days)
		u.Used([]string{"other.md#c"}, now)
		if err := u.Save(); err != nil {
			t.Fatal(err)
		}
		v := usesAt(t, path, &now)
		if v.Of("gone.md", "a", now) > 0 {
			t.Error("a file that is gone is known")
		}
		if got, want := v.Of("there.md", "b", now) > 0, days != 200; got != want {
			t.Errorf("after %d more days, what was used once is known: %v", days, got)
		}
	}
}

// TestUsesForgetDuringSave checks that a save that began before Forget does not
// write the forgotten text after it.
func TestUsesForgetDuringSave(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "uses")
	u := usesAt(t, path, &now)
	u.Used([]string{indexPath + "#~1"}, now)
	u.files[indexPath].Entries["~1"].Title = "a secret"
	forgotten, saves := make(chan error, 1), 0
	forget := func() {
		forgotten <- u.Forget(func(_, _, text string) bool { return strings.Contains(text, "secret") })
	}
	u.write = func(path string, data []byte) error {
		saves++
		switch {
		case saves > 1:
		case u.saving.TryLock(): // another save can overtake this one
			u.saving.Unlock()
			forget()
		default:
			go forget()
		}
		return state.Write(path, data)
	}
	if err := u.Save(); err != nil {
		t.Error(err)
	}
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	if data, err := state.Read(path); err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("the state after Forget is %s, %v", data, err)
	}
}
