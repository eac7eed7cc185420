package compactor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A tree holds the files of a memory and implements their writer. It can undo
// its changes, and it can fail from any write on, like a killed process.
type tree struct {
	layout  *memory.Layout
	files   map[string]string
	modTime time.Time      // of all files
	done    []func()       // undo functions, oldest first
	writes  []vault.Change // the changes made
	left    int            // number of writes that still succeed; unlimited if negative
	before  func(vault.Change) error
}

var errKilled = errors.New("killed")

func newTree(files []txtar.File) *tree {
	tr := &tree{layout: &memory.Layout{Location: time.UTC, Daily: memory.PublicOK, Sessions: memory.PublicOK}, files: map[string]string{}, left: -1}
	for _, f := range files {
		tr.files[f.Name] = string(f.Data)
	}
	return tr
}

func (tr *tree) parse(f vault.File) *memory.Document {
	return tr.layout.Parse(f.Path, f.Data, memory.Meta{ModTime: f.ModTime})
}

func (tr *tree) paths() []string { return slices.Collect(maps.Keys(tr.files)) }

func (tr *tree) Read(path string) (vault.File, error) {
	text, ok := tr.files[path]
	if !ok {
		return vault.File{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return vault.File{Path: path, Data: []byte(text), ModTime: tr.modTime}, nil
}

func (tr *tree) Load(path string) (*memory.Document, error) {
	f, err := tr.Read(path)
	if err != nil {
		return nil, err
	}
	return tr.parse(f), nil
}

func (tr *tree) Write(ctx context.Context, c vault.Change) (vault.Written, error) {
	return tr.change(ctx, c, c.Path)
}

func (tr *tree) Move(ctx context.Context, from, to string, c vault.Change) (vault.Written, error) {
	if _, err := tr.Read(from); err != nil {
		return vault.Written{}, err
	}
	if _, err := tr.Read(to); err == nil {
		return vault.Written{}, &vault.RefusedError{Path: to, Reason: "there is one already"}
	}
	return tr.change(ctx, c, to)
}

func (tr *tree) change(ctx context.Context, c vault.Change, to string) (vault.Written, error) {
	if err := ctx.Err(); err != nil {
		return vault.Written{}, err
	}
	if tr.before != nil {
		if err := tr.before(c); err != nil {
			return vault.Written{}, err
		}
	}
	var old *vault.File
	if f, err := tr.Read(c.Path); err == nil {
		old = &f
	}
	data, err := c.Edit(old)
	if err != nil || data == nil || old != nil && string(data) == string(old.Data) && to == c.Path {
		return vault.Written{}, err
	}
	if tr.left == 0 {
		return vault.Written{}, errKilled
	}
	tr.left--
	before := maps.Clone(tr.files)
	delete(tr.files, c.Path)
	tr.files[to] = string(data)
	tr.done = append(tr.done, func() { tr.files = before })
	tr.writes = append(tr.writes, c)
	return vault.Written{ID: fmt.Sprint(len(tr.done)), Changed: true}, nil
}

// undo reverts all changes.
func (tr *tree) undo() {
	for _, back := range slices.Backward(tr.done) {
		back()
	}
	tr.done = nil
}

// String returns all files as text.
func (tr *tree) String() string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(tr.files)) {
		fmt.Fprintf(&b, "-- %s --\n%s", path, tr.files[path])
	}
	return b.String()
}

// group checks that all changes belong to one group.
func (tr *tree) group(t *testing.T) {
	t.Helper()
	for i, c := range tr.writes {
		want := "1"
		if i == 0 {
			want = ""
		}
		if c.Group != want {
			t.Errorf("change %d, of %s, is of group %q, not %q", i+1, c.Path, c.Group, want)
		}
	}
}

// seen lists the entries that each of several readers can read, without their
// paths.
func (tr *tree) seen(t *testing.T) string {
	t.Helper()
	var dirs memory.Directories
	docs := map[string]*memory.Document{}
	for _, path := range tr.paths() {
		docs[path], _ = tr.Load(path)
		dirs.Set(docs[path].Place, docs[path].Claim)
	}
	var b strings.Builder
	for _, subject := range []string{"", "owner", "acct:42", "acct:7", "eve"} {
		for _, context := range []memory.Context{memory.Private, memory.Public} {
			v, err := dirs.View(memory.Scope{Subject: subject, Context: context})
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, d := range docs {
				d = d.For(v)
				if d == nil {
					continue
				}
				if s := d.Summary(v); s != "" {
					list = append(list, "summary "+s)
				}
				for _, e := range d.Entries {
					if e.Readable(v) {
						list = append(list, fmt.Sprintf("%s %s %s %v %s", e.Time.Format(time.RFC3339), e.Type, v.SubjectOf(e.Partition), e.Tags, e.Text))
					}
				}
			}
			slices.Sort(list)
			fmt.Fprintf(&b, "%q in %s:\n%s\n\n", subject, context, strings.Join(list, "\n"))
		}
	}
	return b.String()
}

// withResult returns an archive with a result.
func withResult(a *txtar.Archive, result string) *txtar.Archive {
	a.Files = append(a.Files, txtar.File{Name: "→", Data: []byte(result)})
	return a
}

// treeOf returns the files of an archive in a directory of testdata.
func treeOf(t *testing.T, dir, name string) *tree {
	t.Helper()
	list := golden.Archives(t, dir)
	return newTree(list[slices.IndexFunc(list, func(a golden.Archive) bool { return a.Name == name })].Files)
}
