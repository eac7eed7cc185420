package todosync

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// A randomTree is a random tree and the random changes that users make to it. Its
// files contain few different tasks, so that many copies exist.
type randomTree struct{ *rand.Rand }

func (r randomTree) pickOne(list ...string) string { return list[r.IntN(len(list))] }

func (r randomTree) randomPath() string {
	day := fmt.Sprintf("2026-02-%02d", 3+r.IntN(4))
	return r.pickOne(day+"/a.md", day+"/b.md", "memory/"+day+".md", "alice/memory/"+day+".md", "MEMORY.md", "_longterms/anna/_index.md", "notes/x.md")
}

func (r randomTree) randomFile() string {
	var b strings.Builder
	eol := r.pickOne("\n", "\n", "\n", "\r\n")
	line := func(format string, args ...any) { fmt.Fprintf(&b, format, args...); b.WriteString(eol) }
	if r.IntN(3) == 0 {
		line("---")
		if r.IntN(2) == 0 {
			line("subject_id: %s", r.pickOne("anna", "bert", "alice", "owner"))
		}
		if r.IntN(2) == 0 {
			line("contact_id: %s", r.pickOne("tg:1", "tg:2"))
		}
		if r.IntN(2) == 0 {
			line("tasks: %q", "0/9")
		}
		if r.IntN(4) == 0 {
			line("visibility: private_only")
		}
		line("---")
	}
	for range 1 + r.IntN(3) {
		line("## %s", r.pickOne("Tasks", "Tasks", "Follow Ups", "Notes", "待办与承诺"))
		for range r.IntN(4) {
			indent := r.pickOne("", "", "", "  ", "\t")
			line("%s- %s%s%s", indent, r.pickOne("[ ] ", "[ ] ", "[x] ", "[X] ", "", "✅ "), r.pickOne("Call Bob", "call *bob*.", "Pay", "Pay #work", "Sweep #recurring", "打电话"),
				r.pickOne("", "", "", " <!-- id=k1 -->", " <!-- id=k2 -->", " <!-- visibility=private_only -->"))
		}
		if r.IntN(3) == 0 {
			line("")
		}
	}
	out := b.String()
	if r.IntN(5) == 0 {
		out = strings.TrimSuffix(out, eol)
	}
	return out
}

// editFile returns a file after a random change by a user.
func (r randomTree) editFile(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	i := r.IntN(len(lines))
	switch r.IntN(5) {
	case 0, 1, 2:
		for range len(lines) { // the next box from line i on
			if l := lines[i]; bytes.Contains(l, []byte("[ ]")) {
				lines[i] = bytes.Replace(l, []byte("[ ]"), []byte("[x]"), 1)
				break
			} else if bytes.Contains(l, []byte("[x]")) && r.IntN(3) == 0 {
				lines[i] = bytes.Replace(l, []byte("[x]"), []byte("[ ]"), 1)
				break
			}
			i = (i + 1) % len(lines)
		}
	case 3:
		lines = slices.Delete(lines, i, i+1)
	case 4:
		return []byte(r.randomFile())
	}
	return bytes.Join(lines, nil)
}

// tickAll returns a file with the boxes of requests ticked, or nil if the file
// cannot be written.
func (w *world) tickAll(path string, wishes []TickRequest) []byte {
	doc := w.parse(path)
	if doc.Unsound {
		return nil
	}
	out, err := w.rules.Tick(doc, wishes, func(source []byte) *memory.Document {
		return w.layout.Parse(path, source, memory.Meta{})
	})
	if err != nil {
		w.t.Fatalf("tick %s: %v\n%s", path, err, w.files[path])
	}
	return out
}

// runDaemon performs a daemon's work for the changed files and returns the files
// that it wrote.
func (w *world) runDaemon(changed []string) []string {
	wishes, _ := w.planRequests(changed)
	byFile := map[string][]TickRequest{}
	for _, wish := range wishes {
		byFile[wish.Path] = append(byFile[wish.Path], wish)
	}
	var files []*File
	var wrote []string
	for _, path := range sortedKeys(byFile) {
		if out := w.tickAll(path, byFile[path]); out != nil {
			w.files[path] = out
			files, wrote = append(files, w.readFile(path)), append(wrote, path)
		}
	}
	if done, _ := w.catalogue.Update(files, wishes, &w.rules); len(done) > 0 {
		w.t.Fatalf("what was ticked completes something: %+v", done)
	}
	return wrote
}

