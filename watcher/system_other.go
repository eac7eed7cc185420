//go:build unix && !linux

package watcher

// ordered: kqueue has no queue; events of different directories come in any
// order.
const ordered = false

// watchLimit is not known: each watch is an open file.
func watchLimit() int { return 0 }
