package ops

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Each archive below testdata/writes contains a memory on disk, in the format
// of testdata/ops, and requests that run in order. After each request the
// archive contains the answer and the changed files as line diffs. In a
// request, $hash stands for the last hash in an answer, and $token for the last
// token.
//
// The setting quiet: none lets operations without a request write to files that
// changed a moment ago. The setting visibility is that of daily notes and
// sessions that set none themselves.
//
// TestWrites runs all requests on two disks: as functions, and over HTTP on a Unix
// socket.
func TestWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	names, err := filepath.Glob("testdata/writes/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			checkError(t, err)
			c := readOpsCase(t, archive)
			direct, wire := c.disk(t), c.disk(t)
			socket := serveOps(t, wire.memory)
			hash, token := "", ""
			for _, a := range c.requests {
				a.request = []byte(strings.NewReplacer("$hash", hash, "$token", token).Replace(string(a.request)))
				said, failure := a.direct(t.Context(), direct.memory)
				if failure != nil {
					said, err = api.EncodeJSON(api.Failure{Error: asError(failure)})
					checkError(t, err)
				}
				over := postOps(t, socket, a.op.Name, a.request)
				if diff := cmp.Diff(opsTook.ReplaceAllString(string(said), ""), opsTook.ReplaceAllString(string(over), "")); diff != "" {
					t.Errorf("%s: the function and HTTP differ (-function +HTTP):\n%s", a.name, diff)
				}
				answer := a.render(t, said, failure)
				if _, rest, ok := strings.Cut(answer, `"hash": "`); ok {
					hash = rest[:64]
				}
				if _, rest, ok := strings.Cut(answer, `"token": "`); ok {
					token = rest[:20]
				}
				changed := direct.changes(t)
				if diff := cmp.Diff(changed, wire.changes(t)); diff != "" {
					t.Errorf("%s: the files differ (-function +HTTP):\n%s", a.name, diff)
				}
				answer += changed
				if *updateOps {
					archive.Files[a.at+1].Data = []byte(answer)
				} else if diff := cmp.Diff(string(archive.Files[a.at+1].Data), answer); diff != "" {
					t.Errorf("%s (-want +got):\n%s", a.name, diff)
				}
			}
			if *updateOps {
				checkError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
			}
		})
	}
}

// A diskCase is the memory of a case on its own disk.
type diskCase struct {
	*opsRoot
	dir    string
	alone  bool // aliases are not read
	vault  *vault.Vault
	parse  func(vault.File) *memory.Document
	memory *Memory
	was    map[string]string // the files at the last call of changes

	texts   sync.Map   // readFile by path
	parsed  sync.Map   // *memory.Document by path
	reading sync.Mutex // guards the links against concurrent requests
}

func (c *opsCase) disk(t testing.TB) *diskCase {
	t.Helper()
	m := c.memory(t)
	d := &diskCase{opsRoot: m.Files.(*opsRoot), dir: t.TempDir(), alone: c.settings["read"] == "canonical", memory: m, was: map[string]string{}}
	for _, f := range c.files {
		path := filepath.Join(d.dir, filepath.FromSlash(f.Name))
		checkError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checkError(t, os.WriteFile(path, f.Data, 0o600))
	}
	days := memory.ParseVisibility(c.settings["visibility"])
	layout := &memory.Layout{Location: m.Location, Users: d.user, Mask: secrets.Mask, Daily: days, Sessions: days}
	now := m.Now()
	d.parse = func(f vault.File) *memory.Document {
		return layout.Parse(f.Path, f.Data, memory.Meta{ModTime: now.AddDate(0, 0, -1), Unstable: f.Unstable})
	}
	d.vault = &vault.Vault{Dir: d.dir, Skip: layout.Skip}
	journal, err := journal.Open(filepath.Join(t.TempDir(), "journal"), time.Hour)
	checkError(t, err)
	w := &vault.Writer{Vault: d.vault, Journal: journal, Settings: []string{memory.IdentitiesPath}, Logger: slog.New(slog.DiscardHandler)}
	w.Quiet = time.Hour // on slow machines too, the files count as recently written
	if c.settings["quiet"] == "none" {
		w.Quiet = -1
	}
	checkError(t, w.Repair(t.Context()))
	// As in the daemon, a goroutine rechecks replaced files.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	m.Files, m.Scopes, m.Parse, m.Layout, m.Writer, m.Disabled = d, d, d.parse, layout, w, c.settings["enabled"] == "false"
	m.Todos = &todosync.Syncer{
		Files: d, Writer: w, Parse: d.parse, List: d.listed, State: filepath.Join(t.TempDir(), "todosync.json"),
		Logger: slog.New(slog.DiscardHandler), Now: m.Now, Location: m.Location,
		Subject: func(owner string) string { return owner },
	}
	checkError(t, m.Todos.Start(t.Context()))
	d.changes(t)
	return d
}

// listed returns all files, without any recorded state.
func (d *diskCase) listed() []todosync.Listed {
	var list []todosync.Listed
	for _, path := range d.paths {
		if doc := d.docs[path]; doc != nil { // not the links
			list = append(list, todosync.Listed{Path: path, Day: doc.Place.Day})
		}
	}
	return list
}

