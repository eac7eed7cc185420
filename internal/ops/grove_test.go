package ops

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// A testFile is a test file with the readers of each of its blocks. The readers are
// part of the test data and not a result of parsing, so the file can also be
// rendered without the blocks that a reader may not read.
type testFile struct {
	path       string
	kind       memory.Kind
	owner      string   // subject; if empty, public text is readable by all and private text belongs to the root owner
	isPrivate  bool     // the file itself, with its frontmatter, is private
	front      []string // lines of its frontmatter
	blocks     []block
	blankLines bool // with blank lines between items

	// routing holds the frontmatter lines that set owner and privacy. Without
	// them other text would change hands, so they are present whenever any text
	// is.
	routing []string
}

// A block is a heading or an entry.
type block struct {
	text    string
	heading bool
	private bool
}

// A readAccess holds the permissions of a caller.
type readAccess struct {
	subjects []string
	private  bool // in a private context
}

// canRead implements the documented rule of who may read an entry:
//
//	readable = (no subject, or one of mine) and (public, or in a private context)
//
// Private text without a subject belongs to the root owner.
func (r *readAccess) canRead(owner string, private bool) bool {
	if private && owner == "" {
		owner = "owner"
	}
	return (owner == "" || slices.Contains(r.subjects, owner)) && (!private || r.private)
}

// otherText is what a file has in place of all its unreadable text.
const otherText = "- zqother <!-- visibility=private_only -->"

// render returns the file, or with a reader the file without unreadable blocks. With
// other, it has another text in place of these. It returns false if nothing of the file
// remains.
func (l *testFile) render(r *readAccess, other bool) (string, bool) {
	hidden := r != nil && other && len(l.front) > 0 && !r.canRead(l.owner, l.isPrivate)
	may := func(private bool) bool { return r == nil || r.canRead(l.owner, private) }
	var parts []string
	front := slices.Clone(l.routing)
	if may(l.isPrivate) {
		front = append(front, l.front...)
	}
	var headings []string // headings without content so far
	item := false
	for _, b := range l.blocks {
		switch {
		case b.heading && strings.HasPrefix(b.text, "## ") && len(headings) > 0 && strings.HasPrefix(headings[0], "# "):
			headings = append(headings[:1:1], b.text)
		case b.heading:
			headings = []string{b.text}
		case !may(b.private):
			hidden = hidden || other
		default:
			for _, heading := range headings {
				parts, item = append(parts, heading+"\n"), false
			}
			headings = nil
			if is := strings.HasPrefix(b.text, "- "); is && item && !l.blankLines {
				parts[len(parts)-1] += b.text + "\n"
			} else {
				parts, item = append(parts, b.text+"\n"), is
			}
		}
	}
	if hidden {
		parts = append(parts, otherText+"\n")
	}
	if len(parts) == 0 && !(may(l.isPrivate) && len(front) > 0) {
		return "", false
	}
	if len(front) > 0 {
		parts = slices.Insert(parts, 0, "---\n"+strings.Join(front, "\n")+"\n---\n")
	}
	return strings.Join(parts, "\n"), true
}

// testLinks holds the links of every test memory; users lists the user directories.
const testLinks = "links:\n  telegram:1: acct:42\n"

var users = []string{"acct_42", "ext_telegram_1", "bob"}

// A testMemory is a memory on disk with an index that is kept current.
type testMemory struct {
	*diskCase
	index     *index.Index
	docs      map[string]*memory.Document // as indexed
	vectors   *testVectors
	base      map[string]string // initial content of the files
	isInitial bool              // files are in their initial state and indexed

	running    sync.WaitGroup // writers
	stopWriter func()         // stops the last writer
}

// newTestMemory creates a memory of leaves, complete or without the text that a reader
// may not read.
func newTestMemory(t testing.TB, leaves []*testFile, r *readAccess) *testMemory {
	t.Helper()
	return newOtherMemory(t, leaves, r, false)
}

