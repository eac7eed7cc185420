package vault

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// rules are patterns in gitignore's syntax, in order; the last one that matches
// decides.
type rules struct{ patterns []pattern }

type pattern struct {
	glob    string // of doublestar
	below   bool   // it ends with /**: what it names is not matched itself
	negated bool
	dirOnly bool
}

// parseRules reads patterns from a list, then from the lines of a file, so that
// the file can let in again what the list keeps out.
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
	// A slash at the beginning or in the middle ties the pattern to the root.
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

// globOf returns the glob of a pattern of gitignore, in which braces mean nothing
// and a class may begin with the bracket that otherwise ends it.
func globOf(pattern string) string {
	var b strings.Builder
	class := 0 // where the class begins that is open, or 0
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

// trimSpace removes blanks at the end, unless a backslash keeps them.
func trimSpace(line string) string {
	end := len(line)
	for end > 0 && (line[end-1] == ' ' || line[end-1] == '\t') {
		end--
	}
	slashes := 0
	for slashes < end && line[end-1-slashes] == '\\' {
		slashes++
	}
	if slashes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// ignored reports whether a path is kept out, given that no directory above it
// is.
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
