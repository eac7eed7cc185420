package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/memory"
)

// An entry contains the fields that a rival of the index of memwatchd stores,
// and from which questions are made.
type entry struct {
	Path, Text string
	Line       int
	Owner      string
	Private    bool
	Kind, Type string
	Tags       []string
	Time       time.Time
}

// readable reports whether the owner may read the entry in a private or public
// context.
func (e *entry) readable(private bool) bool {
	return slices.Contains(owners, e.Owner) && (private || !e.Private)
}

// owners contains the owner keys that the owner of the root may read: entries
// without an owner, entries of the owner, and entries in the owner's directory.
var owners = []string{"", "owner", "?owner"}

// parseTree parses the files of a tree like the daemon. It calls each with the
// entries of one file at a time, in arbitrary order.
func parseTree(ctx context.Context, root string, each func([]entry) error) error {
	var users sync.Map
	layout := &memory.Layout{Daily: memory.PublicOK, Sessions: memory.PublicOK, Users: func(dir string) bool {
		is, known := users.Load(dir)
		if !known {
			_, err := os.Stat(filepath.Join(root, dir, "MEMORY.md"))
			is = err == nil
			users.Store(dir, is)
		}
		return is.(bool)
	}}
	var calling sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16 * runtime.GOMAXPROCS(0)) // most wait for their call
	err := walkTree(root, func(path string) error {
		group.Go(func() error {
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
			if err != nil {
				return err
			}
			entries := entriesOf(layout.Parse(path, text, memory.Meta{}))
			calling.Lock()
			defer calling.Unlock()
			return each(entries)
		})
		return ctx.Err()
	})
	return cmp.Or(group.Wait(), err)
}

// walkTree calls f with the path of each Markdown file of a tree, with slashes.
func walkTree(root string, f func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && rel != "." {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != ".md" {
			return nil
		}
		return f(filepath.ToSlash(rel))
	})
}

func entriesOf(doc *memory.Document) []entry {
	list := make([]entry, len(doc.Entries))
	for i := range doc.Entries {
		e := &doc.Entries[i]
		list[i] = entry{
			Path: doc.Place.Path, Line: e.Line, Text: e.Text, Owner: e.Partition.Owner,
			Private: e.Partition.Visibility != memory.PublicOK, Kind: doc.Place.Kind.String(), Type: e.Type,
			Tags: e.Tags, Time: e.Time,
		}
	}
	return list
}
