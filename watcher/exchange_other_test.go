//go:build unix && !linux

package watcher_test

import "os"

// exchange swaps the files at two paths, but not atomically.
func exchange(a, b string) error {
	if err := os.Rename(a, a+".x"); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return err
	}
	return os.Rename(a+".x", b)
}
