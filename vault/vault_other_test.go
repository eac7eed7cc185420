//go:build unix && !linux

package vault

import "os"

// withoutOpenat2 has nothing to do here.
func withoutOpenat2() (undo func()) { return func() {} }

// swapPaths swaps what is at two paths, not at once.
func swapPaths(a, b string) {
	os.Rename(a, a+".swap")
	os.Rename(b, a)
	os.Rename(a+".swap", b)
}
