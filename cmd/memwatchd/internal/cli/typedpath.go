package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// Answers show files in the form that terminals and editors open: relative to
// the working directory, with a line number. Users can type the same form. An
// operation gets the path relative to the root, because the daemon does not
// know the working directory.

// A Root is the memory directory as seen by this process.
type Root struct {
	Dir string
	// Folders are the directories of memory.roots by the prefix of the paths of
	// their files, such as vault:.
	Folders map[string]string
	// Has reports whether path names a file or a directory below the root. If
	// the root itself is missing, known is false.
	Has func(path string) (exists, known bool)
}

// Locate returns the directory of the memory that contains the file of an answer:
// the memory directory or another folder, and the path of the file below it.
func (r *Root) Locate(path string) (dir, below string) {
	if i := strings.IndexByte(path, ':'); i >= 0 {
		if dir, ok := r.Folders[path[:i+1]]; ok {
			return dir, path[i+1:]
		}
	}
	return r.Dir, path
}

// setPaths converts the typed paths in a request to paths below the root. Other
// values, such as patterns, stay unchanged.
func setPaths(op *api.Operation, req *api.Request, root *Root) error {
	for _, p := range op.Params() {
		typed, given := req.GivenValue(p.Name)
		if !given || !slices.Contains([]string{"path", "todo", "entry"}, p.Complete) || p.Kind() != "string" {
			continue
		}
		path, from, to := resolvePlace(root, typed)
		switch {
		case p.Complete != "path" && from == 0 && !strings.Contains(typed, "#"):
			continue // an id or a text, even if a file has the same name
		case p.Complete != "path" || op.Name == "get":
			path = api.JoinLines(path, from, to)
		}
		if err := req.Set(p, path); err != nil {
			return err
		}
	}
	return nil
}

// resolvePlace returns the path of a file below the root for any typed form, and the
// numbers of its lines as [api.CutLines]. It prefers an exact file name over a line
// number.
func resolvePlace(root *Root, typed string) (path string, from, to int) {
	if found, ok := findInRoot(root, typed); ok {
		return found, 0, 0
	}
	name, entry, named := strings.Cut(typed, "#")
	if found, ok := findInRoot(root, name); ok {
		return found + "#" + entry, 0, 0
	}
	if bare, from, to := api.CutLines(name); from > 0 && !named {
		if found, ok := findInRoot(root, bare); ok {
			return found, from, to
		}
	}
	return typed, 0, 0
}

// findInRoot returns a path below the root. It tries the path relative to the
// root first, then relative to the working directory. It resolves symbolic links
// last, because a folder may be on a file system that does not respond.
func findInRoot(root *Root, path string) (string, bool) {
	if path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		if exists, known := root.Has(strings.TrimSuffix(path, "/")); exists || !known {
			return path, exists
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	prefixes := append([]string{""}, slices.Sorted(maps.Keys(root.Folders))...)
	for _, resolve := range []func(string) string{filepath.Clean, realPath} {
		path := filepath.Join(resolve(filepath.Dir(abs)), filepath.Base(abs))
		for _, prefix := range prefixes {
			dir, _ := root.Locate(prefix)
			dir = resolve(dir)
			if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && config.IsWithin(path, dir) {
				rel = prefix + filepath.ToSlash(rel)
				exists, _ := root.Has(rel)
				return rel, exists
			}
		}
	}
	return "", false
}

// resolveTimeout bounds the wait for a file system.
const resolveTimeout = time.Second

// realPath is [config.RealPath], or path itself if the file system does not respond.
func realPath(path string) string {
	real := make(chan string, 1)
	go func() { real <- config.RealPath(path) }()
	select {
	case path = <-real:
	case <-time.After(resolveTimeout):
	}
	return path
}
