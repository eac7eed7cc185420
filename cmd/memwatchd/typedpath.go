package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
)

// Answers name a file as terminals and editors open it: from the working
// directory, and with a line behind it. What is shown so can be typed so, too. An
// operation is given the path below the root, which is all that the daemon knows.

// setPaths gives a request the paths that were typed for it as the daemon has
// them. What is no file of the memory, such as a pattern, stays as it is.
func setPaths(op *api.Operation, req *api.Request, root *vault.Vault) error {
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
func belowRoot(root *vault.Vault, typed string) string {
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
func findBelow(root *vault.Vault, path string) (string, bool) {
	if path == "" {
		return "", false
	}
	is := func(path string) (there bool, err error) {
		if _, dir := root.Directory(path); dir {
			return true, nil
		}
		_, err = root.Stat(path)
		return err == nil, err
	}
	if !filepath.IsAbs(path) {
		if there, err := is(strings.TrimSuffix(path, "/")); there || errors.Is(err, vault.ErrRoot) {
			return path, there
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	dir := root.Dir
	for range 2 {
		if rel, err := filepath.Rel(dir, abs); err == nil && rel != "." && within(abs, dir) {
			rel = filepath.ToSlash(rel)
			there, _ := is(rel)
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

// isTerminal reports whether a person types, or would see, what goes there.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && widthOf(file) > 0
}
