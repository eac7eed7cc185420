package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/vault"
)

// RootLocks returns the directory with the locks of all roots, independent of
// the names of the memories.
func RootLocks() string { return filepath.Join(xdg.StateHome, "memwatchd", "roots") }

// SpoolDir returns the directory of the captures that hooks could not deliver.
// It belongs to the user of the hooks, who may be another than the daemon's.
func SpoolDir() string { return filepath.Join(xdg.StateHome, "memwatchd", "spool") }

// RootLock returns the path of the lock of a root. The path of the root must
// not contain symbolic links.
func RootLock(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(RootLocks(), hex.EncodeToString(sum[:8])+".lock")
}

// DaemonSocket returns the socket of the daemon that serves a root, or "" if none
// does.
func DaemonSocket(root string) string {
	holder, _ := vault.ReadHolder(RootLock(RealPath(root)))
	return holder.Socket
}

// ServedRoot returns the root that the daemon on a socket serves, or "" if no such
// daemon is known on this machine.
func ServedRoot(socket string) string {
	socket, err := filepath.Abs(socket)
	if err != nil {
		return ""
	}
	var roots []string
	locks, _ := filepath.Glob(filepath.Join(RootLocks(), "*.lock")) // fails if the path is a pattern
	for _, lock := range locks {
		if h, running := vault.ReadHolder(lock); running && h.Socket == socket {
			roots = append(roots, h.Root)
		}
	}
	if len(roots) != 1 { // the process ID of a killed daemon may be in use again
		return ""
	}
	return roots[0]
}

// RealPath returns path without symbolic links, or path itself if the file is
// missing or inaccessible.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
