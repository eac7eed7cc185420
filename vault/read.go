package vault

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/disk"
)

const (
	// leaseLimit is the size above which a file is not read under a lease,
	// because writers must wait while a lease is held.
	leaseLimit = 1 << 20
	// readLeaseTime bounds the duration of a lease even if the disk is slow.
	readLeaseTime = 50 * time.Millisecond
	// emptyDelay is the age of an empty file before it is reported as
	// empty where no lease can rule out a writer: most programs
	// truncate a file before they write it.
	emptyDelay = 2 * time.Second
	// maxReads bounds how often a file that changes during reading is read.
	maxReads = 3
)

// A File is a snapshot of a file.
type File struct {
	Path    string
	Stamp   disk.Stamp
	Data    []byte
	ModTime time.Time
	// Unstable reports that another program had the file open for writing, or
	// that the file changed during reading: Data may be incomplete.
	Unstable bool
}

// newFileDelay is much longer than the time between creating and opening a file,
// even on a busy machine.
const newFileDelay = 50 * time.Millisecond

// Read returns a whole file. It does not check whether the name is excluded
// (see [Vault.Observe]), and does not update the catalogue.
//
// On systems with leases, Read holds one, so the content is complete. On other
// systems the attributes of the file must be equal before and after reading,
// and Read returns [ErrChanging] for an empty file that was changed in the last two seconds.
func (v *Vault) Read(path string) (File, error) {
	file, err := withParent(v, path, v.readAt)
	return file, pathError("read", path, err)
}

// readAt reads a file. It repeats the attempt if the file changes meanwhile, or is empty
// and very new.
func (v *Vault) readAt(s *dirEntry) (File, error) {
	waited := false
	for n := 1; ; n++ {
		data, stamp, state, err := v.readOnce(s)
		if err != nil {
			return File{}, err
		}
		if state == readChanged && n < maxReads {
			continue
		}
		switch emptied := len(data) == 0 && isRecentStamp(stamp); {
		case emptied && state != readLeased:
			return File{}, ErrChanging
		case emptied && !waited:
			// A new file is empty and unopened for a moment between its
			// creation and its opening. A lease does not reveal that.
			waited = true
			time.Sleep(newFileDelay)
			continue
		}
		return File{
			Path: s.path, Data: data, Stamp: stamp, Unstable: state == readChanged || state == readOpen,
			ModTime: time.Unix(0, stamp.MTime),
		}, nil
	}
}

// A readState describes how reliable the content is.
type readState int

const (
	readUnchanged readState = iota // equal attributes before and after reading
	readLeased                     // no program could write meanwhile
	readOpen                       // another program has it open for writing
	readChanged                    // it changed during reading
)

// readOnce reads the file once, under a lease if it can get one.
func (v *Vault) readOnce(s *dirEntry) (data []byte, stamp disk.Stamp, state readState, err error) {
	fd, err := v.openFile(s)
	if err != nil {
		return nil, stamp, 0, err
	}
	defer unix.Close(fd)
	var hold *lease
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return nil, stamp, 0, err
	}
	switch l, err := v.leaseFile(fd, readLeaseTime); {
	case errors.Is(err, errWriter):
		state = readOpen
	case err == nil && before.Size > leaseLimit:
		l.release()
	case err == nil:
		hold, state = l, readLeased
		defer hold.release()
	}
	err = unix.Fstat(fd, &before) // the attributes that count are those taken under the lease
	if err == nil {
		err = v.checkReadable(&before)
	}
	if err == nil {
		data, err = readAll(fd, before.Size, v.maxFileSize())
	}
	if err == nil {
		err = unix.Fstat(fd, &after)
	}
	switch {
	case err != nil:
	case int64(len(data)) != before.Size, hold != nil && !hold.release():
		state = readChanged
	case hold == nil && stampOf(&before) != stampOf(&after):
		// If a lease was held, only the name can have been removed from the
		// file, by a replacement. That changes the stamp but not the content.
		state = readChanged
	}
	return data, stampOf(&before), state, err
}

// errWriter reports that a program has the file open for writing. It never
// occurs on systems without leases.
var errWriter = errors.New("open for writing")

// leaseFile takes a read lease on an open file for at most the given time. Until it
// ends, other programs cannot write the file.
func (v *Vault) leaseFile(fd int, most time.Duration) (*lease, error) {
	if v.noLeases {
		return nil, errors.ErrUnsupported
	}
	return takeLease(fd, most)
}

// isRecentStamp reports whether a file was changed so recently that, if it is empty, a program
// is probably about to write it.
func isRecentStamp(stamp disk.Stamp) bool {
	return time.Since(time.Unix(0, stamp.MTime)).Abs() < emptyDelay // the clock of a server may be ahead
}

// readAll reads fd to its end. It returns ErrTooLarge for more than limit bytes
// even if size was smaller: the file may grow during reading.
func readAll(fd int, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, min(size, limit)+1) // one extra byte to detect the end without growing
	for {
		if int64(len(data)) > limit {
			return nil, ErrTooLarge
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := retry(func() (int, error) {
			return unix.Pread(fd, data[len(data):cap(data)], int64(len(data)))
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
		data = data[:len(data)+n]
	}
}

// Writing reports whether another process has the file open for writing; it
// reports false on systems without leases. The error is fs.ErrNotExist if the
// file does not exist.
func (v *Vault) Writing(path string) (bool, error) {
	writing, err := withParent(v, path, func(s *dirEntry) (bool, error) {
		fd, err := v.openFile(s)
		if err != nil {
			return false, err
		}
		defer unix.Close(fd)
		l, err := v.leaseFile(fd, readLeaseTime)
		if err == nil {
			l.release()
		}
		return errors.Is(err, errWriter), nil
	})
	return writing, pathError("open", path, err)
}
