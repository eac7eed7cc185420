package vault

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errWriter: the file is open for writing somewhere.
var errWriter = errors.New("open for writing")

// A lease makes whoever opens the file for writing wait until it is released.
// It is the only way to know that a file is neither half written nor about to
// be emptied. Readers and renames are not held up.
type lease struct {
	mu    sync.Mutex
	fd    int
	over  bool
	whole bool // held from beginning to end
	timer *time.Timer
}

// takeLease takes a read lease on fd for at most the given time. The error is
// errWriter, or says that there are no leases here: another owner's file, or a
// file system without them.
func takeLease(fd int, most time.Duration) (*lease, error) {
	switch _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err {
	case nil:
	case unix.EAGAIN:
		return nil, errWriter
	default:
		return nil, err
	}
	l := &lease{fd: fd}
	// A disk that does not answer must not hold up a person's editor.
	l.timer = time.AfterFunc(most, func() { l.end(false) })
	return l, nil
}

// held reports whether the lease still keeps everybody from writing: it does not
// if somebody waits for it to end. Where there is none, nil, nobody is known to.
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

// release ends the lease and reports whether it was held the whole time, so
// that nothing can have been written meanwhile. It may be called again.
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
		l.whole = inTime && err == nil && kind == unix.F_RDLCK
		unix.FcntlInt(uintptr(l.fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return l.whole
}
