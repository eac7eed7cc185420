package ops

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

var hiddenRequests = flag.Int("hidden-requests", 100, "how many requests are compared beside hidden files")

// guests are the callers on listeners with a fixed scope.
var guests = []api.Fixed{
	{Name: "groupbot", Subject: "acct:42", Context: "public"}, {Name: "groupbot", Subject: "owner", Context: "public"},
	{Name: "helper", Subject: "acct:42", Context: "private"}, {Name: "other", Subject: "acct:7"},
	{Name: "chat", Subject: "ext:telegram:1", Context: "private"},
}

// hiddenStates make a file that the caller cannot read, by kind. Sound ones
// belong to another subject or are private; the others have no readable text.
var hiddenStates = map[string]func(t testing.TB, name string){
	"sound":       writeState("---\nvisibility: private_only\n---\n# About\n\n- **tea**: zqhidden\n- [ ] coffee\n"),
	"session":     writeState("---\nsession_id: fresh\nsummary: zqhidden\nvisibility: private_only\n---\n# About\n\n- **tea**: zqhidden\n"),
	"theirs":      writeState("---\nsubject_id: bob\nvisibility: private_only\n---\n# About\n\n- **tea**: zqhidden\n"),
	"frontmatter": writeState("---\nsession_id: fresh\nsubject_id: [\n# About\n\n- **tea**: zqhidden\n"),
	"unclosed":    writeState("<private>\n# About\n\n- **tea**: zqhidden\n"),
	"oversize":    writeState("<private>\n" + strings.Repeat("zqhidden zqhidden\n", 300_000)),
	"binary":      writeState("<private>\n\x00\xff\xfe zqhidden\n"),
	"secret":      writeState("<private>\n- **tea**: " + liveToken + "\n</private>\n"),
	"unreadable": func(t testing.TB, name string) {
		writeState("zqhidden\n")(t, name)
		checkError(t, os.Chmod(name, 0))
	},
	"directory": func(t testing.TB, name string) { checkError(t, os.Mkdir(name, 0o700)) },
	"symlink":   func(t testing.TB, name string) { checkError(t, os.Symlink("/etc/hostname", name)) },
	"dangling":  func(t testing.TB, name string) { checkError(t, os.Symlink("nowhere.md", name)) },
}

func writeState(text string) func(testing.TB, string) {
	return func(t testing.TB, name string) { checkError(t, os.WriteFile(name, []byte(text), 0o600)) }
}

func lookUp(t testing.TB, name string) *api.Operation {
	t.Helper()
	op, err := api.LookUp(name)
	checkError(t, err)
	return op
}

func checkError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHiddenFiles sends random requests on a listener with a fixed scope to a
// memory with hidden files of all kinds at the paths that operations choose, and
// to one without them; in the inbox of the caller, to one with other hidden text. Each
// answer and each readable file, names included, must be byte for byte the same, and no
// file outside the inbox must change. Only took_ms, the duration of a request, is not
// compared.
func TestHiddenFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	const perMemory = 20
	var compared, changed, planted atomic.Int64
	t.Run("memories", func(t *testing.T) {
		for n := range (*hiddenRequests + perMemory - 1) / perMemory {
			t.Run(fmt.Sprint(*testMemorySeed+uint64(n)), func(t *testing.T) {
				t.Parallel()
				w := &randomSource{rand.New(rand.NewPCG(*testMemorySeed+uint64(n), 7))}
				h := w.newHiddenCase(t, &guests[n%len(guests)])
				planted.Add(int64(len(h.hidden)))
				for range perMemory {
					if h.compareRequest(t, w) {
						changed.Add(1)
					}
					compared.Add(1)
				}
			})
		}
	})
	t.Logf("%d requests compared, %d changed something, beside %d hidden files", compared.Load(), changed.Load(), planted.Load())
	if changed.Load()*5 < compared.Load() || planted.Load() == 0 {
		t.Error("too few requests changed something beside hidden files")
	}
}

