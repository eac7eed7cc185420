// Package disk describes files and directories as a walk of the memory directory finds them.
// It does not open any.
package disk

import "strings"

// A Stamp identifies a state of a file without its content: two equal stamps of
// one path mean the same content, as far as the file system can show.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // nanoseconds since 1970; 0 where the platform has none
	Inode uint64
}

// IgnoreFile is the name of the file, directly in the root, whose patterns (in
// gitignore's syntax) exclude files from reading.
const IgnoreFile = ".memwatchdignore"

// A Tree is the result of one walk of the root, or of a directory in it. Its
// lists are sorted by path, byte for byte.
type Tree struct {
	From    string // the directory that was walked; empty for the whole root
	Files   []FoundFile
	Skipped []Skipped
	Failed  bool // a temporary failure hid part of the tree: walk again

	// OldRules reports that the ignore file was being written, so that its earlier
	// patterns were applied.
	OldRules bool
}

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

// A FoundFile is a file that may be read.
type FoundFile struct {
	Path  string
	Stamp Stamp
}

// A Skipped is a file or directory that is not read, with the reason.
type Skipped struct {
	Path   string
	Reason string // human-readable
	Unseen bool   // it could not be examined, so nothing is known about it or its children; do not treat it as deleted
}

// A Directory is a directory with the identity that distinguishes it from
// another directory at the same path.
type Directory struct {
	Path string // empty for the root
	ID   FileID
}

// A FileID identifies a file or directory independent of its path. If a path
// has a new FileID, the file or directory was replaced.
type FileID struct{ Device, Inode uint64 }

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
