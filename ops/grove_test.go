package ops

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"log/slog"
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

// A leaf is a file that knows who may read which of its blocks: because it was
// written so, not because anything was parsed. So it can be written as well as if
// what somebody may not read had never been there.
type leaf struct {
	path   string
	kind   memory.Kind
	owner  string   // subject; empty: public text is everybody's, private text the root owner's
	shut   bool     // the file itself is private: its frontmatter
	front  []string // lines of its frontmatter
	blocks []block
	loose  bool // with blank lines between items

	// routing are lines of its frontmatter that say whose it is, and how private:
	// without them other text would change hands. They are there if any text is.
	routing []string
}

// A block is a heading, or an entry.
type block struct {
	text    string
	heading bool
	private bool
}

// A reader is somebody who reads.
type reader struct {
	subjects []string
	private  bool // in a private context
}

// reads is the rule of who may read what, as it is promised:
//
//	readable = (no subject, or one of mine) and (public, or in a private context)
//
// where private text without a subject is the root owner's.
func (r *reader) reads(owner string, private bool) bool {
	if private && owner == "" {
		owner = "owner"
	}
	return (owner == "" || slices.Contains(r.subjects, owner)) && (!private || r.private)
}

// render is the file as it is, or, for a reader, as if the rest did not exist. It
// is false if there is no file then.
func (l *leaf) render(r *reader) (string, bool) {
	may := func(private bool) bool { return r == nil || r.reads(l.owner, private) }
	var parts []string
	front := slices.Clone(l.routing)
	if may(l.shut) {
		front = append(front, l.front...)
	}
	var headings []string // that nothing is below of, so far
	item := false
	for _, b := range l.blocks {
		switch {
		case b.heading && strings.HasPrefix(b.text, "## ") && len(headings) > 0 && strings.HasPrefix(headings[0], "# "):
			headings = append(headings[:1:1], b.text)
		case b.heading:
			headings = []string{b.text}
		case may(b.private):
			for _, heading := range headings {
				parts, item = append(parts, heading+"\n"), false
			}
			headings = nil
			if is := strings.HasPrefix(b.text, "- "); is && item && !l.loose {
				parts[len(parts)-1] += b.text + "\n"
			} else {
				parts, item = append(parts, b.text+"\n"), is
			}
		}
	}
	if len(parts) == 0 && !(may(l.shut) && len(front) > 0) {
		return "", false
	}
	if len(front) > 0 {
		parts = slices.Insert(parts, 0, "---\n"+strings.Join(front, "\n")+"\n---\n")
	}
	return strings.Join(parts, "\n"), true
}

// ours are the links of every grove, and users the directories that are users'.
const ours = "links:\n  telegram:1: acct:42\n"

var users = []string{"acct_42", "ext_telegram_1", "bob"}

// A grove is a memory on a disk, with an index that is kept in step with it.
type grove struct {
	*diskCase
	index *index.Index
	docs  map[string]*memory.Document // as they are indexed
	base  map[string]string           // the files as they were at first
	still bool                        // they are, and all of that is indexed

	running sync.WaitGroup // writers
	retire  func()         // the last one
}

