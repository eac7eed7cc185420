package vault

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// Skips returns why a file of this name is never read, or "". For a directory
// it returns why nothing below it is read. It examines names only, not the
// disk.
func (v *Vault) Skips(path string, dir bool) string {
	if !isValidPath(path) {
		return "not a path"
	}
	rules := v.currentRules()
	for i := range len(path) {
		if path[i] == '/' {
			if reason := v.skipDir(path[:i], rules); reason != "" {
				return reason
			}
		}
	}
	if dir {
		return v.skipDir(path, rules)
	}
	return v.skipFile(path, rules)
}

// skipDir returns why a directory is excluded, given that its parent is not.
func (v *Vault) skipDir(path string, rules *rules) string {
	reason := ""
	if v.SkipDir != nil {
		reason = v.SkipDir(path)
	} else if _, base := cutLast(path); base[0] == '.' {
		reason = "hidden directory"
	}
	if reason == "" && rules.ignored(path, true) {
		reason = "ignored by pattern"
	}
	return reason
}

// skipFile returns why a file is excluded, given that its directory is not. A
// conflict copy is excluded with its original.
func (v *Vault) skipFile(path string, rules *rules) string {
	reason := ""
	of, copied := memory.CopyOf(path)
	_, base := cutLast(path)
	switch {
	case copied:
		reason = v.skipFile(of, rules)
	case !isMarkdown(path):
		reason = "not a Markdown file"
	case v.Skip != nil:
		reason = v.Skip(path)
	case strings.IndexByte(".#~", base[0]) >= 0:
		reason = "hidden or temporary file"
	}
	if reason == "" && rules.ignored(path, false) {
		reason = "ignored by pattern"
	}
	return reason
}

// isMarkdown reports whether a name is that of a Markdown file or a copy of one.
func isMarkdown(path string) bool {
	if of, ok := memory.CopyOf(path); ok {
		path = of
	}
	base, ok := memory.CutMarkdown(path)
	return ok && base != ""
}

// currentRules returns the ignore patterns as last read.
func (v *Vault) currentRules() *rules {
	if r := v.rules.Load(); r != nil {
		return r
	}
	if r, _ := v.loadRules(); r != nil {
		return r
	}
	return parseRules(v.Ignore, "")
}

// loadRules reads the ignore file. If the file exists but cannot be read or is
// being written, the previous rules stay in effect, and are nil before the first
// success: a failure must not readmit excluded files.
func (v *Vault) loadRules() (*rules, error) {
	text := ""
	file, err := v.Read(memory.IgnoreFile)
	if err == nil && file.Unstable {
		err = ErrChanging
	}
	switch {
	case err == nil:
		text = string(file.Data)
	case !errors.Is(err, fs.ErrNotExist):
		return v.rules.Load(), err
	}
	r := parseRules(v.Ignore, text)
	v.rules.Store(r)
	return r, nil
}