// newOtherMemory is newTestMemory; with other, the files have other unreadable text.
func newOtherMemory(t testing.TB, leaves []*testFile, r *readAccess, other bool) *testMemory {
	t.Helper()
	c := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n")})
	g := &testMemory{diskCase: c.disk(t), docs: map[string]*memory.Document{}, vectors: newTestVectors(), base: map[string]string{memory.IdentitiesPath: testLinks}}
	for _, l := range leaves {
		if text, ok := l.render(r, other); ok {
			g.base[l.path] = text
		}
	}
	// The directory always exists, because its presence determines where new
	// files go.
	checkError(t, os.MkdirAll(filepath.Join(g.dir, "memory"), 0o700))
	x, err := index.Open(t.TempDir(), index.Options{Source: g, Texts: true, Logger: slog.New(slog.DiscardHandler)})
	checkError(t, err)
	t.Cleanup(func() { x.Close() })
	g.index = x
	m := g.memory
	m.Layout.Users = func(dir string) bool { return slices.Contains(users, dir) }
	m.Index, m.Files, m.Scopes, m.Indexer, m.Vectors = x, g, g, g, g.vectors
	m.Publisher = idlePublisher{}
	m.Compactor.Files, m.Compactor.Disk, m.Compactor.Parse = g, g.vault, g.parse
	m.Compress = &compactor.Compress{Root: compactor.Root{
		Files: g, Disk: g.vault, Writer: m.Writer, Parse: g.parse, Paths: m.Compactor.Paths, Layout: m.Layout, Now: m.Now,
	}}
	t.Cleanup(func() {
		g.stopWriter()
		g.running.Wait()
	})
	g.restore(t)
	checkError(t, x.Confirm(x.Status().Epoch))
	return g
}

// startWriter starts a new writer. A new writer does not wait for the recheck of files
// that another one has just replaced.
func (g *testMemory) startWriter(t testing.TB) {
	t.Helper()
	m := g.memory
	if g.stopWriter != nil {
		g.stopWriter()
	}
	w := &vault.Writer{Vault: g.vault, Journal: m.Writer.Journal, Settings: m.Writer.Settings, Quiet: -1, Logger: m.Writer.Logger}
	m.Writer, m.Compactor.Writer, m.Todos.Writer = w, w, w
	m.Undoer, m.Merger = &vault.Undoer{Writer: w}, &vault.Merger{Writer: w, Layout: m.Layout}
	ctx, stop := context.WithCancel(context.Background())
	g.stopWriter = stop
	g.running.Go(func() { w.Run(ctx) })
}

// restore resets the files to their initial content.
func (g *testMemory) restore(t testing.TB) {
	t.Helper()
	files := g.files(t)
	if maps.Equal(files, g.base) && g.isIndexed(g.base) {
		g.isInitial = true
		return
	}
	g.isInitial = false
	g.startWriter(t)
	for path := range files {
		if _, ok := g.base[path]; !ok {
			checkError(t, os.Remove(filepath.Join(g.dir, path)))
		}
	}
	for path, text := range g.base {
		name := filepath.Join(g.dir, filepath.FromSlash(path))
		if is, ok := files[path]; ok && is == text {
			continue
		}
		checkError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		checkError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	checkError(t, g.Sync(t.Context()))
	// Todosync must not remember completed tasks.
	m := g.memory
	checkError(t, os.RemoveAll(m.Todos.State))
	m.Todos = &todosync.Syncer{
		Files: g, Writer: m.Writer, Parse: g.parse, List: g.listed, State: m.Todos.State, Logger: m.Todos.Logger, Now: m.Now, Location: m.Location,
		Subject: m.Todos.Subject,
	}
	checkError(t, m.Todos.Start(t.Context()))
	g.isInitial = true
}

// isIndexed reports whether the index contains exactly the memory files of files.
func (g *testMemory) isIndexed(files map[string]string) bool {
	indexed := 0
	for path, text := range files {
		if g.memory.Layout.Skip(path) != "" {
			continue
		}
		if doc := g.docs[path]; doc == nil || string(doc.Source) != text {
			return false
		}
		indexed++
	}
	return indexed == len(g.docs)
}

// eachFile calls f with the path of each regular file except temporary ones.
func (d *diskCase) eachFile(t testing.TB, f func(path string)) {
	t.Helper()
	checkError(t, filepath.WalkDir(d.dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".memwatchd-") {
			path, _ := filepath.Rel(d.dir, name)
			f(filepath.ToSlash(path))
		}
		return err
	}))
}

// files returns all current files.
func (g *testMemory) files(t testing.TB) map[string]string {
	t.Helper()
	is := map[string]string{}
	g.eachFile(t, func(path string) { is[path] = g.read(t, path) })
	return is
}