// A hiddenCase is a memory with hidden files and the same memory without them.
type hiddenCase struct {
	fixed       *api.Fixed
	whole, part *testMemory
	hidden      map[string]string // hidden files by path, with their text or kind
	inbox       string
}

// hiddenText is hidden text in the inbox of a caller in a public context.
const hiddenText = "- **tea**: zqhidden <!-- id=k1 visibility=private_only -->\n- [ ] coffee zqhidden <!-- visibility=private_only -->\n"

// hiddenPaths returns the paths that operations of a caller would choose if it had
// no inbox.
func hiddenPaths(subject string, private bool) []string {
	const day = "2026-02-05"
	paths := []string{"memory/" + day + ".md", "memory/2026-02-04.md", "MEMORY.md", "SOUL.md", "notes/new.md",
		"memory/" + day + "/" + memory.SessionFile(subject), "memory/2026-02-04/" + memory.SessionFile(subject)}
	for _, session := range []string{"fresh", "sid0", "sid1", "mine"} {
		file := "memory/" + day + "/" + memory.SessionFile(session)
		paths = append(paths, file, memory.BesideFile(file, "-2"), memory.BesideFile(file, memory.PublicFile))
	}
	for _, s := range []string{"owner", "bob", subject} {
		if s == subject && private {
			continue // its subject reads everything there, and is told what is wrong
		}
		for _, ns := range append(memory.Namespaces(), "_index", "new") {
			paths = append(paths, "_longterms/"+memory.SubjectDir(s)+"/"+ns+".md")
		}
		paths = append(paths, memory.UserDir(s)+"/MEMORY.md", memory.UserDir(s)+"/memory/"+day+".md")
	}
	return paths
}

// newHiddenCase creates both memories.
func (w *randomSource) newHiddenCase(t *testing.T, fixed *api.Fixed) *hiddenCase {
	t.Helper()
	access := &readAccess{subjects: []string{fixed.Subject}, private: fixed.Context == "private"}
	if fixed.Subject == "acct:42" {
		access.subjects = append(access.subjects, "ext:telegram:1")
	}
	leaves := w.randomFiles()
	h := &hiddenCase{fixed: fixed, whole: newTestMemory(t, leaves, nil), part: newTestMemory(t, leaves, access), hidden: map[string]string{}}
	for _, path := range hiddenPaths(fixed.Subject, access.private) {
		// The directories are the same in both memories: where days are stored is
		// a property of the root.
		for _, g := range []*testMemory{h.whole, h.part} {
			checkError(t, os.MkdirAll(filepath.Dir(filepath.Join(g.dir, path)), 0o700))
		}
		name := filepath.Join(h.whole.dir, path)
		if _, err := os.Lstat(name); err == nil || w.IntN(3) == 0 {
			continue
		}
		kinds := slices.Sorted(maps.Keys(hiddenStates))
		kind := kinds[w.IntN(len(kinds))]
		// A claim decides which subject owns a directory, in both memories.
		if kind == "theirs" && !strings.HasPrefix(path, "memory/2026-02-05/") {
			kind = "sound"
		}
		hiddenStates[kind](t, name)
		if h.reads(t, path) {
			checkError(t, os.RemoveAll(name))
			continue
		}
		h.hidden[path] = stateOf(name)
	}
	h.inbox = memory.Inbox(fixed.Name, fixed.Subject)
	for _, path := range []string{"fact.md", "fact.private.md", "profile.md", "2026-02-05/fresh.md", "2026-02-05/acct_42.md", "2026-02-05/owner.private.md", "2026-02-04/mine.md"} {
		for g, text := range map[*testMemory]string{h.whole: hiddenText + hiddenText, h.part: "- other <!-- visibility=private_only -->\n"} {
			name := filepath.Join(g.dir, h.inbox, path)
			checkError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			checkError(t, os.WriteFile(name, []byte(strings.Repeat("---\nsubject_id: carol\n---\n", len(path)%2)+text), 0o600))
		}
		if h.reads(t, h.inbox+"/"+path) {
			for _, g := range []*testMemory{h.whole, h.part} {
				checkError(t, os.Remove(filepath.Join(g.dir, h.inbox, path)))
			}
		}
	}
	for _, g := range []*testMemory{h.whole, h.part} {
		g.isInitial = false
		checkError(t, g.Sync(t.Context()))
	}
	return h
}

