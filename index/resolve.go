package index

import (
	"context"

	"github.com/memwatchd/memwatchd/memory"
)

// A LinkResolver finds the files that links mean, among the files that a view can
// read. Other files have no effect on the result. A LinkResolver is for one
// request; it keeps the results of lookups.
type LinkResolver struct {
	Index  *Index
	View   memory.View
	Layout *memory.Layout
	// Load returns the part of a file that the view can read, or nil.
	Load func(path string) *memory.Document
	// Moved returns the present path of a file that was at path, or "". It may be
	// nil.
	Moved func(path string) string

	named map[string][]string // by key
}

// Resolve returns the path of the file that a link in the file from means, or "".
// Paths precede names, and names precede aliases. A link means only files of the
// same root.
func (r *LinkResolver) Resolve(ctx context.Context, from string, l *memory.Link) (string, error) {
	for _, path := range l.Paths {
		if r.Load(path) != nil {
			return path, nil
		}
	}
	for _, path := range l.Paths {
		if r.Moved == nil {
			break
		}
		if moved := r.Moved(path); moved != "" {
			return moved, nil
		}
	}
	if l.Name == "" {
		return "", nil
	}
	key := memory.NameKey(l.Name)
	paths, known := r.named[key]
	if !known {
		var err error
		paths, err = r.Index.filesNamed(ctx, r.View, key)
		if err != nil {
			return "", err
		}
		if r.named == nil {
			r.named = map[string][]string{}
		}
		r.named[key] = paths
	}
	root, from := r.Layout.CutRoot(from)
	var same []string // paths below the root
	for _, path := range paths {
		if other, below := r.Layout.CutRoot(path); other == root {
			same = append(same, below)
		}
	}
	for _, path := range l.FindNamed(from, same) {
		path = root.Path(path)
		if r.Load(path) != nil {
			return path, nil
		}
	}
	for _, path := range memory.NearestFirst(from, same) {
		path = root.Path(path)
		if d := r.Load(path); d != nil && d.Front.HasAlias(l.Name) {
			return path, nil
		}
	}
	return "", nil
}

// AnyTo reports whether a link of an entry, in the file from, means the file at path.
func (r *LinkResolver) AnyTo(ctx context.Context, from string, e *memory.Entry, path string) (bool, error) {
	for i := range e.Links {
		if to, err := r.Resolve(ctx, from, &e.Links[i]); err != nil || to == path {
			return err == nil, err
		}
	}
	return false, nil
}