// plant makes a memory of leaves, as it is or as if what a reader may not read did
// not exist.
func plant(t testing.TB, leaves []*leaf, r *reader) *grove {
	t.Helper()
	c := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n")})
	g := &grove{diskCase: c.disk(t), docs: map[string]*memory.Document{}, base: map[string]string{memory.IdentitiesPath: ours}}
	for _, l := range leaves {
		if text, ok := l.render(r); ok {
			g.base[l.path] = text
		}
	}
	// That a directory is there is told by where new files go: it is no text.
	if err := os.MkdirAll(filepath.Join(g.dir, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(t.TempDir(), index.Options{Source: g, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	g.index = x
	m := g.memory
	m.Layout.Users = func(dir string) bool { return slices.Contains(users, dir) }
	m.Index, m.Files, m.Scopes, m.Keeper = x, g, g, g
	m.Compactor.Files, m.Compactor.Disk, m.Compactor.Parse = g, g.vault, g.parse
	m.Compress = &compactor.Compress{
		Files: g, Disk: g.vault, Writer: m.Writer, Parse: g.parse, Paths: m.Compactor.Paths, Layout: m.Layout, Now: m.Now,
	}
	t.Cleanup(func() {
		g.retire()
		g.running.Wait()
	})
	g.restore(t)
	if err := x.Confirm(x.Status().Epoch); err != nil {
		t.Fatal(err)
	}
	return g
}

// hire has somebody new write, who does not wait until what another has replaced a
// moment ago has been looked at once more.
func (g *grove) hire(t testing.TB) {
	t.Helper()
	m := g.memory
	if g.retire != nil {
		g.retire()
	}
	w := &vault.Writer{Vault: g.vault, Journal: m.Writer.Journal, Settings: m.Writer.Settings, Quiet: -1, Logger: m.Writer.Logger}
	m.Writer, m.Compactor.Writer, m.Todos.Writer = w, w, w
	m.Undoer = &vault.Undoer{Vault: g.vault, Journal: w.Journal, Writer: w}
	ctx, stop := context.WithCancel(context.Background())
	g.retire = stop
	g.running.Go(func() { w.Run(ctx) })
}

// restore makes the files what they were at first.
func (g *grove) restore(t testing.TB) {
	t.Helper()
	g.still = false
	g.hire(t)
	for path := range g.files(t) {
		if _, ok := g.base[path]; !ok {
			if err := os.Remove(filepath.Join(g.dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, text := range g.base {
		name := filepath.Join(g.dir, filepath.FromSlash(path))
		if data, err := os.ReadFile(name); err == nil && string(data) == text {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Nobody has seen any task done.
	m := g.memory
	if err := os.RemoveAll(m.Todos.State); err != nil {
		t.Fatal(err)
	}
	m.Todos = &todosync.Syncer{
		Files: g, Writer: m.Writer, Parse: g.parse, List: g.listed, State: m.Todos.State, Logger: m.Todos.Logger, Now: m.Now, Location: m.Location,
	}
	if err := m.Todos.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.still = true
}

// files are all files as they are now, without temporary ones.
func (g *grove) files(t testing.TB) map[string]string {
	t.Helper()
	is := map[string]string{}
	err := filepath.WalkDir(g.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".memwatchd-") {
			return err
		}
		name, _ := filepath.Rel(g.dir, path)
		data, err := os.ReadFile(path)
		is[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// Sync implements [Keeper]: it has everything indexed that is on the disk.
func (g *grove) Sync(ctx context.Context) error {
	if g.still {
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
			return nil // no memory
		}
		if there[name] = true; doc != g.docs[name] {
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
		if g.paths = append(g.paths, path); !there[path] {
			updates = append(updates, index.Update{Path: path})
			delete(g.docs, path)
		}
	}
	slices.Sort(g.paths)
	slices.SortFunc(updates, func(a, b index.Update) int { return strings.Compare(a.Path, b.Path) })
	g.opsRoot.docs = g.docs
	return g.index.Apply(ctx, updates)
}

// Load implements [Files]. A file that has not changed is not parsed again.
func (g *grove) Load(path string) (*memory.Document, error) {
	if doc := g.docs[path]; doc != nil && g.still {
		return doc, nil
	}
	file, err := g.vault.Read(path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if doc := g.docs[path]; doc != nil && string(doc.Source) == string(file.Data) {
		return doc, nil
	}
	return g.parse(file), nil
}

// Stamp implements [index.Source]: it tells texts apart.
func (g *grove) Stamp(path string) (memory.Stamp, error) {
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
func (g *grove) View(s memory.Scope) (memory.View, error) {
	var directories memory.Directories
	for path := range g.docs {
		if doc, err := g.Load(path); err == nil {
			directories.Set(doc.Place, doc.Claim)
		}
	}
	return directories.View(s)
}

// Scope implements [Scopes], by the links as they are now.
func (g *grove) Scope(subject string, context memory.Context) memory.Scope {
	return g.diskCase.Scope(subject, context)
}

// Check and Rebuild implement [Keeper]: there is nothing wrong.
func (g *grove) Check(context.Context, string) (*api.CheckAnswer, error) {
	return &api.CheckAnswer{Problems: []api.FileProblem{}, Conflicts: []api.Contest{}, Skipped: []api.Skipped{}, Differing: []api.Skipped{}}, nil
}

func (g *grove) Rebuild(context.Context) error { return nil }

// Subscribe implements [Keeper]: nothing happens.
func (g *grove) Subscribe(_ context.Context, f func(Change) error) error {
	return f(Change{Event: api.Event{Event: api.Listening}})
}

// ask asks for an operation, on a listener with a fixed scope or without one, and
// returns the answer as it goes over the wire without what it took, or the error.
func (g *grove) ask(t testing.TB, fixed *api.Fixed, op *api.Operation, request string) (answer string, failure *api.Error) {
	t.Helper()
	g.still = g.still && op.ReadOnly
	answer, err := g.asked(t.Context(), fixed, op, request)
	if err != nil {
		failure = asError(err)
		body, err := api.Encode(api.Failure{Error: failure})
		if err != nil {
			t.Fatal(err)
		}
		answer = string(body)
	}
	return opsTook.ReplaceAllString(answer, `"took_ms":0`), failure
}

func (g *grove) asked(ctx context.Context, fixed *api.Fixed, op *api.Operation, request string) (string, error) {
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
			body, err := api.Encode(part)
			all.Write(body)
			return err
		})
		return all.String(), err
	}
	got, err := g.memory.Do(ctx, by, req)
	if err != nil {
		return "", err
	}
	body, err := api.Encode(got)
	return string(body), err
}

// readable is what a reader may read of all files: by the rule, of whoever owns
// them, and as they are shown.
func (g *grove) readable(t testing.TB, s memory.Scope) map[string]string {
	t.Helper()
	v, err := g.View(g.Scope(s.Subject, s.Context))
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for path := range g.files(t) {
		if doc, err := g.Load(path); err == nil {
			if doc = doc.For(v); doc != nil {
				is[path] = strings.Join(doc.Shown(v).Lines, "\n")
			}
		}
	}
	return is
}

// lost is the first text of a leaf that a reader may not read, and that is not
// where it was among the others in what the files say now. Boxes may be ticked: a
// task that is done is done in all its copies, whoever may read them.
func lost(leaves []*leaf, r *reader, is map[string]string) string {
	for _, l := range leaves {
		text := unticked.Replace(is[l.path])
		if !r.reads(l.owner, l.shut) {
			for _, line := range l.front {
				at := strings.Index(text, line+"\n")
				if at < 0 {
					return l.path + ": " + line
				}
				text = text[at:]
			}
		}
		for _, b := range l.blocks {
			if b.heading || r.reads(l.owner, b.private) {
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
