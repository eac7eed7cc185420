package ops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A testMemory is a memory on disk with an index, which Sync keeps current. It implements
// [Indexer], [Scopes] and the interfaces of files.
type testMemory struct {
	memory  *Memory
	dir     string
	vault   *vault.Vault
	parse   func(vault.File) *memory.Document
	alone   bool     // aliases are not read
	users   []string // user directories; those with the usual files if empty
	quiet   time.Duration
	journal *journal.Journal
	state   string // file of todosync

	mu         sync.RWMutex
	docs       map[string]*memory.Document // as indexed
	paths      []string                    // of docs, in order
	pending    int                         // files that are not indexed yet
	parsed     sync.Map                    // *memory.Document by path
	identities *memory.Identities          // the last valid ones

	was        map[string]string // the files at the last call of changes
	base       map[string]string // initial content of the files
	isInitial  bool              // files are in their initial state and indexed
	vectors    *testVectors      // nil without semantic search
	judge      testJudge
	used       string
	running    sync.WaitGroup // writers
	stopWriter func()         // stops the last writer
}

// start creates the memory of a case.
func (c *opsCase) start(t testing.TB) *testMemory {
	t.Helper()
	now, err := time.Parse(time.RFC3339, c.settings["now"])
	checkError(t, err)
	location, err := time.LoadLocation(c.settings["timezone"])
	checkError(t, err)
	number := func(key string) int {
		n, err := strconv.Atoi(c.settings[key])
		checkError(t, err)
		return n
	}
	g := &testMemory{dir: t.TempDir(), alone: c.settings["read"] == "canonical", users: strings.Fields(c.settings["users"]),
		state: filepath.Join(t.TempDir(), "todosync.json"), quiet: time.Hour, // on slow machines too, the files count as recently written
		docs: map[string]*memory.Document{},
		was:  map[string]string{}, base: map[string]string{}}
	for _, f := range c.files {
		g.base[f.Name] = string(f.Data)
		g.write(t, f.Name, string(f.Data))
	}
	days := memory.ParseVisibility(c.settings["visibility"])
	layout := &memory.Layout{Location: location, Users: g.user, Mask: secrets.Mask, Daily: days, Sessions: days}
	g.parse = func(f vault.File) *memory.Document {
		return layout.Parse(f.Path, f.Data, memory.Meta{ModTime: now.AddDate(0, 0, -1), Unstable: f.Unstable})
	}
	g.vault = &vault.Vault{Dir: g.dir, Skip: layout.Skip}
	x, err := index.Open(t.TempDir(), index.Options{Source: g, Texts: true, Logger: slog.New(slog.DiscardHandler)})
	checkError(t, err)
	t.Cleanup(func() { x.Close() })
	root := compactor.Root{Files: g, Disk: g.vault, Paths: func() []string { return slices.Clone(g.paths) }, Layout: layout,
		Location: location, Now: func() time.Time { return now }, Parse: g.parse}
	g.memory = &Memory{Reading: Reading{
		Index: x, Files: g, Scopes: g, Owner: "owner", Location: location, Parse: g.parse,
		MaxItems: number("max_items"), MaxChars: number("max_chars"), MaxFull: number("full_max_chars"),
		Layout: layout, Disabled: c.settings["enabled"] != "true",
		Injection: c.settings["injection"] == "true", SyncTimeout: time.Minute, Now: root.Now,
	}, Administration: Administration{
		Indexer: g, ErasureFile: filepath.Join(t.TempDir(), "forget.json"),
		EraseSpool: func(func(string) bool) error { return nil }, RecordHistory: func(context.Context, string) {}, Compress: &compactor.Compress{Root: root},
		Compactor: &compactor.Compactor{Root: root, MaxLoss: 0.25, Host: "desk", Logger: slog.New(slog.DiscardHandler),
			Limits: []api.CompactLimit{{Pattern: "_longterms/*/_index.md", Items: 4, Characters: 3000}},
			Soft:   compactor.SoftLimits(5000)},
	}}
	g.journal, err = journal.Open(filepath.Join(t.TempDir(), "journal"), time.Hour)
	checkError(t, err)
	at := now.Add(-time.Duration(len(c.writes)) * time.Second)
	g.journal.Now = func() time.Time {
		at = at.Add(time.Second)
		return at
	}
	if c.settings["quiet"] == "none" {
		g.quiet = -1
	}
	t.Cleanup(func() {
		g.stopWriter()
		g.running.Wait()
	})
	g.startWriter(t)
	checkError(t, g.memory.Writer.Repair(t.Context()))
	for _, f := range c.writes {
		_, err := g.memory.Writer.Write(t.Context(), vault.Change{Path: f.Name, Cause: "edit", Reason: "a test", Requested: true,
			Edit: func(*vault.File) ([]byte, error) { return f.Data, nil }})
		checkError(t, err)
	}
	checkError(t, g.Sync(t.Context()))
	checkError(t, x.Confirm(x.Status().Epoch))
	g.startTodos(t)
	if v := c.settings["vectors"]; v != "" {
		g.vectors = &testVectors{home: v == "private", err: map[string]error{"timeout": context.DeadlineExceeded, "error": errors.New("refused")}[v]}
		g.memory.Vectors = g.vectors
		g.vectors.update(g.docs)
	}
	if v := c.settings["model"]; v != "" {
		g.judge = testJudge{proposal: v}
		g.memory.Judge, g.memory.JudgePrivate = &g.judge, c.settings["model_private"] == "true"
	}
	if c.settings["uses"] != "" {
		g.memory.Used = func(ids []string, now time.Time) { g.used += fmt.Sprintln("used:", ids) }
	}
	g.changes(t)
	g.pending = number("pending")
	return g
}

