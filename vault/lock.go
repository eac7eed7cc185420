package vault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A Holder identifies the process that holds a lock, from its own data.
type Holder struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket,omitempty"`
	Root   string `json:"root,omitempty"` // the memory directory
}

// A LockedError reports that another process holds the lock. Holder comes from
// the lock's file and is zero if the file does not name a process yet: it is
// information for the user, and only the lock itself is certain.
type LockedError struct {
	Path   string
	Holder Holder
}

// Error returns the path of the lock and its holder, if known.
func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Path)
	}
	if e.Holder.Socket == "" {
		return fmt.Sprintf("lock %s: held by process %d", e.Path, e.Holder.PID)
	}
	return fmt.Sprintf("lock %s: held by process %d, which answers at %s", e.Path, e.Holder.PID, e.Holder.Socket)
}

// A Lock is held until it is closed or the process ends in any way.
type Lock struct{ file *os.File }

// AcquireLock takes the lock at path without waiting, and creates its file if
// necessary. It writes its holder into the file if the disk has space. If the
// lock is held, the error is a [*LockedError].
//
// The lock is the kernel's (flock): the file of a killed process is not locked,
// whatever its content, even if the process ID is in use again.
func AcquireLock(path string, who Holder) (*Lock, error) {
	// The file is never removed: between its removal and its recreation, two
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
		holder, _ := ReadHolder(path)
		return nil, &LockedError{path, holder}
	}
	// On a full disk this fails, but the lock is held nevertheless.
	text, err := json.Marshal(who)
	if err == nil && file.Truncate(0) == nil {
		file.WriteAt(append(text, '\n'), 0)
	}
	return &Lock{file}, nil
}

// ReadHolder returns the holder that the lock's file names and reports whether
// a process with that ID runs. It does not touch the lock. If the file is
// missing, empty, half written or foreign, ReadHolder returns the zero Holder
// and false.
//
// The result is information for the user: only acquiring the lock shows for
// certain that it is free, and acquiring it would lock out a process that needs
// it at that moment.
func ReadHolder(path string) (Holder, bool) {
	text, err := readHead(path, 1<<14)
	var who Holder
	if err != nil || json.Unmarshal(bytes.TrimRight(text, "\x00"), &who) != nil || who.PID <= 0 {
		return Holder{}, false
	}
	return who, unix.Kill(who.PID, 0) != unix.ESRCH
}

// Close releases the lock and returns the error of closing its file. The file
// stays.
func (l *Lock) Close() error {
	// Otherwise the file would name a process that no longer holds the lock.
	l.file.Truncate(0)
	return l.file.Close()
}
