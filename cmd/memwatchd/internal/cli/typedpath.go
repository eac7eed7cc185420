package cli

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

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
	// Has reports whether path names a file or a directory below the root. If
	// the root itself is missing, known is false.
	Has func(path string) (exists, known bool)
}

// setPaths converts the typed paths in a request to paths below the root. Other
// values, such as patterns, stay unchanged.
func setPaths(op *api.Operation, req *api.Request, root *Root) error {
	for _, p := range op.Params {
		typed, given := req.GivenValue(p)
		if !given || p.Complete != "path" || p.Kind() != "string" {
			continue
		}
		path, line := resolvePlace(root, typed)
		if err := req.Set(p, path); err != nil {
			return err
		}
		if _, from := paramGiven(req, "from"); op.Name == "get" && line > 0 && !from {
			if err := setParam(req, "from", strconv.Itoa(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineSuffix matches the line number after a path.
var lineSuffix = regexp.MustCompile(`:[0-9]+$`)

// resolvePlace returns the path of a file below the root for any typed form, and
// its line number, or 0. It prefers an exact file name over a line number.
func resolvePlace(root *Root, typed string) (path string, line int) {
	path, entry, named := strings.Cut(typed, "#")
	bare := lineSuffix.ReplaceAllString(path, "")
	for _, path := range []string{path, bare} {
		found, ok := findInRoot(root, path)
		if !ok {
			continue
		}
		if path != typed {
			line, _ = strconv.Atoi(strings.TrimPrefix(typed[len(path):], ":")) // 0 before #
		}
		if named {
			found += "#" + entry
		}
		return found, line
	}
	return typed, 0
}

// findInRoot returns a path below the root. It tries the path relative to the
// root first, then relative to the working directory.
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
	dir := root.Dir
	for range 2 {
		if rel, err := filepath.Rel(dir, abs); err == nil && rel != "." && config.IsWithin(abs, dir) {
			rel = filepath.ToSlash(rel)
			exists, _ := root.Has(rel)
			return rel, exists
		}
		// The root or the path may contain symbolic links.
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if resolved, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(resolved, filepath.Base(abs))
		}
	}
	return "", false
}
