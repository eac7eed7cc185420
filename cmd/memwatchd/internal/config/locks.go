package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/adrg/xdg"
)

// RootLocks is the directory with the locks of all roots, whatever their names.
func RootLocks() string { return filepath.Join(xdg.StateHome, "memwatchd", "roots") }

// RootLock is the lock of a root, the path of which goes through no link.
func RootLock(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(RootLocks(), hex.EncodeToString(sum[:8])+".lock")
}

// RealPath is a path without links, if there is something.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