// checkWritten checks the allowed changes of files: open boxes become done,
// each with a done copy, and the counters follow. Nothing else changes.
func (w *world) checkWritten(was map[string][]byte) {
	for path, before := range was {
		after := w.files[path]
		if bytes.Equal(before, after) {
			continue
		}
		a, b := w.layout.Parse(path, before, memory.Meta{}), w.parse(path)
		fa, fb := fileOf(a), fileOf(b)
		if len(fa.Boxes) != len(fb.Boxes) || bytes.Count(before, []byte("\n")) != bytes.Count(after, []byte("\n")) {
			w.t.Fatalf("%s has other lines or tasks:\n%s\n%s", path, before, after)
		}
		for i := range fa.Boxes {
			x, y := fa.Boxes[i], fb.Boxes[i]
			switch {
			case x.BoxKey != y.BoxKey || x.State.isDone() && !y.State.isDone():
				w.t.Fatalf("%s: task %d became another:\n%s\n%s", path, i, before, after)
			case !x.State.isDone() && y.State.isDone():
				c := fa.Copy(i)
				if !w.hasDoneCopy(was, &c) {
					w.t.Fatalf("%s: task %d is done and nowhere else:\n%s", path, i, before)
				}
			}
		}
	}
}

func (w *world) hasDoneCopy(files map[string][]byte, c *Copy) bool {
	for path, text := range files {
		if path == c.Path {
			continue
		}
		f := fileOf(w.layout.Parse(path, text, memory.Meta{}))
		for i := range f.Boxes {
			if d := f.Copy(i); !f.Gone && d.State.isDone() && w.rules.Same(&d, c) {
				return true
			}
		}
	}
	return false
}

func (w *world) cloneWorld() *world {
	v := newWorld(w.t, "2026-02-06", 7)
	v.files = maps.Clone(w.files)
	if w.catalogue != nil {
		v.catalogue = w.catalogue.clone()
	}
	return v
}

// FuzzLaws checks the laws that hold for every tree and all changes by users:
//
//   - planning again on the result plans nothing and writes nothing
//   - the order in which files are seen does not matter
//   - the bytes written depend only on the bytes read
//   - only boxes and counters change, from open to done, and with a done copy
//   - a box that was ticked and then unticked by hand stays open
func FuzzLaws(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := randomTree{rand.New(rand.NewPCG(a, b))}
		w := newWorld(t, "2026-02-06", 7)
		for range 3 + r.IntN(5) {
			w.save(r.randomPath(), []byte(r.randomFile()))
		}
		if wrote := w.runDaemon(nil); len(wrote) > 0 {
			t.Fatalf("the first start writes %v", wrote)
		}
		ticked := map[string]Copy{}
		for range 6 {
			changed := r.changeFiles(w)
			was := maps.Clone(w.files)
			other, kept := w.cloneWorld(), w.cloneWorld()
			wrote := w.runDaemon(changed)
			w.checkWritten(was)
			if again := w.runDaemon(wrote); len(again) > 0 {
				t.Fatalf("on its own result it writes %v", again)
			}
			r.Shuffle(len(changed), func(i, j int) { changed[i], changed[j] = changed[j], changed[i] })
			other.runDaemon(changed)
			sameFiles(t, "seen in another order", w, other)
			for _, path := range wrote {
				for i, box := range w.readFile(path).Boxes {
					if !kept.readFile(path).Boxes[i].State.isDone() && box.State.isDone() {
						c := w.readFile(path).Copy(i)
						ticked[path] = c
					}
				}
			}
		}
		// Boxes unticked by hand stay open.
		for _, path := range sortedKeys(ticked) {
			c := ticked[path]
			if !w.untickBox(&c) {
				continue
			}
			w.runDaemon([]string{path})
			for i := range 3 {
				source := fmt.Sprintf("2026-02-06/last%d.md", i)
				w.save(source, []byte("## Tasks\n- [x] Call Bob\n- [x] Pay\n- [x] x <!-- id=k1 -->\n- [x] y <!-- id=k2 -->\n## Follow Ups\n- [x] Call Bob\n- [x] Pay\n"))
				w.runDaemon([]string{source})
			}
			if f := w.readFile(path); !slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.BoxKey == c.BoxKey && b.State == Open }) {
				t.Fatalf("%s was unticked by hand and ticked again:\n%s", path, w.files[path])
			}
		}
	})
}

