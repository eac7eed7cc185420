package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/statetest"
)

// secret is the text that the histories forget.
const secret = "zqheron"

// A generatedHistory changes files of a journal at random, as memwatchd and other programs do.
type generatedHistory struct {
	*testing.T
	j     *Journal
	r     *rand.Rand
	files map[string]string
	texts map[string]string // every content that was in the journal, by digest
}

func newGeneratedHistory(t *testing.T, dir string, seed uint64) *generatedHistory {
	h := &generatedHistory{T: t, r: rand.New(rand.NewPCG(seed, 59)), files: map[string]string{}, texts: map[string]string{}}
	h.open(dir)
	for _, path := range []string{"a.md", "b.md", "d/c.md"} {
		h.save(path, h.lines(1+h.r.IntN(60)))
	}
	return h
}

// open opens the journal as a daemon does at its start.
func (h *generatedHistory) open(dir string) {
	h.Helper()
	h.j = openHistory(h.T, dir, 1<<20)
	for path, text := range h.files {
		h.j.Known(path, Digest([]byte(text)))
	}
	for _, r := range h.j.Pending() { // of a process that was killed
		must(h, h.j.Abandon(r.ID))
	}
}

func (h *generatedHistory) lines(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "- %x %x\n", h.r.Uint64(), h.r.Uint64())
	}
	return b.String()
}

// withSecret returns a text with a line that contains the secret.
func (h *generatedHistory) withSecret(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := h.r.IntN(len(lines))
	return strings.Join(lines[:at], "") + fmt.Sprintf("- the code is %s %d\n", secret, h.r.IntN(3)) + strings.Join(lines[at:], "")
}

// edit returns a text with a changed, removed or added line, or one with the secret.
func (h *generatedHistory) edit(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := h.r.IntN(len(lines))
	switch h.r.IntN(5) {
	case 0:
		return h.withSecret(text)
	case 1:
		return text + h.lines(1+h.r.IntN(40))
	case 2:
		return strings.Join(lines[:at], "") + strings.Join(lines[min(at+1, len(lines)):], "")
	}
	return strings.Join(lines[:at], "") + h.lines(1) + strings.Join(lines[at:], "")
}

// save changes a file as another program does.
func (h *generatedHistory) save(path, text string) {
	h.files[path] = text
	h.texts[Digest([]byte(text))] = text
	if err := h.j.Seen(path, func() ([]byte, error) { return []byte(text), nil }); err != nil {
		h.Log(err)
	}
}

// step makes one change.
func (h *generatedHistory) step() {
	path := []string{"a.md", "b.md", "d/c.md"}[h.r.IntN(3)]
	old := h.files[path]
	switch n := h.r.IntN(12); {
	case n < 3: // another program extends the file
		h.save(path, old+h.withSecret(h.lines(1)))
	case n < 6:
		h.save(path, h.edit(old))
	case n < 11:
		text := h.edit(old)
		h.texts[Digest([]byte(old))], h.texts[Digest([]byte(text))] = old, text
		r, err := h.j.Begin(changeOf(path, old, text))
		switch {
		case err != nil:
			h.Log(err)
		case n == 10:
			must(h, h.j.Abandon(r.ID))
		default:
			must(h, h.j.Done(r.ID))
			h.files[path] = text
		}
	default:
		must(h, h.j.Prune(time.Now().Add(-time.Hour), true))
	}
}

func cutSecret(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, secret) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// erase removes the secret as forget does: from the journal, the files and the journal.
func (h *generatedHistory) erase() error {
	find := func(_ string, content []byte) bool { return strings.Contains(string(content), secret) }
	errs := []error{h.j.Erase(find)}
	for path, old := range h.files {
		text := cutSecret(old)
		r := changeOf(path, old, text)
		r.Old, r.New, r.Forgotten = nil, nil, true
		begun, err := h.j.Begin(r)
		if err == nil {
			err = h.j.Done(begun.ID)
		}
		if err == nil {
			h.files[path] = text
			err = h.j.Seen(path, func() ([]byte, error) { return []byte(text), nil })
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, h.j.Erase(find))...)
}

