//go:build unix && !linux

package vault

import "os"

// withoutOpenat2 does nothing on systems without openat2.
func withoutOpenat2() (undo func()) { return func() {} }

// swapPaths exchanges two paths, but not atomically.
func swapPaths(a, b string) {
	os.Rename(a, a+".swap")
	os.Rename(b, a)
	os.Rename(a+".swap", b)
}
