package vault

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errWriter reports that a program has the file open for writing.
var errWriter = errors.New("open for writing")

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