// reads reports whether the caller can read a part of a file.
func (h *hiddenCase) reads(t *testing.T, path string) bool {
	t.Helper()
	doc, err := h.whole.Load(path)
	return err == nil && doc.For(h.view(t, h.whole)) != nil
}

func (h *hiddenCase) view(t *testing.T, g *testMemory) memory.View {
	t.Helper()
	v, err := g.View(g.Scope(h.fixed.Subject, contextOf(h.fixed)))
	checkError(t, err)
	return v
}

// stateOf returns the text of a regular file, or the type of another one.
func stateOf(name string) string {
	info, err := os.Lstat(name)
	if err != nil {
		return "missing"
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String()
	}
	data, _ := os.ReadFile(name) // empty in both memories if it cannot be read
	return string(data)
}

// readable returns the shown text of the files that the caller can read.
func (h *hiddenCase) readable(t *testing.T, g *testMemory) map[string]string {
	t.Helper()
	v, is := h.view(t, g), map[string]string{}
	err := filepath.WalkDir(g.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".memwatchd-") {
			return err
		}
		path, _ := filepath.Rel(g.dir, name)
		doc, err := g.Load(path)
		if err != nil {
			return nil
		}
		doc = doc.For(v)
		if doc != nil {
			is[path] = doc.Shown(v).Text()
		}
		return nil
	})
	checkError(t, err)
	return is
}

// compareRequest sends a random request to both memories and compares the answers
// and what they leave. It reports whether the request changed something.
func (h *hiddenCase) compareRequest(t *testing.T, w *randomSource) bool {
	t.Helper()
	before, outside := h.readable(t, h.part), h.outside(t)
	name, request := w.writeRequest(before)
	for name != "" {
		op := lookUp(t, name)
		text := encodeRequest(t, request)
		h.whole.startWriter(t)
		h.part.startWriter(t)
		got, _ := h.whole.runRequest(t, h.fixed, op, text)
		want, _ := h.part.runRequest(t, h.fixed, op, text)
		if strings.Contains(got+want, vault.ErrRoot.Error()) {
			t.Skip("the disk is too slow")
		}
		if got != want {
			t.Fatalf("%v: %s %s (-without the hidden files +beside them):\n%s", *h.fixed, name, text, cmp.Diff(want, got))
		}
		next := w.followUp(name, request, got)
		if next == nil {
			name = ""
		}
		request = next
	}
	after := h.readable(t, h.part)
	if diff := cmp.Diff(after, h.readable(t, h.whole)); diff != "" {
		t.Fatalf("%v: what can be read then (-without the hidden files +beside them):\n%s", *h.fixed, diff)
	}
	for path, was := range h.hidden {
		if is := stateOf(filepath.Join(h.whole.dir, path)); is != was && !strings.Contains(is, was) {
			t.Fatalf("%v: the hidden file %s was changed:\n%s", *h.fixed, path, cmp.Diff(was, is))
		}
	}
	if diff := cmp.Diff(outside, h.outside(t)); diff != "" {
		t.Fatalf("%v: outside its inbox (-before +after):\n%s", *h.fixed, diff)
	}
	return cmp.Diff(before, after) != ""
}

// outside returns the files of the memory outside the inbox of the caller.
func (h *hiddenCase) outside(t *testing.T) map[string]string {
	t.Helper()
	is := map[string]string{}
	checkError(t, filepath.WalkDir(h.whole.dir, func(name string, e fs.DirEntry, err error) error {
		path, _ := filepath.Rel(h.whole.dir, name)
		if err == nil && !e.IsDir() && !memory.Within(path, h.inbox) && !strings.HasPrefix(e.Name(), ".memwatchd-") {
			is[path] = stateOf(name)
		}
		return err
	}))
	return is
}

