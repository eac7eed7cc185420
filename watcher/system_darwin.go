package watcher

import "golang.org/x/sys/unix"

// Remote returns the reason why events for a directory's file system are
// incomplete, or "".
func Remote(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil && st.Flags&unix.MNT_LOCAL == 0 {
		return "on a network file system without events for remote changes"
	}
	return ""
}
