package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openAt opens a journal whose clock advances by one second per call.
func openAt(t *testing.T, dir string, keep time.Duration) *Journal {
	t.Helper()
	j, err := Open(dir, keep)
	must(t, err)
	now := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	j.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	return j
}

func changeOf(path, before, after string) Record {
	return Record{
		Path: path, Cause: "todo", Before: Digest([]byte(before)), After: Digest([]byte(after)),
		Old: []byte(before), New: []byte(after),
	}
}

func (j *Journal) mustBegin(t *testing.T, r Record) Record {
	t.Helper()
	begun, err := j.Begin(r)
	must(t, err)
	return begun
}

// record begins and completes changes.
func (j *Journal) record(t *testing.T, changes ...Record) (records []Record) {
	t.Helper()
	for _, r := range changes {
		records = append(records, j.mustBegin(t, r))
		must(t, j.Done(records[len(records)-1].ID))
	}
	return records
}

func joinIDs(records []Record) string {
	var list []string
	for _, r := range records {
		list = append(list, r.ID)
	}
	return strings.Join(list, " ")
}

func TestJournalOpensAsItWasLeft(t *testing.T) {
	dir := t.TempDir()
	j := openAt(t, dir, 0)
	r := changeOf("2026-02-05/a\xff.md", "- [ ] one\n", "- [x] one\n")
	r.Temp, r.Reason, r.To = ".memwatchd-1.tmp", "the same task is done", "2026-02-05/b.md"
	done := j.record(t, r, changeOf("b.md", "", "new"))
	begun := j.mustBegin(t, changeOf("c.md", "x\r\n", "y\r\n"))
	gone := j.mustBegin(t, changeOf("d.md", "1", "2"))
	must(t, j.Abandon(gone.ID))

	again := openAt(t, dir, 0)
	if got := again.Problems(); len(got) > 0 {
		t.Errorf("problems: %q", got)
	}
	if diff := cmp.Diff([]Record{begun}, again.Pending()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if got, want := joinIDs(again.List(time.Time{}, "", 0)), done[1].ID+" "+done[0].ID; got != want {
		t.Errorf("list: got %s, want %s", got, want)
	}
	got, err := again.Get(done[0].ID)
	must(t, err)
	want := done[0]
	want.State = StateDone
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}
	if _, err := again.Get(gone.ID); !errors.Is(err, ErrNoRecord) {
		t.Errorf("get of an abandoned one: %v", err)
	}
	for _, name := range []string{done[0].ID + ".json", begun.ID + ".intent.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestJournalIDs checks that IDs sort by time and are unique, and that Get
// accepts all spellings of an ID.
func TestJournalIDs(t *testing.T) {
	dir := t.TempDir()
	j := openAt(t, dir, 0)
	clock := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	j.Now = func() time.Time { return clock }
	r := j.record(t, changeOf("a.md", "1", "2"), changeOf("a.md", "2", "3"))
	clock = clock.Add(-time.Hour) // set back
	r = append(r, j.record(t, changeOf("a.md", "3", "4"))...)
	clock = clock.Add(24 * time.Hour)
	r = append(r, j.record(t, changeOf("a.md", "4", "5"))...)
	if !slices.IsSortedFunc(r, func(a, b Record) int { return strings.Compare(a.ID, b.ID) }) || r[0].ID == r[1].ID {
		t.Errorf("ids are not in order: %s", joinIDs(r))
	}
	typed := strings.ToUpper(strings.NewReplacer("0", "o", "1", "i").Replace(r[3].ID))
	for _, id := range []string{r[3].ID, r[3].ID[:5], typed, " " + typed[:4] + "-" + typed[4:]} {
		if got, err := j.Get(id); err != nil || got.ID != r[3].ID {
			t.Errorf("get %q: got %s, %v, want %s", id, got.ID, err, r[3].ID)
		}
	}
	for id, want := range map[string]error{"": ErrNoRecord, "zzzzzzzz": ErrNoRecord, r[0].ID[:3]: ErrAmbiguous} {
		if _, err := j.Get(id); !errors.Is(err, want) {
			t.Errorf("get %q: got %v, want %v", id, err, want)
		}
	}

	// An ID is not reused even if the change with the highest ID is gone.
	last := j.mustBegin(t, changeOf("a.md", "5", "6"))
	again := openAt(t, dir, 0)
	again.Now = func() time.Time { return clock.Add(-time.Hour) }
	must(t, again.Abandon(last.ID))
	if next := again.record(t, changeOf("a.md", "5", "6")); next[0].ID <= last.ID {
		t.Errorf("id %s after %s", next[0].ID, last.ID)
	}
}

func TestJournalPrunesWholeGroups(t *testing.T) {
	j := openAt(t, t.TempDir(), time.Hour)
	now := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration, group string) Record {
		r := changeOf("a.md", "1", "2")
		r.Time, r.Group = now.Add(-ago), group
		return r
	}
	j.record(t, at(3*time.Hour, ""), at(2*time.Hour, "g"))
	begun := j.mustBegin(t, at(2*time.Hour, ""))
	j.record(t, at(time.Hour, "g"), at(time.Minute, ""))
	for _, clock := range []time.Time{now, now.AddDate(1, 0, 0)} {
		must(t, j.Prune(clock, false))
	}
	var got []string
	for _, r := range j.List(time.Time{}, "", 0) {
		got = append(got, now.Sub(r.Time).String())
	}
	if diff := cmp.Diff([]string{"1m0s", "1h0m0s", "2h0m0s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// With a steady clock, the newest change expires, too.
	must(t, j.Prune(now.AddDate(1, 0, 0), true))
	if got := j.List(time.Time{}, "", 0); len(got) != 0 {
		t.Errorf("kept for a year: %v", got)
	}
	if p := j.Pending(); len(p) != 1 || p[0].ID != begun.ID {
		t.Errorf("pending: %v", p)
	}
}

// TestJournalSurvivesDamage checks that damaged and foreign files stay in
// place, are reported, and do not prevent other operations.
func TestJournalSurvivesDamage(t *testing.T) {
	dir := t.TempDir()
	j := openAt(t, dir, 0)
	r := j.record(t, changeOf("a.md", "1", "2"), changeOf("b.md", "1", "2"), changeOf("c.md", "1", "2"), changeOf("d.md", "1", "2"))
	must(t, j.Prune(time.Now(), false)) // else the log of recent changes repairs the damage
	file := func(i int) string { return filepath.Join(dir, r[i].ID+".json") }
	text, err := os.ReadFile(file(0))
	must(t, err)
	for path, data := range map[string][]byte{
		file(1):                        nil,
		file(2):                        text[:20],
		filepath.Join(dir, "notes"):    []byte("mine"),
		filepath.Join(dir, "x.json"):   []byte("{}"),
		filepath.Join(dir, "zz.tmp"):   []byte("{}"),
		filepath.Join(dir, "a.intent"): []byte("{}"),
	} {
		must(t, os.WriteFile(path, data, 0o600))
	}
	must(t, os.Rename(file(3), filepath.Join(dir, "00000007"+".json")))
	draft := filepath.Join(dir, "00000009"+".intent.json.new") // an unfinished file of the journal
	must(t, os.WriteFile(draft, text[:30], 0o600))
	before := listNames(t, dir)
	again := openAt(t, dir, 0)
	if got, want := len(again.Problems()), 7; got != want {
		t.Errorf("%d problems, want %d: %q", got, want, again.Problems())
	}
	if got := joinIDs(again.List(time.Time{}, "", 0)); got != r[0].ID {
		t.Errorf("list: %s", got)
	}
	want := slices.DeleteFunc(before, func(name string) bool { return name == filepath.Base(draft) })
	if got := listNames(t, dir); !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
	if next := again.record(t, changeOf("a.md", "2", "3")); next[0].ID <= r[2].ID {
		t.Errorf("id %s is not after %s", next[0].ID, r[2].ID)
	}
}

func listNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
