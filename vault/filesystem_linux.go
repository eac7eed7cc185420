package vault

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// fileSystems lists known file systems by magic number. Those marked Able have
// supported the exchange for as long as the kernel has had openat2 (5.6). For
// those marked MaybeAble, support depends on the backend or version. Other machines
// can change the remote ones without events from this machine's kernel.
var fileSystems = map[uint32]struct {
	name     string
	exchange Ability
	remote   bool
}{
	unix.EXT4_SUPER_MAGIC:      {"ext4", Able, false}, // ext2 and ext3 too
	unix.XFS_SUPER_MAGIC:       {"XFS", Able, false},
	unix.BTRFS_SUPER_MAGIC:     {"btrfs", Able, false},
	unix.TMPFS_MAGIC:           {"tmpfs", Able, false},
	unix.F2FS_SUPER_MAGIC:      {"F2FS", Able, false},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", Able, false},
	0x24051905:                 {"UBIFS", Able, false},
	0xca451a4e:                 {"bcachefs", Able, false},
	0x2fc12fc1:                 {"ZFS", MaybeAble, false}, // since 2.2
	unix.MSDOS_SUPER_MAGIC:     {"FAT", MaybeAble, false}, // since Linux 6.0
	unix.FUSE_SUPER_MAGIC:      {"FUSE", MaybeAble, true},
	0x2011bab0:                 {"exFAT", Unable, false},
	0x7366746e:                 {"NTFS", Unable, false},
	unix.NFS_SUPER_MAGIC:       {"NFS", Unable, true},
	unix.SMB_SUPER_MAGIC:       {"SMB", Unable, true},
	unix.SMB2_SUPER_MAGIC:      {"SMB", Unable, true},
	unix.CIFS_SUPER_MAGIC:      {"SMB", Unable, true},
	unix.V9FS_MAGIC:            {"9P", Unable, true},
	unix.CEPH_SUPER_MAGIC:      {"Ceph", Unable, true},
	unix.AFS_SUPER_MAGIC:       {"AFS", Unable, true},
	unix.AFS_FS_MAGIC:          {"AFS", MaybeAble, true},
	unix.CODA_SUPER_MAGIC:      {"Coda", MaybeAble, true},
	unix.OCFS2_SUPER_MAGIC:     {"OCFS2", MaybeAble, true},
	unix.NCP_SUPER_MAGIC:       {"NCP", MaybeAble, true},
	0x01161970:                 {"GFS2", MaybeAble, true},
	0x0BD00BD0:                 {"Lustre", MaybeAble, true},
	0x47504653:                 {"GPFS", MaybeAble, true},
	unix.ECRYPTFS_SUPER_MAGIC:  {"eCryptfs", Unable, false},
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
	size := uint64(st.Bsize)
	fs := FileSystem{Name: kind.name, Exchange: kind.exchange, Free: st.Bavail * size, Total: st.Blocks * size,
		Files: st.Ffree}
	if kind.remote {
		fs.Remote = fmt.Sprintf("on a file system of type %s without events for remote changes", kind.name)
	}
	if st.Files == 0 { // inodes are allocated on demand
		fs.Files = math.MaxUint64
	}
	return fs, nil
}
