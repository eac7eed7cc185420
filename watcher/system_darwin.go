package watcher

import "golang.org/x/sys/unix"

// Remote says why changes on the file system of a directory are not all heard
// of, or "".
func Remote(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil && st.Flags&unix.MNT_LOCAL == 0 {
		return "on a network file system, which tells of no changes made elsewhere"
	}
	return ""
}