// Sync implements [Indexer]. It indexes all files on disk.
func (g *testMemory) Sync(ctx context.Context) error {
	if g.isInitial {
		return nil
	}
	var updates []index.Update
	there := map[string]bool{}
	err := filepath.WalkDir(g.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(g.dir, path)
		name = filepath.ToSlash(name)
		doc, err := g.Load(name)
		if err != nil || g.memory.Layout.Skip(name) != "" {
			return nil // not a memory file
		}
		there[name] = true
		if doc != g.docs[name] {
			g.docs[name] = doc
			stamp, _ := g.Stamp(name)
			updates = append(updates, index.Update{Path: name, Doc: doc, Stamp: stamp, Hash: sha256.Sum256(doc.Source)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.paths = g.paths[:0]
	for path := range g.docs {
		g.paths = append(g.paths, path)
		if !there[path] {
			updates = append(updates, index.Update{Path: path})
			delete(g.docs, path)
		}
	}
	slices.Sort(g.paths)
	slices.SortFunc(updates, func(a, b index.Update) int { return strings.Compare(a.Path, b.Path) })
	g.opsRoot.docs = g.docs
	g.vectors.update(g.docs)
	return g.index.Apply(ctx, updates)
}

// Load implements [Files].
func (g *testMemory) Load(path string) (*memory.Document, error) {
	if doc := g.docs[path]; doc != nil && g.isInitial {
		return doc, nil
	}
	return g.diskCase.Load(path)
}

// Stamp derives the stamp of a file from its text.
func (g *testMemory) Stamp(path string) (memory.Stamp, error) {
	doc, err := g.Load(path)
	if err != nil {
		return memory.Stamp{}, err
	}
	sum := sha256.Sum256(doc.Source)
	var n int64
	for _, b := range sum[:7] {
		n = n<<8 | int64(b)
	}
	return memory.Stamp{Size: int64(len(doc.Source)), MTime: n}, nil
}

// View implements [Scopes].
func (g *testMemory) View(s memory.Scope) (memory.View, error) {
	var directories memory.Directories
	for path := range g.docs {
		if doc, err := g.Load(path); err == nil {
			directories.Set(doc.Place, doc.Claim)
		}
	}
	return directories.View(s)
}

// runRequest runs an operation, on a listener with or without a fixed scope. It
// returns the encoded answer without durations, or the error.
func (g *testMemory) runRequest(t testing.TB, fixed *api.Fixed, op *api.Operation, request string) (answer string, failure *api.Error) {
	t.Helper()
	g.isInitial = g.isInitial && op.ReadOnly
	answer, err := g.tryRequest(t.Context(), fixed, op, request)
	if err != nil {
		failure = asError(err)
		body, err := api.EncodeJSON(api.Failure{Error: failure})
		checkError(t, err)
		answer = string(body)
	}
	return opsTook.ReplaceAllString(answer, `"took_ms":0`), failure
}

func (g *testMemory) tryRequest(ctx context.Context, fixed *api.Fixed, op *api.Operation, request string) (string, error) {
	if fixed != nil && !fixed.Allows(op) {
		return "", api.Errorf(api.Forbidden, "%s is not served on this listener", op.Name)
	}
	req := op.NewRequest()
	if err := req.Decode([]byte(request)); err != nil {
		return "", err
	}
	if err := req.Check(); err != nil {
		return "", err
	}
	by := api.Caller{Scope: req.Scope(), Fixed: fixed}
	if op.Stream {
		run, err := g.memory.Stream(ctx, by, req)
		if err != nil {
			return "", err
		}
		var all strings.Builder
		err = run(func(part any) error {
			body, err := api.EncodeJSON(part)
			all.Write(body)
			return err
		})
		return all.String(), err
	}
	got, err := g.memory.Do(ctx, by, req)
	if err != nil {
		return "", err
	}
	body, err := api.EncodeJSON(got)
	return string(body), err
}

// readable returns the shown text of all files for a scope.
func (g *testMemory) readable(t testing.TB, s memory.Scope) map[string]string {
	t.Helper()
	v, err := g.View(g.Scope(s.Subject, s.Context))
	checkError(t, err)
	is := map[string]string{}
	g.eachFile(t, func(path string) {
		if doc, err := g.Load(path); err == nil && doc.For(v) != nil {
			is[path] = strings.Join(doc.For(v).Shown(v).Lines, "\n")
		}
	})
	return is
}

// firstMissing returns the first text of the leaves that the reader may not read and
// that is missing from the files or out of order. It ignores the state of
// boxes, because completing a task ticks all copies, including unreadable ones.
func firstMissing(leaves []*testFile, r *readAccess, is map[string]string) string {
	for _, l := range leaves {
		text := unticked.Replace(is[l.path])
		if !r.canRead(l.owner, l.isPrivate) {
			for _, line := range l.front {
				at := strings.Index(text, line+"\n")
				if at < 0 {
					return l.path + ": " + line
				}
				text = text[at:]
			}
		}
		for _, b := range l.blocks {
			if b.heading || r.canRead(l.owner, b.private) {
				continue
			}
			want := unticked.Replace(b.text)
			at := strings.Index(text, want+"\n")
			if at < 0 {
				return l.path + ": " + b.text
			}
			text = text[at+len(want):]
		}
	}
	return ""
}

var unticked = strings.NewReplacer("[x]", "[ ]")

func encodeRequest(t *testing.T, request fields) string {
	t.Helper()
	text, err := json.Marshal(request)
	checkError(t, err)
	return string(text)
}
