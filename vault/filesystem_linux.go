package vault

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// fileSystems lists known file systems by magic number. Those marked Able have
// supported the exchange for as long as the kernel has had openat2 (5.6). For
// those marked MaybeAble, support depends on the backend or version.
var fileSystems = map[uint32]struct {
	name     string
	exchange Ability
}{
	unix.EXT4_SUPER_MAGIC:      {"ext4", Able}, // ext2 and ext3 too
	unix.XFS_SUPER_MAGIC:       {"XFS", Able},
	unix.BTRFS_SUPER_MAGIC:     {"btrfs", Able},
	unix.TMPFS_MAGIC:           {"tmpfs", Able},
	unix.F2FS_SUPER_MAGIC:      {"F2FS", Able},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", Able},
	0x24051905:                 {"UBIFS", Able},
	0xca451a4e:                 {"bcachefs", Able},
	0x2fc12fc1:                 {"ZFS", MaybeAble}, // since 2.2
	unix.MSDOS_SUPER_MAGIC:     {"FAT", MaybeAble}, // since Linux 6.0
	unix.FUSE_SUPER_MAGIC:      {"FUSE", MaybeAble},
	0x2011bab0:                 {"exFAT", Unable},
	0x7366746e:                 {"NTFS", Unable},
	unix.NFS_SUPER_MAGIC:       {"NFS", Unable},
	unix.SMB_SUPER_MAGIC:       {"SMB", Unable},
	unix.SMB2_SUPER_MAGIC:      {"SMB", Unable},
	unix.CIFS_SUPER_MAGIC:      {"SMB", Unable},
	unix.V9FS_MAGIC:            {"9P", Unable},
	unix.CEPH_SUPER_MAGIC:      {"Ceph", Unable},
	unix.AFS_SUPER_MAGIC:       {"AFS", Unable},
	unix.ECRYPTFS_SUPER_MAGIC:  {"eCryptfs", Unable},
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
	if st.Files == 0 { // inodes are allocated on demand
		fs.Files = math.MaxUint64
	}
	return fs, nil
}
