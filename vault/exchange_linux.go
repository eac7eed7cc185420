package vault

import "golang.org/x/sys/unix"

// exchange exchanges two names in a directory atomically.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames a file and fails if the new name exists.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// ownAttribute reports whether only the system can set an extended attribute.
func ownAttribute(string) bool { return false }