// startWriter starts a writer in place of the last one. As in the daemon, a goroutine
// rechecks replaced files; a new writer does not wait for those of another one.
func (g *testMemory) startWriter(t testing.TB) {
	t.Helper()
	m, w := g.memory, &vault.Writer{Vault: g.vault, Journal: g.journal, Settings: []string{memory.IdentitiesPath}, Quiet: g.quiet,
		Logger: slog.New(slog.DiscardHandler)}
	if g.stopWriter != nil {
		g.stopWriter()
	}
	m.Writer, m.Compactor.Writer, m.Compress.Writer = w, w, w
	if m.Todos != nil {
		m.Todos.Writer = w
	}
	m.Undoer, m.Merger = &vault.Undoer{Writer: w}, &vault.Merger{Writer: w, Layout: m.Layout}
	ctx, stop := context.WithCancel(context.Background())
	g.stopWriter = stop
	g.running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// startTodos starts todosync without knowledge of completed tasks.
func (g *testMemory) startTodos(t testing.TB) {
	t.Helper()
	m := g.memory
	checkError(t, os.RemoveAll(g.state))
	m.Todos = &todosync.Syncer{Files: g, Writer: m.Writer, Parse: g.parse, List: g.listed, State: g.state,
		Logger: slog.New(slog.DiscardHandler), Now: m.Now, Location: m.Location,
		Subject: func(owner string) string { return owner }}
	checkError(t, m.Todos.Start(t.Context()))
}

// listed returns all files, without any recorded state.
func (g *testMemory) listed() []todosync.Listed {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return convertEach(g.paths, func(path string) todosync.Listed {
		return todosync.Listed{Path: path, Day: g.docs[path].Place.Day}
	})
}

// user reports whether a directory contains the files of a user directory.
func (g *testMemory) user(dir string) bool {
	if len(g.users) > 0 {
		return slices.Contains(g.users, dir)
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(g.dir, dir, name))
		return err == nil
	}
	return has("MEMORY.md") && has("memory")
}

// eachFile calls f with the path of each regular file except temporary ones.
func (g *testMemory) eachFile(t testing.TB, f func(path string)) {
	t.Helper()
	checkError(t, g.walk(f))
}

func (g *testMemory) walk(f func(path string)) error {
	return filepath.WalkDir(g.dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".memwatchd-") {
			path, _ := filepath.Rel(g.dir, name)
			f(filepath.ToSlash(path))
		}
		return err
	})
}

// current returns the present documents by path.
func (g *testMemory) current() map[string]*memory.Document {
	docs := map[string]*memory.Document{}
	g.walk(func(path string) {
		if doc, err := g.Load(path); err == nil && g.memory.Layout.Skip(path) == "" {
			docs[path] = doc
		}
	})
	return docs
}

