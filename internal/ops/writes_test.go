package ops

import (
	"bytes"
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

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A diskCase is the memory of a case on its own disk.
type diskCase struct {
	*opsRoot
	dir    string
	alone  bool // aliases are not read
	vault  *vault.Vault
	parse  func(vault.File) *memory.Document
	memory *Memory
	was    map[string]string // the files at the last call of changes

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
	layout, now := m.Layout, m.Now()
	d.parse = func(f vault.File) *memory.Document {
		return layout.Parse(f.Path, f.Data, memory.Meta{ModTime: now.AddDate(0, 0, -1), Unstable: f.Unstable})
	}
	d.vault = &vault.Vault{Dir: d.dir, Skip: layout.Skip}
	journal, err := journal.Open(filepath.Join(t.TempDir(), "journal"), time.Hour)
	checkError(t, err)
	journal.Now = d.memory.Now // two memories with the same changes have the same ids
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
	m.Files, m.Scopes, m.Parse, m.Writer = d, d, d.parse, w
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
		if text, err := os.ReadFile(filepath.Join(d.dir, path)); err == nil && bytes.Equal(text, doc.Source) {
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

// changes returns the lines that were added and removed since its last call. Line endings
// other than a line feed are visible.
func (d *diskCase) changes(t testing.TB) string {
	t.Helper()
	is := map[string]string{}
	var b strings.Builder
	d.eachFile(t, func(path string) {
		is[path] = d.read(t, path)
		if was, ok := d.was[path]; !ok || was != is[path] {
			fmt.Fprintf(&b, "%s:\n%s", path, diffLines(was, is[path]))
		}
	})
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
	d := newDisk(t, map[string]string{"MEMORY.md": "- a\n"})
	parse, saved := d.memory.Parse, "- a"
	d.memory.Parse = func(f vault.File) *memory.Document {
		saved += " more" // simulates a save between read and write
		checkError(t, os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), []byte(saved), 0o600))
		return parse(f)
	}
	_, err := do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: "- a", NewText: "- b"})
	if got := asError(err).Code; got != api.Busy {
		t.Errorf("the error is %v", err)
	}
	d.want(t, "MEMORY.md", saved)
}

// TestPartialFile checks that a caller cannot change a file of which it can read only a
// part, also its own text, and that the errors do not depend on the rest.
func TestPartialFile(t *testing.T) {
	const path, own = "2026-02-04/cli.md", "- [ ] buy milk <!-- written_by=acct:42 -->\n"
	const front = "---\nwritten_by: acct:42\n---\n"
	by := as("acct:42", "private")
	for _, hidden := range []string{"", "- secret <!-- visibility=private_only -->\n", "\n<private>\n\n- milk\n- tea\n\n</private>\n"} {
		d := newDisk(t, map[string]string{path: front + own + hidden})
		known, err := do[api.GetAnswer](t, d.memory, by, api.GetRequest{Path: path, From: 1})
		checkError(t, err)
		for name, err := range map[string]error{
			"edit":  errOf(do[api.EditAnswer](t, d.memory, by, api.EditRequest{Path: path, OldText: "buy milk", NewText: "buy tea"})),
			"write": errOf(do[api.EditAnswer](t, d.memory, by, api.WriteRequest{Path: path, Text: front + "- x <!-- written_by=acct:42 -->\n", Hash: known.Hash})),
			"todo":  errOf(do[api.TodoAnswer](t, d.memory, by, api.TodoRequest{Text: "buy milk", State: "done"})),
		} {
			switch {
			case hidden == "" && (err == nil || name != "edit"): // the others find that the file has changed
			case err == nil || asError(err).Code != api.Forbidden:
				t.Errorf("%s beside %q: %v", name, hidden, err)
			}
		}
		if hidden != "" {
			d.want(t, path, front+own+hidden)
		}
	}
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
func (d *diskCase) call(t testing.TB, by api.Caller) Call {
	t.Helper()
	c, err := d.memory.readOps().resolveCall(by)
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

// want checks the content of a file.
func (d *diskCase) want(t testing.TB, path, text string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(d.dir, path)); err != nil || string(data) != text {
		t.Errorf("%s is %q, %v; want %q", path, data, err, text)
	}
}

// read returns the content of a file.
func (d *diskCase) read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(path)))
	checkError(t, err)
	return string(data)
}
