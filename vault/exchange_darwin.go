package vault

import "golang.org/x/sys/unix"

// exchange lets two names in a directory change places, in one step.
func exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}

// renameNew renames, unless there is something of the new name.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

// ownAttribute reports whether the system itself keeps an extended attribute,
// which nobody else can set: where a file comes from, by which program.
func ownAttribute(name string) bool { return name == "com.apple.provenance" }
