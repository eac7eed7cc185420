package vault

import "golang.org/x/sys/unix"

// withoutOpenat2 forces stepwise opening of paths until undo is called.
func withoutOpenat2() (undo func()) {
	noOpenat2.Store(true)
	return func() { noOpenat2.Store(false) }
}

// swapPaths exchanges two paths atomically.
func swapPaths(a, b string) {
	unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
