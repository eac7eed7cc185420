package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// openHistory opens a journal that keeps the changes of other programs.
func openHistory(t *testing.T, dir string, size int64) *Journal {
	t.Helper()
	j, err := Open(dir, 0)
	must(t, err)
	j.KeepHistory(size, 0)
	return j
}

func (j *Journal) see(t *testing.T, path string, content []byte) {
	t.Helper()
	must(t, j.Seen(path, func() ([]byte, error) { return content, nil }))
}

// TestVersionsCost checks that the cost of a version follows the change, not the file.
// ITEMS and PUTS set the numbers of items and of changes.
func TestVersionsCost(t *testing.T) {
	items, puts := 2000, 200
	for name, n := range map[string]*int{"ITEMS": &items, "PUTS": &puts} {
		if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
			*n = value
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for i := range items {
		lines = append(lines, fmt.Sprintf("- **key %d**: a value of %x and %x <!-- id=%x updated=2026-02-05T12:00:00Z -->\n", i, r.Uint64(), r.Uint64(), r.Uint64()))
	}
	j := openHistory(t, t.TempDir(), 1<<30)
	start := time.Now()
	var texts [][]byte
	for i := range puts {
		at := r.IntN(len(lines))
		lines = slices.Insert(lines, at, fmt.Sprintf("- **new %d**: %x\n", i, r.Uint64()))
		text := []byte(strings.Join(lines, ""))
		j.see(t, "a.md", text)
		if i%20 == 0 || i == puts-1 {
			texts = append(texts, text)
		}
	}
	whole := encodeAs("", nil, texts[0]).size
	t.Logf("%d changes of %d bytes take %d bytes, %d files, in %v; a whole version takes %d", puts, len(texts[0]), j.store.total,
		len(j.store.versions), time.Since(start), whole)
	if j.store.total > whole*int64(puts)/5 {
		t.Errorf("%d bytes for %d changes; a whole version takes %d", j.store.total, puts, whole)
	}
	again := openHistory(t, j.Dir, 1<<30)
	for _, text := range texts {
		if got, err := again.Version(Digest(text)); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	list := again.ListAll(time.Time{}, "a.md", 0)
	if len(list) != puts-1 || len(again.List(time.Time{}, "", 0)) != 0 {
		t.Errorf("%d changes", len(list))
	}
}

// FuzzVersions checks that a content is the same after it was stored as lines that differ
// from another one.
func FuzzVersions(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nc\nd"))
	f.Add([]byte("a\r\n\n\nb"), []byte("\n\nb\na\r\n"))
	f.Add([]byte(""), []byte("a\n\x00\xff"))
	f.Fuzz(func(t *testing.T, base, content []byte) {
		e := encodeAs("b", base, content)
		if got, err := decodeVersion(e.data, base); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%q from %q: got %q, %v", content, base, got, err)
		}
		decodeVersion(content, base) // does not panic
	})
}

// TestHistorySize checks that a burst of changes stays within the size of the history, and
// that changes of memwatchd stay.
func TestHistorySize(t *testing.T) {
	const size = 25_000
	j := openHistory(t, t.TempDir(), size)
	r := rand.New(rand.NewPCG(3, 4))
	text := func() []byte { return fmt.Appendf(nil, "%x\n%x\n", r.Uint64(), r.Uint64()) }
	own, before := text(), text()
	made := j.record(t, changeOf("own.md", string(before), string(own)))[0]
	var last []byte
	for i := range 1000 {
		last = text()
		j.see(t, fmt.Sprint(i%100, ".md"), last)
		if got := j.store.total; got > size+1000 {
			t.Fatalf("%d bytes after %d changes", got, i)
		}
	}
	if got, err := j.Version(Digest(last)); err != nil || !bytes.Equal(got, last) {
		t.Errorf("the present content is not stored: %q, %v", got, err)
	}
	if n := len(j.ListAll(time.Time{}, "", 0)); n < 20 || n > 500 {
		t.Errorf("%d changes", n)
	}
	// Files that alone exceed the size are not stored, and nothing else fails.
	for i := range 400 {
		j.see(t, fmt.Sprint("more/", i), text())
	}
	if got := j.store.total; got > size+1000 {
		t.Errorf("%d bytes", got)
	}
	if n := testing.AllocsPerRun(10, func() { j.see(t, "more/0", text()) }); n > 30 {
		t.Errorf("%v allocations for a file that is not stored: all versions are examined again", n)
	}
	for range 2 {
		if old, now, err := j.Contents(made); err != nil || !bytes.Equal(old, before) || !bytes.Equal(now, own) {
			t.Errorf("the own change: %q, %q, %v", old, now, err)
		}
		j.KeepHistory(0, 0)
		must(t, j.Prune(time.Now(), true))
	}
	entries, err := os.ReadDir(filepath.Join(j.Dir, versionsDir))
	if err != nil || len(entries) != 3 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

// TestHistoryKnowsOwnChanges checks that only changes of other programs are recorded as
// such, also those that nothing saw before a change of memwatchd.
func TestHistoryKnowsOwnChanges(t *testing.T) {
	j := openHistory(t, t.TempDir(), 1<<20)
	change := func(before, after string) {
		r := j.mustBegin(t, changeOf("a.md", before, after))
		j.see(t, "a.md", []byte(after))
		must(t, j.Done(r.ID))
	}
	j.see(t, "a.md", []byte("1\n"))
	change("1\n", "2\n")
	change("3\n", "4\n") // another program wrote 3
	j.see(t, "a.md", []byte("4\n"))
	j.see(t, "a.md", nil)
	var got []string
	for _, r := range slices.Backward(j.ListAll(time.Time{}, "", 0)) {
		before, after, err := j.Contents(r)
		got = append(got, fmt.Sprintf("%t %s%s", r.External, before, after))
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{"false 1\n2\n", "true 2\n3\n", "false 3\n4\n", "true 4\n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForgetBases checks that versions with a text are removed, also those that others need,
// and that all others stay and take no more room.
func TestForgetBases(t *testing.T) {
	j := openHistory(t, t.TempDir(), 1<<20)
	filler := strings.Repeat("- a line of the file that stays as it is\n", 20)
	for i := range 300 {
		filler += fmt.Sprintf("- %d %x\n", i, i*i*i)
	}
	var texts []string
	for i := range 40 {
		text := filler + fmt.Sprintf("- version %d\n", i)
		if i%3 == 0 {
			text = "- a secret\n" + text
		}
		texts = append(texts, text)
		j.see(t, "a.md", []byte(text))
	}
	whole, size := 0, j.store.total
	for _, v := range j.store.versions {
		if v.base == "" {
			whole++
		}
	}
	if whole > 10 {
		t.Fatalf("%d whole versions", whole)
	}
	has := func(_ string, text []byte) bool { return bytes.HasPrefix(text, []byte("- a secret\n")) }
	for range 2 {
		must(t, j.Erase(has))
		for _, j := range []*Journal{j, openHistory(t, j.Dir, 1<<20)} {
			for _, text := range texts {
				got, err := j.Version(Digest([]byte(text)))
				if gone := has("", []byte(text)); gone != errors.Is(err, ErrNoVersion) || !gone && string(got) != text {
					t.Fatalf("got %q, %v, want %q", got, err, text)
				}
			}
		}
	}
	if j.store.total > size {
		t.Errorf("%d bytes after a removal, %d before", j.store.total, size)
	}
	for _, r := range j.ListAll(time.Time{}, "", 0) {
		before, after, err := j.Contents(r)
		if err != nil || r.Forgotten != (before == nil) || r.Forgotten != (after == nil) {
			t.Errorf("%v, %v", r, err)
		}
	}
	if _, err := j.Version("0"); !errors.Is(err, ErrNoVersion) {
		t.Errorf("got %v", err)
	}
}

// TestOutdatedRecord checks that the record of an earlier build is removed at the start, which
// is a problem once.
func TestOutdatedRecord(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0hxj0002.json")
	old := `{"id":"0hxj0002","group":"0hxj0002","time":"2026-02-05T12:01:00Z","path":"made.md","cause":"note","before":"","after":"f7fe","hunks":"2c84"}`
	must(t, os.WriteFile(path, []byte(old+"\n[]\n"), 0o600))
	for _, want := range []string{"removed records in a format that no release had: 1", ""} {
		j, err := Open(dir, 0)
		if err != nil || strings.Join(j.Problems(), "") != want {
			t.Fatal(err, j.Problems())
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}
