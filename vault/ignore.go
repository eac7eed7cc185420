package vault

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/internal/disk"
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
	file, err := v.Read(disk.IgnoreFile)
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

// rules are ordered patterns in gitignore syntax; the last matching pattern
// decides.
type rules struct{ patterns []pattern }

type pattern struct {
	glob    string // in doublestar's syntax
	below   bool   // ends with /**: does not match the named directory itself
	negated bool
	dirOnly bool
}

// parseRules parses patterns from a list, then from the lines of a file, so
// that the file can readmit paths that the list excludes.
func parseRules(list []string, file string) *rules {
	r := new(rules)
	for _, line := range list {
		r.add(line)
	}
	file = strings.TrimPrefix(file, "\ufeff")
	for line := range strings.Lines(file) {
		r.add(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return r
}

// add adds a line of a .gitignore file. It skips invalid patterns.
func (r *rules) add(line string) {
	line = trimSpace(line)
	if line == "" || line[0] == '#' {
		return
	}
	var p pattern
	if line[0] == '!' {
		p.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, strings.TrimSuffix(line, "/")
	}
	// A slash at the start or in the middle anchors the pattern at the root.
	if !strings.Contains(line, "/") {
		line = "**/" + line
	}
	line = strings.TrimPrefix(line, "/")
	if line == "" || line == "**/" {
		return
	}
	p.glob = globOf(line)
	p.below = strings.HasSuffix(line, "/**") && line != "**/**"
	if doublestar.ValidatePattern(p.glob) {
		r.patterns = append(r.patterns, p)
	}
}

// globOf returns the glob of a gitignore pattern, in which braces are literal
// and a class may begin with a literal closing bracket.
func globOf(pattern string) string {
	var b strings.Builder
	class := 0 // position after the bracket that opened the class, or 0
	escaped := false
	for i, c := range []byte(pattern) {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case class == 0 && c == '[':
			class = i + 1
		case class > 0 && c == ']' && strings.Trim(pattern[class:i], "!^") == "":
			b.WriteByte('\\')
		case class > 0 && c == ']':
			class = 0
		case class == 0 && (c == '{' || c == '}'):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// trimSpace removes trailing blanks, except one that is escaped with a
// backslash.
func trimSpace(line string) string {
	end := len(strings.TrimRight(line, " \t"))
	slashes := end - len(strings.TrimRight(line[:end], `\`))
	if slashes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// ignored reports whether the patterns exclude path. No directory above path
// may be excluded.
func (r *rules) ignored(path string, dir bool) bool {
	for _, p := range slices.Backward(r.patterns) {
		if (dir || !p.dirOnly) && p.matches(path) {
			return !p.negated
		}
	}
	return false
}

func (p *pattern) matches(path string) bool {
	if p.below {
		itself, err := doublestar.Match(strings.TrimSuffix(p.glob, "/**"), path)
		if itself || err != nil {
			return false
		}
	}
	matched, err := doublestar.Match(p.glob, path)
	return matched && err == nil
}
