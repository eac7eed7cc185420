package vault

import "golang.org/x/sys/unix"

// exchange lets two names in a directory change places, in one step.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames, unless there is something of the new name.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// ownAttribute reports whether the system itself keeps an extended attribute,
// which nobody else can set.
func ownAttribute(string) bool { return false }
