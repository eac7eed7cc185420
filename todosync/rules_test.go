package todosync

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// TestRules replays the archives in testdata/rules. Their files are saves by
// users, and a path without text is a deletion. The text after "→" is the
// expected reconciliation, which is performed before the replay continues.
// Before the first "→", files are only recorded. The comment may set today;
// days is ignored; append_only is the prefix of append-only files. A file named "forget" deletes the state.
func TestRules(t *testing.T) {
	names, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no stories")
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(a)
			w := newWorld(t, "2026-02-06", 7)
			for _, m := range regexp.MustCompile(`(?m)^(today|days|append_only): (.*)$`).FindAllSubmatch(a.Comment, -1) {
				switch string(m[1]) {
				case "append_only":
					w.rules.AppendOnly = func(path string) bool { return strings.HasPrefix(path, string(m[2])) }
				case "today":
					w.rules.First, w.rules.Last = tickWindow(string(m[2]), 7)
				}
			}
			var saved []string
			for i, f := range a.Files {
				switch f.Name {
				case "→":
					a.Files[i].Data, saved = []byte(w.reconcile(saved)), nil
				case "forget":
					w.catalogue = nil
				default:
					w.save(f.Name, f.Data)
					saved = append(saved, f.Name)
				}
			}
			golden.File(t, name, want, txtar.Format(a))
		})
	}
}

type world struct {
	t         testing.TB
	layout    memory.Layout
	rules     Rules
	files     map[string][]byte
	catalogue *Catalogue // nil before the first start
}

func newWorld(t testing.TB, today string, days int) *world {
	w := &world{layout: memory.Layout{Mask: secrets.Mask, Daily: memory.PublicOK, Sessions: memory.PublicOK}, t: t, files: map[string][]byte{}}
	w.layout.Users = func(dir string) bool { return dir == "alice" }
	w.rules.First, w.rules.Last = tickWindow(today, days)
	w.rules.Subject = func(owner string) string { return strings.Trim(owner, "?/") }
	return w
}

func (w *world) save(path string, text []byte) {
	w.files[path] = text
	if len(text) == 0 {
		delete(w.files, path)
	}
}

func (w *world) parse(path string) *memory.Document {
	return w.layout.Parse(path, w.files[path], memory.Meta{})
}

func (w *world) readFile(path string) *File {
	if _, ok := w.files[path]; !ok {
		return &File{Path: path, Gone: true}
	}
	return fileOf(w.parse(path))
}

// planRequests learns files and returns the resulting requests.
func (w *world) planRequests(paths []string) (wishes, unclear []TickRequest) {
	first := w.catalogue == nil
	if first {
		w.catalogue = &Catalogue{}
		paths = sortedKeys(w.files)
	}
	var files []*File
	for _, p := range paths {
		files = append(files, w.readFile(p))
	}
	done, _ := w.catalogue.Update(files, nil, &w.rules)
	w.catalogue.Prune(w.rules.First)
	if first {
		return nil, nil
	}
	wishes, unclear = w.catalogue.Resolve(done, &w.rules)
	return wishes, unclear
}

// reconcile plans and ticks the boxes of changed files, and returns a
// description of the changes.
func (w *world) reconcile(paths []string) string {
	wishes, unclear := w.planRequests(paths)
	var b strings.Builder
	for _, wish := range unclear {
		fmt.Fprintf(&b, "%s: more than one fits %s\n", wish.Path, wish.Done.Path)
	}
	var changed []string
	for _, wish := range wishes {
		doc := w.parse(wish.Path)
		after := w.tickAll(wish.Path, []TickRequest{wish})
		for i, line := range bytes.Split(after, []byte("\n")) {
			if was := bytes.Split(doc.Source, []byte("\n"))[i]; !bytes.Equal(was, line) {
				fmt.Fprintf(&b, "%s:%d %s (%s)\n", wish.Path, i+1, bytes.TrimSpace(line), wish.Done.Path)
			}
		}
		w.files[wish.Path] = after
		if !slices.Contains(changed, wish.Path) {
			changed = append(changed, wish.Path)
		}
	}
	var files []*File
	for _, p := range changed {
		files = append(files, w.readFile(p))
	}
	if done, _ := w.catalogue.Update(files, wishes, &w.rules); len(done) > 0 {
		w.t.Errorf("what reconciliation ticked completes something: %v", done)
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