// Load implements [Files]. It does not parse an unchanged file again.
func (d *diskCase) Load(path string) (*memory.Document, error) {
	if last, ok := d.parsed.Load(path); ok {
		doc := last.(*memory.Document)
		if text, err := d.readFile(path); err == nil && text == string(doc.Source) {
			return doc, nil
		}
	}
	file, err := d.vault.Read(path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	doc := d.parse(file)
	if !file.Unstable {
		d.parsed.Store(path, doc)
	}
	return doc, nil
}

type readFile struct {
	inode   uint64
	changed unix.Timespec
	text    string
}

// settled is the time after which a further change gives a file another time of change.
const settled = 20 * time.Millisecond

// readFile returns the content of a file. It does not read an unchanged file again.
func (d *diskCase) readFile(path string) (string, error) {
	name := filepath.Join(d.dir, filepath.FromSlash(path))
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return "", err
	}
	if last, ok := d.texts.Load(path); ok && last.(readFile).inode == st.Ino && last.(readFile).changed == st.Ctim {
		return last.(readFile).text, nil
	}
	data, err := os.ReadFile(name)
	if err == nil && time.Since(time.Unix(st.Ctim.Unix())) > settled {
		d.texts.Store(path, readFile{st.Ino, st.Ctim, string(data)})
	}
	return string(data), err
}

// Resolve, Scope, Links and View implement [Scopes] from the current files.
func (d *diskCase) Resolve(key string) string {
	ids, _ := d.linked()
	subject, _ := ids.Resolve(key)
	return subject
}

func (d *diskCase) Links() ([]memory.LinkedKey, error) {
	ids, err := d.linked()
	return ids.Links(), err
}

func (d *diskCase) Scope(subject string, context memory.Context) memory.Scope {
	s := memory.Scope{Subject: subject, Context: context}
	if !d.alone {
		ids, _ := d.linked()
		s.Aliases = ids.AliasesOf(subject)
	}
	return s
}

// linked returns the current links, or the last valid ones and an error.
func (d *diskCase) linked() (*memory.Identities, error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(memory.IdentitiesPath)))
	if err != nil {
		d.identities = nil
		return nil, nil
	}
	ids, err := memory.ParseIdentities(data)
	if err == nil {
		d.identities = ids
	}
	return d.identities, err
}

func (d *diskCase) View(s memory.Scope) (memory.View, error) {
	var directories memory.Directories
	filepath.WalkDir(d.dir, func(path string, _ fs.DirEntry, _ error) error {
		name, _ := filepath.Rel(d.dir, path)
		if doc, err := d.Load(filepath.ToSlash(name)); err == nil {
			directories.Set(doc.Place, doc.Claim)
		}
		return nil
	})
	return directories.View(s)
}

// changes returns the lines that were added and removed since its last call,
// without those of temporary files. Line endings other than a line feed are
// visible.
func (d *diskCase) changes(t testing.TB) string {
	t.Helper()
	is := map[string]string{}
	var b strings.Builder
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".memwatchd-") {
			return err
		}
		name, _ := filepath.Rel(d.dir, path)
		data, err := os.ReadFile(path)
		is[name] = string(data)
		if was, ok := d.was[name]; !ok || was != string(data) {
			fmt.Fprintf(&b, "%s:\n%s", name, diffLines(was, string(data)))
		}
		return err
	})
	checkError(t, err)
	d.was = is
	return b.String()
}

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

// TestWriteBusy checks that an edit of a file that others keep saving returns
// Busy and loses none of their changes.
func TestWriteBusy(t *testing.T) {
	c := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: "MEMORY.md", Data: []byte("- a\n")}}})
	d := c.disk(t)
	parse, n := d.memory.Parse, 0
	d.memory.Parse = func(f vault.File) *memory.Document {
		n++ // simulates a save between read and write
		if err := os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), fmt.Appendf(nil, "- a %d\n", n), 0o600); err != nil {
			t.Error(err)
		}
		return parse(f)
	}
	call := d.callAs(t, "owner", "private")
	_, err := d.memory.adminOps().edit(context.Background(), call, &api.EditRequest{Path: "MEMORY.md", OldText: "- a", NewText: "- b"})
	if got := asError(err).Code; got != api.Busy {
		t.Errorf("the error is %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(d.dir, "MEMORY.md")); err != nil || string(data) != fmt.Sprintf("- a %d\n", n) {
		t.Errorf("the file is %q, %v: a save is lost", data, err)
	}
}

// TestPartialFile checks that a caller cannot change a file of which it can read only a
// part, also its own text, and that the errors do not depend on the rest.
func TestPartialFile(t *testing.T) {
	const path, own = "2026-02-04/cli.md", "- [ ] buy milk <!-- written_by=acct:42 -->\n"
	const front = "---\nwritten_by: acct:42\n---\n"
	for _, test := range []struct {
		hidden string
		code   api.Code
	}{
		{"", ""}, {"- secret <!-- visibility=private_only -->\n", api.Forbidden}, {"\n<private>\n\n- milk\n- tea\n\n</private>\n", api.Forbidden},
	} {
		d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(front + own + test.hidden)}}}).disk(t)
		c := d.callAs(t, "acct:42", "private")
		known, err := d.memory.readOps().get(t.Context(), c, &api.GetRequest{Path: path, From: 1})
		checkError(t, err)
		m := d.memory.adminOps()
		for name, err := range map[string]error{
			"edit":  second(m.edit(t.Context(), c, &api.EditRequest{Path: path, OldText: "buy milk", NewText: "buy tea"})),
			"write": second(m.write(t.Context(), c, &api.WriteRequest{Path: path, Text: front + "- x <!-- written_by=acct:42 -->\n", Hash: known.Hash})),
			"todo":  second(m.todo(t.Context(), c, &api.TodoRequest{Text: "buy milk", State: "done"})),
		} {
			e := asError(err)
			switch {
			case test.code == "" && (err == nil || name != "edit"): // the others find that the file has changed
			case e == nil || e.Code != test.code:
				t.Errorf("%s beside %q: %v", name, test.hidden, err)
			}
		}
		if test.code != "" {
			d.want(t, path, front+own+test.hidden)
		}
	}
}

// read returns the content of a file.
func (d *diskCase) read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(path)))
	checkError(t, err)
	return string(data)
}
