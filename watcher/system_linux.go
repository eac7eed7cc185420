package watcher

import (
	"os"
	"strconv"
	"strings"
)

// ordered reports whether events arrive in order. inotify has one queue for all
// watches of an instance, so they do.
const ordered = true

// WatchLimit returns the number of directories that this user's programs may
// watch, or 0 if it is unknown.
func WatchLimit() int {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