// Sync indexes all files on disk.
func (g *testMemory) Sync(ctx context.Context) error {
	if g.pending > 0 {
		return context.DeadlineExceeded
	}
	if g.isInitial {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	docs := g.current()
	var updates []index.Update
	for path, doc := range docs {
		if doc != g.docs[path] {
			stamp, _ := g.Stamp(path)
			updates = append(updates, index.Update{Path: path, Doc: doc, Stamp: stamp, Hash: sha256.Sum256(doc.Source)})
		}
	}
	for path := range g.docs {
		if docs[path] == nil {
			updates = append(updates, index.Update{Path: path})
		}
	}
	slices.SortFunc(updates, func(a, b index.Update) int { return strings.Compare(a.Path, b.Path) })
	g.docs, g.paths = docs, slices.Sorted(maps.Keys(docs))
	if g.vectors != nil {
		g.vectors.update(docs)
	}
	return g.memory.Index.Apply(ctx, updates)
}

// Load does not parse an unchanged file again.
func (g *testMemory) Load(path string) (*memory.Document, error) {
	if doc := g.initial(path); doc != nil {
		return doc, nil
	}
	if last, ok := g.parsed.Load(path); ok {
		doc := last.(*memory.Document)
		if text, err := os.ReadFile(filepath.Join(g.dir, path)); err == nil && bytes.Equal(text, doc.Source) {
			return doc, nil
		}
	}
	file, err := g.vault.Read(path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	doc := g.parse(file)
	if !file.Unstable {
		g.parsed.Store(path, doc)
	}
	return doc, nil
}

// initial returns an initial file, which needs no look at the disk, or nil.
func (g *testMemory) initial(path string) *memory.Document {
	if !g.isInitial {
		return nil
	}
	return g.docs[path]
}

// Stamp derives the stamp of a file from its text.
func (g *testMemory) Stamp(path string) (disk.Stamp, error) {
	doc, err := g.Load(path)
	if err != nil {
		return disk.Stamp{}, err
	}
	sum := sha256.Sum256(doc.Source)
	return disk.Stamp{Size: int64(len(doc.Source)), Inode: binary.BigEndian.Uint64(sum[:])}, nil
}

// linked returns the current links, or the last valid ones and an error.
func (g *testMemory) linked() (*memory.Identities, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	data, err := os.ReadFile(filepath.Join(g.dir, filepath.FromSlash(memory.IdentitiesPath)))
	if err != nil {
		g.identities = nil
		return nil, nil
	}
	ids, err := memory.ParseIdentities(data)
	if err == nil {
		g.identities = ids
	}
	return g.identities, err
}

func (g *testMemory) Resolve(key string) string {
	ids, _ := g.linked()
	subject, _ := ids.Resolve(key)
	return subject
}

func (g *testMemory) Links() ([]memory.LinkedKey, error) {
	ids, err := g.linked()
	return ids.Links(), err
}

func (g *testMemory) Scope(subject string, context memory.Context) memory.Scope {
	s := memory.Scope{Subject: subject, Context: context}
	if !g.alone {
		ids, _ := g.linked()
		s.Aliases = ids.AliasesOf(subject)
	}
	return s
}

func (g *testMemory) View(s memory.Scope) (memory.View, error) {
	g.mu.RLock()
	docs := g.docs
	g.mu.RUnlock()
	if !g.isInitial {
		docs = g.current()
	}
	directories := memory.Directories{Owner: g.memory.Owner, Roots: g.memory.Layout.Roots}
	for _, doc := range docs {
		directories.Set(doc.Place, doc.Claim)
	}
	return directories.View(s)
}

// The remaining methods of [Indexer] are stubs; the daemon's tests cover the
// real ones.
func (g *testMemory) SyncRoots(context.Context, []string) error { return nil }

func (g *testMemory) State() api.IndexStatus {
	return api.IndexStatus{Revision: 1, Pending: g.pending}
}

func (g *testMemory) Report() api.Status { return api.Status{Index: g.State(), Healthy: true} }

func (g *testMemory) Rebuild(context.Context) error { return nil }

func (g *testMemory) Purge(context.Context) error { return nil }

func (g *testMemory) Check(context.Context, string) (*api.CheckAnswer, error) {
	return &api.CheckAnswer{Problems: []api.FileProblem{}, Conflicts: []api.ClaimConflict{}, Skipped: []api.Skipped{}, Differing: []api.Skipped{}}, nil
}

func (g *testMemory) Dismiss(string) error { return nil }

func (g *testMemory) Reindex(context.Context, []string) error { return nil }

func (g *testMemory) Subscribe(_ context.Context, f func(Change) error) error {
	return f(Change{Event: api.Event{Event: api.Listening}})
}

// changes returns the lines that were added and removed since its last call. Line endings
// other than a line feed are visible.
func (g *testMemory) changes(t testing.TB) string {
	t.Helper()
	is := g.files(t)
	var b strings.Builder
	b.WriteString(g.judge.received + g.used)
	g.judge.received, g.used = "", ""
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if was, ok := g.was[path]; !ok || was != is[path] {
			lines := diffLines(was, is[path])
			if front := addedFront.FindString(lines); was == "" && front != "" {
				lines = "  + " + strings.ReplaceAll(front[4:len(front)-1], "\n  + ", " | ") + "\n" + lines[len(front):]
			}
			fmt.Fprintf(&b, "%s:\n%s", path, lines)
		}
		delete(g.was, path)
	}
	for _, path := range slices.Sorted(maps.Keys(g.was)) {
		fmt.Fprintf(&b, "%s is removed\n", path)
	}
	g.was = is
	return b.String()
}

// addedFront matches the frontmatter of a new file, which changes joins to one line.
var addedFront = regexp.MustCompile(`^  \+ ---\n(  \+ .*\n)*?  \+ ---\n`)

// diffLines returns the lines in which two texts differ.
func diffLines(a, b string) string {
	var out strings.Builder
	for _, h := range diff.Hunks([]byte(a), []byte(b)) {
		for _, side := range []struct {
			sign string
			text []byte
		}{{"-", h.Old}, {"+", h.New}} {
			for line := range strings.Lines(string(side.text)) {
				quoted := strconv.Quote(strings.TrimSuffix(line, "\n"))
				fmt.Fprintf(&out, "  %s %s\n", side.sign, strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
			}
		}
	}
	return out.String()
}

// files returns the content of all files.
func (g *testMemory) files(t testing.TB) map[string]string {
	t.Helper()
	is := map[string]string{}
	g.eachFile(t, func(path string) { is[path] = g.read(t, path) })
	return is
}

// want checks the content of a file.
func (g *testMemory) want(t testing.TB, path, text string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(g.dir, path)); err != nil || string(data) != text {
		t.Errorf("%s is %q, %v; want %q", path, data, err, text)
	}
}

// read returns the content of a file, and write replaces it.
func (g *testMemory) read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, filepath.FromSlash(path)))
	checkError(t, err)
	return string(data)
}

