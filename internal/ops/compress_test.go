package ops

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// compressing returns a memory with an old session, and a function that lists
// the files on its disk.
func compressing(t *testing.T) (m *Memory, files func() string) {
	t.Helper()
	dir := t.TempDir()
	old := filepath.Join(dir, "2026-01-01", "cli.md")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("- We met.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, err := journal.Open(filepath.Join(t.TempDir(), "journal"), 0)
	if err != nil {
		t.Fatal(err)
	}
	layout := &memory.Layout{}
	root := &vault.Vault{Dir: dir, Skip: layout.Skip}
	w := &vault.Writer{Vault: root, Journal: journal, Logger: slog.New(slog.DiscardHandler)}
	parse := func(f vault.File) *memory.Document { return layout.Parse(f.Path, f.Data, memory.Meta{}) }
	files = func() string {
		var list []string
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				path, _ := filepath.Rel(dir, name)
				list = append(list, filepath.ToSlash(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(list, " ")
	}
	now := func() time.Time { return time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC) }
	return &Memory{
		Reading: Reading{Now: now, Location: time.UTC},
		Administration: Administration{Semaphore: semaphore.NewWeighted(1), Compress: &compactor.Compress{Root: compactor.Root{
			Files: plainFiles{root, parse}, Disk: root, Writer: w, Mover: w, Parse: parse, Layout: layout, Now: now,
			Paths: func() []string { return strings.Fields(files()) },
		}}},
	}, files
}

type plainFiles struct {
	*vault.Vault
	parse func(vault.File) *memory.Document
}

func (r plainFiles) Load(path string) (*memory.Document, error) {
	file, err := r.Read(path)
	if err != nil {
		return nil, err
	}
	return r.parse(file), nil
}

// TestCompressContact checks that the operation keeps a conversation with a contact
// out of the owner's profile, and private.
func TestCompressContact(t *testing.T) {
	m, files := compressing(t)
	w := m.Compress.Writer
	text := "---\nvisibility: public_ok\ncontact_id: alice\n---\n- Alice moves.\n"
	_, err := w.Write(t.Context(), vault.Change{Path: "2026-01-01/cli.md", Requested: true,
		Edit: func(*vault.File) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.adminOps().compress(t.Context(), Call{FullAccess: true}, &api.CompressRequest{})
	if err != nil || a.Applied != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if got, want := files(), "_longterms/owner/_archive/2026-01-01/cli.md _longterms/owner/contacts/alice.md"; got != want {
		t.Errorf("files are %s, not %s", got, want)
	}
	if l := a.Plan.Files[0].Lines; len(l) != 1 || l[0].Visibility != "private_only" {
		t.Errorf("lines %+v", l)
	}
}