// untickBox unticks a box by hand, if the box is still ticked by reconciliation
// and is the only one of its kind. It reports whether it did.
func (w *world) untickBox(c *Copy) bool {
	text, ok := w.files[c.Path]
	f := w.catalogue.File(c.Path)
	if !ok || f == nil {
		return false
	}
	doc := w.parse(c.Path)
	found := 0
	for i, b := range fileOf(doc).Boxes {
		t := doc.Entries[b.Entry].Tasks[b.Task]
		if b.BoxKey != c.BoxKey {
			continue
		}
		found++
		if i >= len(f.Boxes) || f.Boxes[i].BoxKey != b.BoxKey || f.Boxes[i].State != Ticked || t.Box.Start == t.Box.End {
			return false
		}
		text = bytes.Clone(text)
		text[t.Box.Start] = ' '
	}
	w.files[c.Path] = text
	return found == 1
}

// changeFiles changes some files at random and returns their paths.
func (r randomTree) changeFiles(w *world) []string {
	changed := map[string]bool{}
	for range 1 + r.IntN(3) {
		path := r.randomPath()
		if _, ok := w.files[path]; ok && r.IntN(8) > 0 {
			w.save(path, r.editFile(w.files[path]))
		} else {
			w.save(path, []byte(r.randomFile()))
		}
		changed[path] = true
	}
	if paths := sortedKeys(w.files); len(paths) > 0 && r.IntN(6) == 0 { // one file moves
		from, to := paths[r.IntN(len(paths))], r.randomPath()
		w.save(to, w.files[from])
		if from != to {
			w.save(from, nil)
		}
		changed[from], changed[to] = true, true
	}
	return sortedKeys(changed)
}

func sameFiles(t *testing.T, what string, a, b *world) {
	t.Helper()
	if diff := cmp.Diff(a.files, b.files); diff != "" {
		t.Fatalf("%s: the files differ:\n%s", what, diff)
	}
}

// FuzzTwo runs two daemons on two copies of a tree. Users change both copies,
// and synchronise copies the newer files between them, as a sync program does.
// Files changed in both are either equal or in conflict; users resolve a
// conflict in favour of the second copy.
func FuzzTwo(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := randomTree{rand.New(rand.NewPCG(a, b))}
		here := newWorld(t, "2026-02-06", 7)
		for range 3 + r.IntN(5) {
			here.save(r.randomPath(), []byte(r.randomFile()))
		}
		here.runDaemon(nil)
		there := here.cloneWorld()
		base := maps.Clone(here.files)
		for range 5 {
			for _, w := range []*world{here, there} {
				if r.IntN(2) == 0 {
					w.runDaemon(r.changeFiles(w))
				}
			}
			rounds := 0
			for ; syncWorlds(here, there, base); rounds++ {
				if rounds == 20 {
					t.Fatal("they do not come to rest")
				}
			}
			sameFiles(t, "synchronised", here, there)
		}
	})
}

// syncWorlds copies the files changed since the last call and runs both
// daemons. It reports whether any file changed.
func syncWorlds(here, there *world, base map[string][]byte) bool {
	var toHere, toThere []string
	all := map[string][]byte{}
	for _, m := range []map[string][]byte{here.files, there.files, base} {
		maps.Copy(all, m)
	}
	for _, path := range sortedKeys(all) {
		x, y, was := here.files[path], there.files[path], base[path]
		switch {
		case bytes.Equal(x, y):
		case bytes.Equal(y, was):
			there.save(path, x)
			toThere = append(toThere, path)
		default:
			here.save(path, y)
			toHere = append(toHere, path)
		}
	}
	clear(base)
	maps.Copy(base, here.files)
	wrote := append(here.runDaemon(toHere), there.runDaemon(toThere)...)
	return len(toHere)+len(toThere)+len(wrote) > 0
}

// File returns the known state of a file, or nil if the file is unknown.
func (c *Catalogue) File(path string) *File { return c.files[path] }