func (g *testMemory) write(t testing.TB, path, text string) {
	t.Helper()
	name := filepath.Join(g.dir, filepath.FromSlash(path))
	checkError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	checkError(t, os.WriteFile(name, []byte(text), 0o600))
}

// newDisk returns a memory with some files.
func newDisk(t testing.TB, files map[string]string) *testMemory {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte("quiet: none\n")}
	for path, text := range files {
		archive.Files = append(archive.Files, txtar.File{Name: path, Data: []byte(text)})
	}
	return readOpsCase(t, archive).start(t)
}

// openArchive returns a memory with the settings and files of an archive.
func openArchive(t testing.TB, archive string) *testMemory {
	t.Helper()
	return readOpsCase(t, txtar.Parse([]byte(archive))).start(t)
}

// as returns a program of the owner that acts as a subject in a context, and guest a caller
// on a listener with a fixed scope.
func as(subject, context string) api.Caller {
	return api.Caller{Scope: api.Scope{Subject: &subject, Context: &context}, AsOwner: true}
}

func guest(listener, subject, context string) api.Caller {
	return api.Caller{Fixed: &api.Fixed{Name: listener, Subject: subject, Context: context}}
}

var owner = as("owner", "private")

// call returns a call with the current permissions of its caller.
func (g *testMemory) call(t testing.TB, by api.Caller) Call {
	t.Helper()
	c, err := g.memory.readOps().resolveCall(by)
	checkError(t, err)
	return c
}

// errOf returns the error of an operation.
func errOf[T any](_ T, err error) error { return err }

// do runs an operation.
func do[A, R any](t testing.TB, m *Memory, by api.Caller, r R) (*A, error) {
	t.Helper()
	answer, err := m.Do(t.Context(), by, api.RequestOf(r))
	a, _ := answer.(*A)
	return a, err
}

// send runs an encoded request, with the scope in it, and returns the encoded answer
// without durations.
func (g *testMemory) send(ctx context.Context, by api.Caller, op *api.Operation, request []byte) (string, error) {
	if by.Fixed != nil && !by.Fixed.Allows(op) {
		return "", api.Errorf(api.Forbidden, "%s is not served on this listener", op.Name)
	}
	req := op.NewRequest()
	if err := req.Decode(request); err != nil {
		return "", err
	}
	if err := req.Check(); err != nil {
		return "", err
	}
	by.Scope = req.Scope()
	var all strings.Builder
	add := func(part any) error {
		body, err := api.EncodeJSON(part)
		all.Write(opsTook.ReplaceAll(body, []byte(`"took_ms":0`)))
		return err
	}
	if op.Stream {
		run, err := g.memory.Stream(ctx, by, req)
		if err == nil {
			err = run(add)
		}
		return all.String(), err
	}
	answer, err := g.memory.Do(ctx, by, req)
	if err == nil {
		err = add(answer)
	}
	return all.String(), err
}
