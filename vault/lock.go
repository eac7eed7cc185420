package vault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A Holder is who holds a lock, as it says itself.
type Holder struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket,omitempty"`
}

// A LockedError says that another process holds the lock. The holder is what
// the lock's file says, and zero if it says nothing yet: that the lock is held
// is certain, by whom is a help for a person.
type LockedError struct {
	Path   string
	Holder Holder
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Path)
	}
	if e.Holder.Socket == "" {
		return fmt.Sprintf("lock %s: held by process %d", e.Path, e.Holder.PID)
	}
	return fmt.Sprintf("lock %s: held by process %d, which answers at %s", e.Path, e.Holder.PID, e.Holder.Socket)
}

// A Lock is held until it is closed or the process ends, in whatever way.
type Lock struct{ file *os.File }

// AcquireLock takes the lock at path without waiting, creating its file if need be, and
// writes into it who holds it now, if there is room. If it is held, the error is a
// [*LockedError].
//
// The lock is the kernel's (flock): a file left by a process that was killed is
// not locked, whatever it says, even if the process id is in use again.
func AcquireLock(path string, who Holder) (*Lock, error) {
	// The file is never removed: between its removal and a new one two
	// processes could each hold a lock of that name.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	_, err = retry(func() (int, error) {
		return 0, unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	})
	if err != nil {
		defer file.Close()
		if err != unix.EWOULDBLOCK {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		locked := &LockedError{Path: path}
		if text, err := io.ReadAll(io.LimitReader(file, 4096)); err == nil {
			// Half-written or foreign text names nobody.
			if json.Unmarshal(text, &locked.Holder) != nil {
				locked.Holder = Holder{}
			}
		}
		return nil, locked
	}
	l := &Lock{file}
	l.write(who)
	return l, nil
}

// ReadHolder tells who holds the lock at path, without touching it: whom its file
// names, as long as a process of that number runs. Somebody who gave the lock up
// is not named any more, and who was killed does not run. It is a help for a
// person: only taking the lock shows for certain that nobody has it, and would
// keep out whoever wants it at that moment.
func ReadHolder(path string) (Holder, bool) {
	text, err := readHead(path, 4096)
	var who Holder
	if err != nil || json.Unmarshal(bytes.TrimRight(text, "\x00"), &who) != nil || who.PID <= 0 {
		return Holder{}, false
	}
	return who, unix.Kill(who.PID, 0) != unix.ESRCH
}

// write replaces what the file says. On a full disk that cannot be done; the
// lock is held all the same.
func (l *Lock) write(who Holder) {
	text, err := json.Marshal(who)
	if err == nil && l.file.Truncate(0) == nil {
		l.file.WriteAt(append(text, '\n'), 0)
	}
}

// Close gives the lock up. The file stays.
func (l *Lock) Close() error {
	// So that nobody is named who is gone.
	l.file.Truncate(0)
	return l.file.Close()
}