// wantErased checks that no file has the secret, and that all changes without it have their
// contents.
func (h *generatedHistory) wantErased(when string) {
	h.Helper()
	if list, err := statetest.FilesContaining(h.j.Dir, secret); err != nil || len(list) > 0 {
		h.Fatalf("%s: the text is in %q, %v", when, list, err)
	}
	for _, r := range h.j.ListAll(time.Time{}, "", 0) {
		for _, digest := range []string{r.Before, r.After} {
			text, known := h.texts[digest]
			got, err := h.j.Version(digest)
			gone := strings.Contains(text, secret)
			if known && !gone && (err != nil || string(got) != text) || gone && (!errors.Is(err, ErrNoVersion) || !r.Forgotten) {
				h.Fatalf("%s: %+v: %v, got\n%s\nwant\n%s", when, r, err, got, text)
			}
		}
	}
}

// TestErase checks over generated histories that no file of the journal contains erased
// text, packed or not, and that the versions without that text are not lost.
func TestErase(t *testing.T) {
	histories := 10
	if os.Getenv("FAULTS") != "" {
		histories = 200
	}
	for seed := range histories {
		h := newGeneratedHistory(t, t.TempDir(), uint64(seed))
		for round := range 3 {
			for range 5 + h.r.IntN(20) {
				h.step()
			}
			must(t, h.erase())
			h.wantErased(fmt.Sprintf("history %d, round %d", seed, round))
			h.open(h.j.Dir)
			h.wantErased(fmt.Sprintf("history %d, round %d, opened again", seed, round))
		}
	}
}

// TestEraseInterrupted interrupts the removal of text before each change of a file. A
// repeated removal, in the same process or after a start, must find what is left.
func TestEraseInterrupted(t *testing.T) {
	histories := 1
	if os.Getenv("FAULTS") != "" {
		histories = 20
	}
	stopped := errors.New("stopped")
	for seed := range histories {
		dir := t.TempDir()
		h := newGeneratedHistory(t, filepath.Join(dir, "0"), uint64(seed))
		for range 25 {
			h.step()
		}
		files := h.files
		for step := 1; ; step++ {
			h.files = map[string]string{}
			for path, text := range files {
				h.files[path] = text
			}
			at := filepath.Join(dir, fmt.Sprint(step))
			must(t, os.CopyFS(at, os.DirFS(filepath.Join(dir, "0"))))
			h.open(at)
			steps := 0
			h.j.store.fault = func() error {
				if steps++; steps >= step {
					return stopped
				}
				return nil
			}
			err := h.erase()
			if err != nil && !errors.Is(err, stopped) {
				t.Fatal(err)
			}
			h.j.store.fault = nil
			if step%2 == 0 {
				h.open(at)
			}
			must(t, h.erase())
			h.wantErased(fmt.Sprintf("history %d, step %d", seed, step))
			must(t, os.RemoveAll(at))
			if err == nil {
				break
			}
		}
	}
}

// TestEraseUnused checks that a start removes versions that no change refers to, which may
// contain text that an earlier build forgot.
func TestEraseUnused(t *testing.T) {
	dir := t.TempDir()
	h := newGeneratedHistory(t, dir, 1)
	for _, more := range []string{h.withSecret(h.lines(60)), h.lines(1)} {
		h.save("a.md", h.files["a.md"]+more)
	}
	old := h.files["a.md"]
	h.save("a.md", cutSecret(old)) // a change of another program, which needs the version before
	h.j.records[0].Before, h.j.records[0].Forgotten = "", true
	data, err := h.j.records[0].encode()
	must(t, err)
	must(t, os.WriteFile(h.j.recordPath(h.j.records[0]), data, 0o600))
	if list, err := statetest.FilesContaining(dir, secret); err != nil || len(list) == 0 {
		t.Fatal("no version has the text", err)
	}
	h.open(dir)
	must(t, h.j.EraseUnused())
	h.wantErased("after the start")
	if got, err := h.j.Version(Digest([]byte(cutSecret(old)))); err != nil || string(got) != cutSecret(old) {
		t.Errorf("the present version: %q, %v", got, err)
	}
}
