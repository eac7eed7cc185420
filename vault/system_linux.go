package vault

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pathOnly opens a directory as a starting point, which needs no permission to
// list it.
const pathOnly = unix.O_PATH

// exchange exchanges two names in a directory atomically.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames a file and fails if the new name exists.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// ownAttribute reports whether only the system can set an extended attribute.
func ownAttribute(string) bool { return false }

// A lease blocks programs that open the file for writing until it is released.
// Only a lease proves that a file is neither half written nor about to be
// truncated. It does not block readers and renames.
type lease struct {
	mu            sync.Mutex
	fd            int
	over          bool
	uninterrupted bool // held until it was released
	timer         *time.Timer
}

// takeLease takes a read lease on fd for at most the given time. The error is
// errWriter, or reports that leases are unavailable: the file has another
// owner, or the file system lacks leases.
func takeLease(fd int, most time.Duration) (*lease, error) {
	switch _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err {
	case nil:
	case unix.EAGAIN:
		return nil, errWriter
	default:
		return nil, err
	}
	l := &lease{fd: fd}
	// A disk that does not respond must not block a person's editor.
	l.timer = time.AfterFunc(most, func() { l.end(false) })
	return l, nil
}

// held reports whether the lease still blocks all writers. It does not if a
// program waits for the lease to end. A nil lease, used where leases are
// unavailable, reports true.
func (l *lease) held() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	kind, err := unix.FcntlInt(uintptr(l.fd), unix.F_GETLEASE, 0)
	return err == nil && kind == unix.F_RDLCK
}

// release ends the lease and reports whether it was held without interruption,
// so that no program can have written meanwhile. It may be called again.
func (l *lease) release() bool {
	if l == nil {
		return false
	}
	l.timer.Stop()
	return l.end(true)
}

func (l *lease) end(inTime bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		kind, err := unix.FcntlInt(uintptr(l.fd), unix.F_GETLEASE, 0)
		l.uninterrupted = inTime && err == nil && kind == unix.F_RDLCK
		unix.FcntlInt(uintptr(l.fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return l.uninterrupted
}

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

func describeFileSystem(st *unix.Statfs_t) (fs FileSystem) {
	kind, ok := fileSystems[uint32(st.Type)]
	if !ok {
		return FileSystem{Name: fmt.Sprintf("%#x", uint32(st.Type))}
	}
	fs.Name = kind.name
	if kind.remote {
		fs.Remote = fmt.Sprintf("on a file system of type %s without events for remote changes", kind.name)
	}
	return fs
}
