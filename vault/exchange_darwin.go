package vault

import "golang.org/x/sys/unix"

// exchange exchanges two names in a directory atomically.
func exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}

// renameNew renames a file and fails if the new name exists.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

// ownAttribute reports whether only the system can set an extended attribute,
// such as the one that records the program that created a file.
func ownAttribute(name string) bool { return name == "com.apple.provenance" }
