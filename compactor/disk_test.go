package compactor

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestOnDisk checks that a run on disk through vault.Writer has the planned
// result and can be undone as one group.
func TestOnDisk(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, d *disk, tr *tree) (applied, planned int, left []api.DayStay)
	}{
		{"olddays", func(t *testing.T, d *disk, tr *tree) (int, int, []api.DayStay) {
			o := oldDays(tr)
			o.Files, o.Paths, o.Mover = d, d.paths, d.writer
			r, err := o.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Moved), len(r.Plan.Moves), r.Left
		}},
		{"compress", func(t *testing.T, d *disk, tr *tree) (int, int, []api.DayStay) {
			c := newCompress(tr)
			c.Files, c.Disk, c.Paths, c.Mover, c.Writer = d, d, d.paths, d.writer, d.writer
			r, err := c.Run(t.Context(), 0, false)
			if err != nil {
				t.Fatal(err)
			}
			return r.Applied, len(r.Plan.Files), r.Left
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := treeOf(t, "testdata/"+test.name+"/days.txtar")
			d := newDisk(t, tr)
			applied, planned, left := test.run(t, d, tr)
			if applied == 0 || applied != planned || len(left) > 0 {
				t.Fatalf("%d of %d, left %+v", applied, planned, left)
			}
			switch test.name {
			case "olddays":
				_, err := oldDays(tr).Run(t.Context())
				d.want(tr, err)
			case "compress":
				_, err := newCompress(tr).Run(t.Context(), 0, false)
				d.want(tr, err)
			}
			if applied, planned, _ := test.run(t, d, tr); applied+planned > 0 {
				t.Errorf("again: %d of %d", applied, planned)
			}
			records := d.writer.Journal.List(time.Time{}, "", 0)
			undoer := vault.Undoer{Writer: d.writer}
			list, err := undoer.Undo(t.Context(), records[len(records)/2].ID, false)
			if err != nil || len(list) != len(records) {
				t.Fatalf("%d of %d changes are undone, %v", len(list), len(records), err)
			}
			for _, u := range list {
				if u.Err != nil {
					t.Errorf("undo: %v", u.Err)
				}
			}
			d.want(treeOf(t, "testdata/"+test.name+"/days.txtar"), nil)
		})
	}
}

// A disk is a tree stored in a directory.
type disk struct {
	*vault.Vault
	t      *testing.T
	writer *vault.Writer
	parse  func(vault.File) *memory.Document
}

func newDisk(t *testing.T, tr *tree) *disk {
	t.Helper()
	dir := t.TempDir()
	for path, text := range tr.files {
		name := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := journal.Open(filepath.Join(t.TempDir(), "journal"), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &vault.Vault{Dir: dir, Skip: tr.layout.Skip}
	return &disk{v, t, &vault.Writer{Vault: v, Journal: journal, Quiet: -1, MaxChangesPerMinute: 1000, Logger: slog.New(slog.DiscardHandler)}, tr.parse}
}

func (d *disk) Load(path string) (*memory.Document, error) {
	file, err := d.Read(path)
	if err != nil {
		return nil, err
	}
	return d.parse(file), nil
}

func (d *disk) paths() []string {
	tree, err := d.Walk(d.t.Context(), "", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	var list []string
	for _, f := range tree.Files {
		list = append(list, f.Path)
	}
	return list
}

// want compares the files with those of a tree.
func (d *disk) want(tr *tree, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	got := map[string]string{}
	err = filepath.WalkDir(d.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		path, _ := filepath.Rel(d.Dir, name)
		got[filepath.ToSlash(path)] = string(data)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(tr.files, got); diff != "" {
		d.t.Errorf("files (-want +got):\n%s", diff)
	}
}
