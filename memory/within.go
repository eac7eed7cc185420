package memory

import "strings"

// Unseen returns the set of paths that could not be examined.
func (t *Tree) Unseen() map[string]bool {
	unseen := make(map[string]bool)
	for _, s := range t.Skipped {
		if s.Unseen {
			unseen[s.Path] = true
		}
	}
	return unseen
}

// Within reports whether path is dir or below it; every path is within "".
func Within(path, dir string) bool {
	return dir == "" || strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// WithinAny reports whether path is one of dirs or below one of them.
func WithinAny(path string, dirs map[string]bool) bool {
	for !dirs[path] {
		if path == "" {
			return false
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return true
}
