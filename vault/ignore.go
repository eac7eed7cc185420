package vault

import "strings"

// rules are patterns in gitignore's syntax, in order; the last one that matches
// decides.
type rules struct{ patterns []pattern }

type pattern struct {
	segments []string // "**" stands for any number of directories
	negated  bool
	dirOnly  bool
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
	p.segments = strings.Split(line, "/")
	r.patterns = append(r.patterns, p)
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
	if len(r.patterns) == 0 {
		return false
	}
	names := strings.Split(path, "/")
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := r.patterns[i]
		if (dir || !p.dirOnly) && matchPath(p.segments, names) {
			return !p.negated
		}
	}
	return false
}

// matchPath matches a path's components with a pattern's. The one place to go
// back to is the last "**": what an earlier one could still match, it can too.
func matchPath(pattern, names []string) bool {
	p, n := 0, 0
	backP, backN := -1, 0
	for n < len(names) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			if p == len(pattern)-1 {
				return true // at least one name is left
			}
			backP, backN = p, n
			p++
			continue
		case p < len(pattern) && matchName(pattern[p], names[n]):
			p, n = p+1, n+1
			continue
		case backP >= 0:
			backN++
			p, n = backP+1, backN
			continue
		}
		return false
	}
	return p == len(pattern)
}

// matchName matches one component: * any number of bytes, ? one byte, a
// class in brackets, and a backslash that takes the next byte as it is.
func matchName(pattern, name string) bool {
	p, n := 0, 0
	backP, backN := -1, 0
	for n < len(name) || p < len(pattern) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				backP, backN = p, n
				p++
				continue
			}
			if n < len(name) {
				if np, nn, ok := matchOne(pattern, p, name, n); ok {
					p, n = np, nn
					continue
				}
			}
		}
		if backP < 0 || backN >= len(name) {
			return false
		}
		backN++
		p, n = backP+1, backN
	}
	return true
}

// matchOne matches one element of the pattern, which is not a star, with the
// beginning of name[n:], and returns what comes after both.
func matchOne(pattern string, p int, name string, n int) (int, int, bool) {
	switch c := pattern[p]; c {
	case '?':
		return p + 1, n + 1, true
	case '[':
		if end, ok := matchClass(pattern, p, name[n]); end > 0 {
			return end, n + 1, ok
		}
		return 0, 0, false // a class without an end matches nothing
	case '\\':
		if p+1 >= len(pattern) {
			return 0, 0, false
		}
		return p + 2, n + 1, pattern[p+1] == name[n]
	default:
		return p + 1, n + 1, c == name[n]
	}
}

// matchClass matches a byte with the class at pattern[p:], and returns the
// place after it, or 0 if it has no end.
func matchClass(pattern string, p int, c byte) (int, bool) {
	p++
	negated := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if negated {
		p++
	}
	matched := false
	for first := true; p < len(pattern); first = false {
		if pattern[p] == ']' && !first {
			return p + 1, matched != negated
		}
		low, next := classByte(pattern, p)
		high := low
		if next+1 < len(pattern) && pattern[next] == '-' && pattern[next+1] != ']' {
			high, next = classByte(pattern, next+1)
		}
		matched = matched || low <= c && c <= high
		p = next
	}
	return 0, false
}

func classByte(pattern string, p int) (byte, int) {
	if pattern[p] == '\\' && p+1 < len(pattern) {
		p++
	}
	return pattern[p], p + 1
}
