package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// Answers name a file as terminals and editors open it: from the working
// directory, and with a line behind it. What is shown so can be typed so, too. An
// operation is given the path below the root, which is all that the daemon knows.

// A Root is the memory directory, where it can be reached from here.
type Root interface {
	// Dir returns its path.
	Dir() string
	// Has reports whether a file or a directory has a path below it. It is not
	// known if the directory itself is missing.
	Has(path string) (there, known bool)
}

// setPaths gives a request the paths that were typed for it as the daemon has
// them. What is no file of the memory, such as a pattern, stays as it is.
func setPaths(op *api.Operation, req *api.Request, root Root) error {
	for _, p := range op.Params {
		typed, given := req.Given(p)
		if !given || p.Complete != "path" || p.Kind() != "string" {
			continue
		}
		if err := req.Set(p, belowRoot(root, typed)); err != nil {
			return err
		}
	}
	return nil
}

// atLine is the line behind a place, as it is shown.
var atLine = regexp.MustCompile(`:[0-9]+$`)

// belowRoot is the path of a file below the root, however it was typed; what it
// is called there comes first.
func belowRoot(root Root, typed string) string {
	path, entry, named := strings.Cut(typed, "#")
	for _, path := range []string{path, atLine.ReplaceAllString(path, "")} {
		found, ok := findBelow(root, path)
		switch {
		case ok && named:
			return found + "#" + entry
		case ok:
			return found
		}
	}
	return typed
}

// findBelow looks for a file below the root, and then from the working directory.
func findBelow(root Root, path string) (string, bool) {
	if path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		if there, known := root.Has(strings.TrimSuffix(path, "/")); there || !known {
			return path, there
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	dir := root.Dir()
	for range 2 {
		if rel, err := filepath.Rel(dir, abs); err == nil && rel != "." && config.Within(abs, dir) {
			rel = filepath.ToSlash(rel)
			there, _ := root.Has(rel)
			return rel, there
		}
		// One of them may be reached by a link.
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if resolved, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(resolved, filepath.Base(abs))
		}
	}
	return "", false
}