// writeRequest returns a random request, mostly of the operations that choose a
// path.
func (w *randomSource) writeRequest(known map[string]string) (op string, request fields) {
	switch w.IntN(13) {
	case 9:
		return "todo_add", fields{"text": w.word() + fmt.Sprint(w.IntN(9)), "due": w.pickOne("", "3d"), "visibility": w.visibility(), "project": w.pickOne("", "shop")}
	case 0, 1:
		return "note", fields{"text": w.word() + " " + fmt.Sprint(w.IntN(1000)), "visibility": w.pickOne("public_ok", "public_ok", "private_only"), "day": w.pickOne("", "2026-02-04"), "tags": []string{"tea"}, "project": w.pickOne("", "shop")}
	case 2:
		return "capture", fields{"bullets": []string{w.word() + fmt.Sprint(w.IntN(100))}, "session": w.pickOne("", "mine"), "visibility": w.visibility(), "project": w.pickOne("", "shop")}
	case 3, 4:
		draft := fields{"summary": w.pickOne("", w.word()), "tags": []string{w.word()}, "facts": []fields{{"text": w.sentence()}}, "items": fields{"About": []fields{{"title": w.word(), "text": w.sentence()}}}, "tasks": []fields{{"text": w.word(), "done": w.IntN(2) == 0}}}
		if w.IntN(3) == 0 {
			draft["summary"], draft["default_summary"] = "", w.word()
		}
		if w.IntN(4) == 0 {
			draft["visibility"] = "private_only"
		}
		return "session", fields{"session": w.pickOne("fresh", "mine", "sid0", "sid1", "a/b"), "draft": draft, "project": w.pickOne("", "shop"), "day": w.pickOne("", "2026-02-05", "2026-02-04"), "dry_run": w.IntN(5) == 0}
	case 5, 6:
		return "item_put", fields{"namespace": w.pickOne(memory.Namespaces()...), "key": w.word(), "value": w.pickOne("", "<!-- x -->\r\n") + fmt.Sprint(w.IntN(100)), "visibility": w.visibility()}
	case 7:
		path := w.pickOne("notes/new.md", "MEMORY.md", "_longterms/bob/fact.md", "memory/2026-02-05/fresh.md", "memory/2026-02-05/sid0.md", "memory/2026-02-05/mine.md", "_longterms/"+memory.SubjectDir("acct:42")+"/mine.md", memory.Inbox("groupbot", "acct:42")+"/new.md", "inbox/other.acct_7/new.md")
		return "write", fields{"path": path, "text": w.pickOne("", "---\nsubject_id: acct:42\n---\n", "---\nsubject_id: ext:telegram:1\n---\n", "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n") + "words of " + w.word() + "\n", "hash": w.pickOne("", strings.Repeat("0", 64))}
	case 8:
		paths := hiddenPaths("acct:42", false)
		return w.pickOne("get", "related"), fields{"path": paths[w.IntN(len(paths))]}
	}
	return w.request(known)
}

// TestHiddenLiteralName checks that a readable file is found by the name that
// answers show if a hidden file has this name.
func TestHiddenLiteralName(t *testing.T) {
	var answers []string
	for _, hidden := range [][]txtar.File{nil, {{Name: "notes/a\ufffd.md", Data: []byte("- hidden\n")}}} {
		d := readOpsCase(t, &txtar.Archive{Files: append(hidden,
			txtar.File{Name: "notes/a\xff.md", Data: []byte("- open to all <!-- visibility=public_ok -->\n")})}).disk(t)
		a, err := d.memory.readOps().get(t.Context(), d.callAs(t, "owner", "public"), &api.GetRequest{Path: "notes/a\ufffd.md", From: 1})
		checkError(t, err)
		answers = append(answers, a.Text)
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], "open to all") {
		t.Errorf("without the hidden file %q, with it %q", answers[0], answers[1])
	}
}
