package memory

// IgnoreFile is the name of the file, directly in the root, whose patterns (in
// gitignore's syntax) say what is never read.
const IgnoreFile = ".memwatchdignore"

// A Tree is what one walk of the root, or of a directory in it, saw. Its lists
// are sorted by path, byte for byte.
type Tree struct {
	From    string // the directory that was walked; empty for the whole root
	Files   []Found
	Skipped []Skipped
	Failed  bool // something could not be looked at, for a reason that may pass: look again
}

// Found is a file that may be read.
type Found struct {
	Path  string
	Stamp Stamp
}

// Skipped is something that is not read, and why.
type Skipped struct {
	Path   string
	Reason string // for a person
	Unseen bool   // it could not be looked at: nothing is known about it or what is below it, so it is not gone
}

// A Directory is a directory with what tells it from another one at the same
// path.
type Directory struct {
	Path string // empty for the root
	ID   FileID
}

// FileID tells files and directories apart: a path that leads to another one
// than before leads to something else.
type FileID struct{ Device, Inode uint64 }
