package compactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// itemForms are the forms of items and of other content of long-term files.
var itemForms = []string{
	"- plain %d", "* starred %d", "- 事情 %d", "- [x] done %d", "* [x] done %d", "- [ ] open %d", "1. whole %d\n   - part",
	"- **Title**: titled %d", "- public %d <!-- id=e%[1]d visibility=public_ok -->", "- code %d\n  ```\n  code\n  ```",
	"- pinned %d <!-- pin -->", "- important %d <!-- importance=0.9 -->", "- dated %d (added 2025-03-04)",
	"- repeated<!-- %d -->", "- newer %d <!-- supersedes=e7 -->", "\nparagraph %d\n", "\n| a %d | b |\n|---|---|\n| c | d |\n",
	"\n```\n- [x] text %d\n```\n", "\n> quote %d\n", "\n<!-- words %d -->\n", "\n## Key Facts %d\n", "\n## Preferences %d\n",
}

// longtermFile returns a random long-term file.
func longtermFile(r *rand.Rand, lines int) string {
	text := "---\nsummary: about them\ntasks: 0/9999\n---\n# Long-term Memory\n\n"
	for i := range lines {
		text += fmt.Sprintf(itemForms[r.IntN(len(itemForms))], i) + "\n"
	}
	return text
}

// splitEntries returns the items of a file, counted, and all other content as written.
func splitEntries(doc *memory.Document) (items map[string]int, rest []string) {
	items = map[string]int{}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		switch e.Block {
		case memory.Item:
			items[entryKey(e, sectionKey(e), linesOf(doc, e))]++
		case memory.EmptyHeading:
		default:
			rest = append(rest, sectionKey(e)+"\x00"+linesOf(doc, e))
		}
	}
	return items, rest
}

// entryKey returns an item with its type and visibility.
func entryKey(e *memory.Entry, section, lines string) string {
	return fmt.Sprintf("%s %s %q %s", e.Type, e.Partition.Visibility, section, lines)
}

// addArchived adds the items of the archives, in their original form, to those of a file.
func (r *testRoot) addArchived(items map[string]int) map[string]int {
	r.t.Helper()
	for _, doc := range r.archived() {
		path := doc.Place.Path
		if len(doc.Problems) > 0 {
			r.t.Errorf("%s: %v", path, doc.Problems)
		}
		for i := range doc.Entries {
			e := &doc.Entries[i]
			if e.Block == memory.EmptyHeading {
				continue
			}
			o, ok := r.archivedOrigin(doc, e)
			if !ok || o.from != indexPath {
				r.t.Fatalf("%s:%d does not say where it comes from: %s", path, e.Line, e.Text)
			}
			if !slices.Equal(archiveSection(o.from, sectionPath(o.section)), e.Sections) {
				r.t.Fatalf("%s:%d stands below %q, and comes from %q", path, e.Line, e.Sections, o.section)
			}
			items[entryKey(e, strings.Join(sectionPath(o.section), "\x1f"), o.lines)]++
		}
	}
	return items
}

func (r *testRoot) index() *memory.Document { return parseText(indexPath, r.files[indexPath]) }

// allPresent reports whether every item still exists and none more often than
// before. Repeated items may have become one.
func allPresent(got, all map[string]int) bool {
	for k, n := range all {
		if got[k] < 1 || got[k] > n {
			return false
		}
	}
	return len(got) == len(all)
}

// TestFailuresLoseNothing fails each write in turn, before or after it takes
// effect. It checks that nothing is lost and that later runs neither lose nor
// duplicate items.
func TestFailuresLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in one goroutine, in which the race detector finds nothing")
	}
	failure := errors.New("no space left on device")
	for failing := range 4 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(failing, after), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				r := newTestRoot(t, []txtar.File{{Name: indexPath, Data: []byte(longtermFile(random, 200))}})
				all, rest := splitEntries(r.index())
				writes := 0
				r.before = func(c vault.Change) error {
					writes++
					if writes-1 != failing {
						return nil
					}
					if after { // the write takes effect but returns an error
						before := r.before
						r.before = nil
						if _, err := r.Write(t.Context(), c); err != nil {
							t.Fatal(err)
						}
						r.before = before
					}
					return failure
				}
				for range 8 {
					report, err := r.Compact(t.Context(), Request{Requested: true})
					if err != nil {
						t.Fatal(err)
					}
					left, restNow := splitEntries(r.index())
					got := r.addArchived(left)
					for k := range all {
						if got[k] == 0 {
							t.Fatalf("after %d writes, %q is lost", writes, k)
						}
					}
					if !slices.Equal(rest, restNow) {
						t.Fatal("what is no item has changed")
					}
					if report.Applied > 0 && writes > failing+1 && !allPresent(got, all) {
						t.Fatalf("after %d writes, file and archive are not what the file was", writes)
					}
				}
				left, _ := splitEntries(r.index())
				if got := r.addArchived(left); !allPresent(got, all) {
					t.Fatalf("at the end, after %d writes, file and archive are not what the file was", writes)
				}
				if measure(r.index()).Items > 100 {
					t.Error("it never came within its limit")
				}
			})
		}
	}
}

