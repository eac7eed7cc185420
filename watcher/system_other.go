//go:build unix && !linux

package watcher

// ordered reports whether events arrive in order. kqueue has no queue, so
// events of different directories arrive in any order.
const ordered = false

// WatchLimit returns 0 for unknown: each watch is an open file.
func WatchLimit() int { return 0 }
