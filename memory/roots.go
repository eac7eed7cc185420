package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Root is a folder beside the memory directory, whose files are searched and
// never changed. The path of its file notes/a.md is NAME:notes/a.md wherever paths
// of the memory directory are used.
type Root struct {
	Name       string
	Owner      string     // the subject that reads its text
	Visibility Visibility // of the entries that set none
	// Project returns the name of the project that a file of the root is about, or
	// "". Nil means that there are no projects.
	Project func(path string) string
}

// ValidRoot returns an error if a root cannot have a name.
func ValidRoot(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789_-"
	switch {
	case name == "" || len(name) > 63 || strings.Trim(name, allowed) != "" || name[0] == '-':
		return fmt.Errorf("%q is not the name of a folder: use up to 63 lower-case letters, digits, dashes and underscores", name)
	case name == MemoryRoot:
		return fmt.Errorf("%q is the name of the memory directory itself", name)
	}
	return nil
}

// MemoryRoot is the name of the memory directory in lists of roots.
const MemoryRoot = "memory"

// Path returns the path of a file of the root. Nil is the memory directory.
func (r *Root) Path(below string) string {
	if r == nil {
		return below
	}
	return r.Name + ":" + below
}

// IsRootPath reports whether a path has the form of a path in a root.
func IsRootPath(path string) bool {
	name, _, ok := strings.Cut(path, ":")
	return ok && (name == MemoryRoot || ValidRoot(name) == nil)
}

// CutRoot returns the root of a file and its path below the root. For a file of the
// memory directory, it returns nil and the path itself. It is the only place that
// interprets such paths.
func (l *Layout) CutRoot(path string) (r *Root, below string) {
	if len(l.Roots) == 0 {
		return nil, path
	}
	name, below, ok := strings.Cut(path, ":")
	i := slices.IndexFunc(l.Roots, func(r *Root) bool { return r.Name == name })
	if !ok || i < 0 {
		return nil, path
	}
	return l.Roots[i], below
}

// InRoot reports whether a path is that of a file of a root.
func (l *Layout) InRoot(path string) bool {
	r, _ := l.CutRoot(path)
	return r != nil
}

// place returns the place of a file. The text of the root belongs to one subject,
// regardless of the content of its files, in partitions of its own: see
// [View.WithRoots].
func (r *Root) place(path string) Place {
	return Place{Path: path, Kind: Note, Owner: r.Key(), Root: r.Name, Visibility: r.Visibility}
}

// below returns the path below the root of the file.
func (p Place) below() string {
	if p.Root == "" {
		return p.Path
	}
	return strings.TrimPrefix(p.Path, p.Root+":")
}

// rootPrefix begins the owner keys of roots. The keys of directories differ, because no
// name of a directory contains a slash.
const rootPrefix = "?/"

// IsRootKey reports whether an owner key is that of a root.
func IsRootKey(owner string) bool { return strings.HasPrefix(owner, rootPrefix) }

// Key returns the owner key of the text of the root.
func (r *Root) Key() string { return rootPrefix + r.Name }

// Roots returns the names of the roots that belong to the scope of the view, sorted.
// The view reads none of them before [View.WithRoots].
func (v View) Roots() []string { return slices.Sorted(maps.Keys(v.roots)) }

// WithRoots returns the view with the roots of these names, as far as they belong to
// its scope. Other views contain no text of roots, so only the operations that call
// WithRoots return such text.
func (v View) WithRoots(names ...string) View {
	owners := maps.Clone(v.owners)
	for _, name := range names {
		if subject, ok := v.roots[name]; ok {
			owners[rootPrefix+name] = subject
		}
	}
	v.owners = owners
	return v
}

// HasOnlyRoots reports whether the view is one of [View.OnlyRoots].
func (v View) HasOnlyRoots() bool { return v.onlyRoots }

// OnlyRoots returns the view without the text of the memory directory.
func (v View) OnlyRoots() View {
	owners := maps.Clone(v.owners)
	maps.DeleteFunc(owners, func(key, _ string) bool { return !IsRootKey(key) })
	v.owners, v.onlyRoots = owners, true
	return v
}

// annotate adds the project of a file to its entries.
func (r *Root) annotate(below string, e *Entry) {
	if r.Project != nil {
		if name := r.Project(below); name != "" {
			e.Tags = append(e.Tags, "project:"+name)
		}
	}
}