// TestFreshArchivesAreKnown checks a run that starts before Paths contains the
// archive of the previous run.
func TestFreshArchivesAreKnown(t *testing.T) {
	r := newTestRoot(t, []txtar.File{{Name: indexPath, Data: []byte("- one\n- two\n- [x] three\n")}})
	r.Limits, r.Paths = []api.CompactLimit{{Pattern: "**/_index.md", Items: 2}}, func() []string { return []string{indexPath} }
	all, _ := splitEntries(r.index())
	r.before = func(c vault.Change) error {
		if c.Path == indexPath {
			return errors.New("the process is killed")
		}
		return nil
	}
	r.compact(Request{})
	r.before = nil
	r.compact(Request{})
	left, _ := splitEntries(r.index())
	if len(left) != 2 || !allPresent(r.addArchived(left), all) {
		t.Errorf("file and archive are not what the file was:\n%s", r)
	}
}

// TestWhatChangesMeanwhileStays saves a file between archiving and removal.
func TestWhatChangesMeanwhileStays(t *testing.T) {
	const text = "- one\n- two\n- three\n- [x] four\n- five\n"
	for path, now := range map[string]string{
		indexPath:   strings.Replace(text, "- [x] four", "- [x] four <!-- pin -->", 1),
		archivePath: "- something else\n",
	} {
		r := newTestRoot(t, []txtar.File{{Name: indexPath, Data: []byte(text)}})
		r.Limits = []api.CompactLimit{{Pattern: "**/_index.md", Items: 4}}
		r.before = func(c vault.Change) error {
			if c.Path == indexPath {
				r.files[path] = now
			}
			return nil
		}
		want := text
		if path == indexPath {
			want = now
		}
		if report := r.compact(Request{}); report.Applied != 0 || r.files[indexPath] != want {
			t.Errorf("%s was saved, and %d went:\n%s", path, report.Applied, r.files[indexPath])
		}
		r.before = nil
		r.files[indexPath] = text
		if r.compact(Request{}).Applied != 1 {
			t.Errorf("%s was saved, and the next run removed nothing", path)
		}
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	text := longtermFile(random, 300)
	r := newTestRoot(t, []txtar.File{
		{Name: indexPath, Data: []byte(text)}, {Name: "MEMORY.md", Data: []byte(text)}, {Name: "2026-01-01/cli.md", Data: []byte(text)},
		{Name: "_longterms/acct_42/preference.md", Data: []byte(text)}, {Name: "_longterms/acct_42/_archive/2026-01.desk.md", Data: []byte(text)},
	})
	before := r.String()
	if report := r.compact(Request{DryRun: true, Explain: true}); len(report.Plan) != 1 || len(report.Plan[0].Steps) == 0 {
		t.Fatalf("%+v", report)
	}
	if r.String() != before {
		t.Error("a dry run changes something")
	}
	r.before = func(vault.Change) error { return vault.ErrOff }
	if _, err := r.Compact(t.Context(), Request{}); !errors.Is(err, vault.ErrOff) {
		t.Errorf("got %v, want %v", err, vault.ErrOff)
	}
	if r.String() != before {
		t.Error("something is written although that is turned off")
	}
	r.before = nil
	r.compact(Request{})
	for _, path := range []string{"MEMORY.md", "2026-01-01/cli.md", "_longterms/acct_42/preference.md", "_longterms/acct_42/_archive/2026-01.desk.md"} {
		if r.files[path] != text {
			t.Errorf("%s has changed", path)
		}
	}
}

// sectionPath is the inverse of sectionText.
func sectionPath(text string) []string {
	if text == "" {
		return nil
	}
	names := strings.Split(text, "/")
	for i, s := range names {
		if name, err := url.PathUnescape(s); err == nil {
			names[i] = name
		}
	}
	return names
}
