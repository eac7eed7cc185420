package compactor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A testRoot is a compactor on a root of its own, with its journal and writer.
type testRoot struct {
	*Compactor
	t       *testing.T
	vault   *vault.Vault
	journal *journal.Journal
	writer  *vault.Writer
	now     time.Time
	before  func(vault.Change) error // called before each write; an error replaces the write
}

// newTestRoot returns a room with the given files and a long enough counting
// period.
func newTestRoot(t *testing.T, dir string, files []txtar.File) *testRoot {
	t.Helper()
	r := &testRoot{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.vault = &vault.Vault{Dir: dir, Skip: layout.Skip}
	var err error
	r.journal, err = journal.Open(filepath.Join(t.TempDir(), "journal"), 0)
	if err != nil {
		t.Fatal(err)
	}
	r.writer = &vault.Writer{Vault: r.vault, Journal: r.journal, Logger: slog.New(slog.DiscardHandler), Quiet: -1}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.writer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	uses := usesAt(t, filepath.Join(t.TempDir(), "uses"), &r.now)
	uses.since = r.now.AddDate(0, -1, 0)
	r.Compactor = &Compactor{
		Root: Root{Files: r, Disk: r.vault, Writer: r, Parse: parse, Paths: r.paths, Now: func() time.Time { return r.now }},
		Uses: uses, Logger: slog.New(slog.DiscardHandler),
		Limits: []api.CompactLimit{{Pattern: "_longterms/*/_index.md", Items: 100, Characters: 3000}}, Soft: SoftLimits(5000),
		Host: "desk", MaxLoss: 0.25,
	}
	for _, f := range files {
		r.save(f.Name, string(f.Data))
	}
	return r
}

// save writes a file as a user does.
func (r *testRoot) save(path, text string) {
	r.t.Helper()
	name := filepath.Join(r.vault.Dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chtimes(name, oldTime, oldTime); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testRoot) text(path string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.vault.Dir, filepath.FromSlash(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *testRoot) paths() []string {
	var list []string
	err := fs.WalkDir(os.DirFS(r.vault.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && layout.Skip(path) == "" {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *testRoot) sorted() []string {
	paths := r.paths()
	slices.Sort(paths)
	return paths
}

// Load implements [Files].
func (r *testRoot) Load(path string) (*memory.Document, error) {
	f, err := r.vault.Read(path)
	if err != nil {
		return nil, err
	}
	return parse(f), nil
}

// Write implements [Writer].
func (r *testRoot) Write(ctx context.Context, c vault.Change) (vault.Written, error) {
	if r.before != nil {
		if err := r.before(c); err != nil {
			return vault.Written{}, err
		}
	}
	return r.writer.Write(ctx, c)
}

// compact makes one run.
func (r *testRoot) compact(q Request) *Report {
	r.t.Helper()
	q.Requested = true
	report, err := r.Compact(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// archivedItems returns the path and id of each archived item.
func (r *testRoot) archivedItems() [][2]string {
	r.t.Helper()
	var list [][2]string
	for _, path := range r.sorted() {
		if !strings.Contains(path, "/_archive/") {
			continue
		}
		doc, err := r.Load(path)
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range doc.Entries {
			if e := &doc.Entries[i]; e.Block == memory.Item {
				list = append(list, [2]string{path, e.ID})
			}
		}
	}
	return list
}

func (r *testRoot) restore(path, id string) *api.RestoreAnswer {
	r.t.Helper()
	got, err := r.Restore(r.t.Context(), path, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// String returns all files as text.
func (r *testRoot) String() string {
	var b strings.Builder
	for _, path := range r.sorted() {
		fmt.Fprintf(&b, "-- %s --\n%s", path, r.text(path))
	}
	return b.String()
}
