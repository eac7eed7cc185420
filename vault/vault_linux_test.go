package vault

import "golang.org/x/sys/unix"

// withoutOpenat2 makes paths be opened step by step, and returns what undoes
// that.
func withoutOpenat2() (undo func()) {
	noOpenat2.Store(true)
	return func() { noOpenat2.Store(false) }
}

// swapPaths swaps what is at two paths.
func swapPaths(a, b string) {
	unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
