package vault

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems lists known file systems by magic number. Other machines can change
// the remote ones without events from this machine's kernel.
var fileSystems = map[uint32]struct {
	name   string
	remote bool
}{
	unix.TMPFS_MAGIC:       {"tmpfs", false},
	unix.FUSE_SUPER_MAGIC:  {"FUSE", true},
	unix.NFS_SUPER_MAGIC:   {"NFS", true},
	unix.SMB_SUPER_MAGIC:   {"SMB", true},
	unix.SMB2_SUPER_MAGIC:  {"SMB", true},
	unix.CIFS_SUPER_MAGIC:  {"SMB", true},
	unix.V9FS_MAGIC:        {"9P", true},
	unix.CEPH_SUPER_MAGIC:  {"Ceph", true},
	unix.AFS_SUPER_MAGIC:   {"AFS", true},
	unix.AFS_FS_MAGIC:      {"AFS", true},
	unix.CODA_SUPER_MAGIC:  {"Coda", true},
	unix.OCFS2_SUPER_MAGIC: {"OCFS2", true},
	unix.NCP_SUPER_MAGIC:   {"NCP", true},
	0x01161970:             {"GFS2", true},
	0x0BD00BD0:             {"Lustre", true},
	0x47504653:             {"GPFS", true},
}

// FileSystemOf describes the file system of the directory dir, or returns the
// error of statfs(2). It may block on a disk that does not respond.
func FileSystemOf(dir string) (FileSystem, error) {
	var st unix.Statfs_t
	if _, err := retry(func() (int, error) { return 0, unix.Statfs(dir, &st) }); err != nil {
		return FileSystem{}, pathError("statfs", dir, err)
	}
	kind, ok := fileSystems[uint32(st.Type)]
	if !ok {
		kind.name = fmt.Sprintf("%#x", uint32(st.Type))
	}
	fs := FileSystem{Name: kind.name}
	if kind.remote {
		fs.Remote = fmt.Sprintf("on a file system of type %s without events for remote changes", kind.name)
	}
	return fs, nil
}
