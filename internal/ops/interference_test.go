package ops

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

var lawRequests = flag.Int("law-requests", 300, "how many requests TestNonInterference compares")

// lawCallers are guests, which write in their inbox, and callers that only read.
var lawCallers = []api.Caller{
	guest("groupbot", "acct:42", "public"), as("acct:42", "public"), guest("groupbot", "owner", "public"), as("owner", "public"),
	guest("helper", "acct:42", "private"), as("bob", "private"), guest("other", "acct:7", ""), as("", "public"),
	guest("chat", "ext:telegram:1", "private"), guest("other", "bob", "private"),
}

// lawWriters write the private text of TestNonInterference.
var lawWriters = []api.Caller{
	as("acct:42", "public"), as("owner", "public"), as("acct:42", "private"),
	guest("helper", "acct:42", "private"), guest("groupbot", "acct:42", "public"), guest("groupbot", "owner", "public"),
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

// TestNonInterference sends random requests of a caller to two memories that differ in
// text that the caller may not read: other hidden text in its inbox, and either hidden files
// of all kinds at the paths that operations choose, or private text that others write
// meanwhile, in one memory by one request, in the other by two. Each answer and each readable file, names
// included, must be byte for byte the same, hidden files must not change, and a guest
// changes no file outside its inbox. Only took_ms, the duration of a request, is not
// compared.
func TestNonInterference(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	const perMemory = 20
	var compared, changed, planted atomic.Int64
	t.Run("memories", func(t *testing.T) {
		for n := range (*lawRequests + perMemory - 1) / perMemory {
			t.Run(fmt.Sprint(*testMemorySeed+uint64(n)), func(t *testing.T) {
				t.Parallel()
				w := &randomSource{rand.New(rand.NewPCG(*testMemorySeed+uint64(n), 7))}
				p := w.newMemoryPair(t, lawCallers[n%len(lawCallers)])
				planted.Add(int64(len(p.hidden)))
				for range perMemory {
					if len(p.hidden) == 0 && w.IntN(3) == 0 {
						p.writePrivately(t, w)
					}
					if p.compareRequest(t, w) {
						changed.Add(1)
					}
					compared.Add(1)
				}
			})
		}
	})
	t.Logf("%d requests compared, %d changed something, beside %d hidden files", compared.Load(), changed.Load(), planted.Load())
	if changed.Load()*10 < compared.Load() || planted.Load() == 0 {
		t.Error("too few requests changed something beside hidden files")
	}
}

// A memoryPair is a memory with hidden text and the same memory with other hidden text.
type memoryPair struct {
	by          api.Caller
	access      readAccess
	whole, part *testMemory
	hidden      map[string]string // hidden files of whole by path, with their text or kind
	inbox       string            // of a guest
}

func (p *memoryPair) both() []*testMemory { return []*testMemory{p.whole, p.part} }

// scope returns the subject and the context of a caller.
func scopeOf(by api.Caller) (s memory.Scope) {
	if by.Fixed != nil {
		return memory.Scope{Subject: by.Fixed.Subject, Context: contextOf(by.Fixed)}
	}
	s.Subject = *by.Scope.Subject
	s.Context, _ = memory.ParseContext(*by.Scope.Context)
	return s
}

// hiddenPaths returns the paths that operations of a caller would choose if it had
// no inbox.
func hiddenPaths(subject string, private bool) []string {
	const day = "2026-02-05"
	paths := []string{"memory/" + day + ".md", "memory/2026-02-04.md", "MEMORY.md", "SOUL.md", "notes/new.md",
		"memory/" + day + "/" + memory.SessionFile(subject), "memory/2026-02-04/" + memory.SessionFile(subject)}
	for _, session := range []string{"fresh", "sid0", "sid1", "mine"} {
		file := "memory/" + day + "/" + memory.SessionFile(session)
		paths = append(paths, file, memory.BesideFile(file, memory.UnseenFile), memory.BesideFile(file, memory.PublicFile))
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

// newMemoryPair creates both memories.
func (w *randomSource) newMemoryPair(t *testing.T, by api.Caller) *memoryPair {
	t.Helper()
	s := scopeOf(by)
	p := &memoryPair{by: by, access: readAccess{[]string{s.Subject}, s.Context == memory.Private}, hidden: map[string]string{}}
	if s.Subject == "acct:42" {
		p.access.subjects = append(p.access.subjects, "ext:telegram:1")
	}
	leaves := w.randomFiles()
	p.whole, p.part = newTestMemory(t, leaves, nil), newTestMemory(t, leaves, &p.access)
	kinds := slices.Sorted(maps.Keys(hiddenStates))
	paths := hiddenPaths(s.Subject, p.access.private)
	if w.IntN(2) == 0 {
		paths = nil
	}
	for _, path := range paths {
		// The directories are the same in both memories: where days are stored is
		// a property of the root.
		for _, g := range p.both() {
			checkError(t, os.MkdirAll(filepath.Dir(filepath.Join(g.dir, path)), 0o700))
		}
		name := filepath.Join(p.whole.dir, path)
		if _, err := os.Lstat(name); err == nil || w.IntN(3) == 0 {
			continue
		}
		kind := kinds[w.IntN(len(kinds))]
		// A claim decides which subject owns a directory, in both memories.
		if kind == "theirs" && !strings.HasPrefix(path, "memory/2026-02-05/") {
			kind = "sound"
		}
		hiddenStates[kind](t, name)
		if p.reads(t, path) {
			checkError(t, os.RemoveAll(name))
			continue
		}
		p.hidden[path] = stateOf(name)
	}
	if by.Fixed != nil {
		p.inbox = memory.Inbox(by.Fixed.Name, s.Subject)
		p.hideInInbox(t)
	}
	for _, g := range p.both() {
		g.isInitial = false
		checkError(t, g.Sync(t.Context()))
	}
	return p
}

// hideInInbox makes files of other hidden text in the inbox.
func (p *memoryPair) hideInInbox(t *testing.T) {
	const hidden = "- **tea**: zqhidden <!-- id=k1 visibility=private_only -->\n- [ ] coffee zqhidden <!-- visibility=private_only -->\n"
	for _, path := range []string{"fact.md", "fact.private.md", "profile.md", "2026-02-05/fresh.md", "2026-02-05/acct_42.md",
		"2026-02-05/owner.private.md", "2026-02-04/mine.md"} {
		path = p.inbox + "/" + path
		for i, text := range []string{hidden + hidden, "- other <!-- visibility=private_only -->\n"} {
			name := filepath.Join(p.both()[i].dir, path)
			checkError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			writeState(strings.Repeat("---\nsubject_id: carol\n---\n", len(path)%2)+text)(t, name)
		}
		if p.reads(t, path) {
			for _, g := range p.both() {
				checkError(t, os.Remove(filepath.Join(g.dir, path)))
			}
		}
	}
}

// reads reports whether the caller can read a part of a file.
func (p *memoryPair) reads(t *testing.T, path string) bool {
	t.Helper()
	s := scopeOf(p.by)
	v, err := p.whole.View(p.whole.Scope(s.Subject, s.Context))
	checkError(t, err)
	doc, err := p.whole.Load(path)
	return err == nil && doc.For(v) != nil
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

// run sends a request to a memory.
func (p *memoryPair) run(t *testing.T, g *testMemory, by api.Caller, name string, request fields) string {
	t.Helper()
	if by.Fixed == nil {
		request = maps.Clone(request)
		request["subject"], request["context"] = *by.Scope.Subject, *by.Scope.Context
	}
	g.startWriter(t)
	answer, _ := g.runRequest(t, by.Fixed, lookUp(t, name), encodeRequest(t, request))
	if strings.Contains(answer, vault.ErrRoot.Error()) {
		t.Skip("the disk is too slow")
	}
	return answer
}

// writePrivately writes a private text that the caller may not read to one memory, and two
// others to the other one.
func (p *memoryPair) writePrivately(t *testing.T, w *randomSource) {
	t.Helper()
	by := lawWriters[w.IntN(len(lawWriters))]
	s := scopeOf(by)
	if p.access.canRead(s.Subject, true) {
		return
	}
	name, session := w.pickOne("note", "capture", "todo_add", "item_put", "session"), w.pickOne("fresh", "sid0")
	if name == "session" && s.Context != memory.Private {
		name = "note" // sessions of a public context are public
	}
	namespace, day := w.pickOne(memory.Namespaces()...), w.pickOne("", "2026-02-04")
	send := func(g *testMemory, text string) {
		t.Helper()
		p.run(t, g, by, name, map[string]fields{
			"note":     {"text": text, "topic": text, "day": day, "tags": []string{"tea"}, "visibility": "private_only"},
			"capture":  {"bullets": []string{text}, "session": session, "visibility": "private_only"},
			"todo_add": {"text": text, "visibility": "private_only"}, "item_put": {"namespace": namespace, "key": text, "value": text},
			"session": {"session": session, "day": day, "draft": fields{"visibility": "private_only", "summary": text,
				"facts": []fields{{"text": text}}, "tasks": []fields{{"text": text}}}},
		}[name])
	}
	send(p.whole, "tea is green "+w.word())
	send(p.part, "the wifi "+w.word()+" of coffee #tea")
	send(p.part, "喝茶 SOUL.md "+w.word()+" twice")
}

// compareRequest sends a random request to both memories and compares the answers
// and what they leave. It reports whether the request changed something.
func (p *memoryPair) compareRequest(t *testing.T, w *randomSource) bool {
	t.Helper()
	scope := scopeOf(p.by)
	before, outside := p.part.readable(t, scope), p.outside(t)
	name, request := w.request(before, p.by.Fixed == nil)
	for request != nil {
		got, want := p.run(t, p.whole, p.by, name, request), p.run(t, p.part, p.by, name, request)
		partial := strings.Contains(got, "contains text that this caller cannot read") && strings.HasPrefix(want, `{"error"`)
		if got != want && !partial { // that a file has such text may be learned
			t.Fatalf("%+v: %s %v (-without the hidden text +beside it):\n%s", scope, name, request, cmp.Diff(want, got))
		}
		request = w.followUp(name, request, got)
	}
	after := p.part.readable(t, scope)
	if diff := cmp.Diff(after, p.whole.readable(t, scope)); diff != "" {
		t.Fatalf("%+v: %s: what can be read then (-without the hidden text +beside it):\n%s", scope, name, diff)
	}
	for path, was := range p.hidden {
		if is := stateOf(filepath.Join(p.whole.dir, path)); is != was && !strings.Contains(is, was) {
			t.Fatalf("%+v: the hidden file %s was changed:\n%s", scope, path, cmp.Diff(was, is))
		}
	}
	if diff := cmp.Diff(outside, p.outside(t)); diff != "" {
		t.Fatalf("%+v: outside its inbox (-before +after):\n%s", scope, diff)
	}
	return !maps.Equal(before, after)
}

// outside returns the files of the memory outside the inbox of the caller.
func (p *memoryPair) outside(t *testing.T) map[string]string {
	t.Helper()
	is := map[string]string{}
	p.whole.eachFile(t, func(path string) {
		if p.inbox == "" || !disk.Within(path, p.inbox) {
			is[path] = stateOf(filepath.Join(p.whole.dir, path))
		}
	})
	return is
}
