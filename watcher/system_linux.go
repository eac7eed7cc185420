package watcher

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ordered reports whether events arrive in order. inotify has one queue for all
// watches of an instance, so they do.
const ordered = true

// remotes maps the magic numbers of file systems that other machines can
// change, without events from this machine's kernel, to their names.
var remotes = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC:  "SMB",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	unix.V9FS_MAGIC:        "9P",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.AFS_FS_MAGIC:      "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	unix.NCP_SUPER_MAGIC:   "NCP",
	0x01161970:             "GFS2",
	0x0BD00BD0:             "Lustre",
	0x47504653:             "GPFS",
}

// Remote returns the reason why events for a directory's file system are
// incomplete, or "".
func Remote(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	if name, ok := remotes[uint32(st.Type)]; ok {
		return fmt.Sprintf("on a file system of type %s without events for remote changes", name)
	}
	return ""
}

// WatchLimit returns the number of directories that this user's programs may
// watch, or 0 if it is unknown.
func WatchLimit() int {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
