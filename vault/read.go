package vault

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
)

const (
	// leaseLimit is the size above which a file is not read under a lease: a
	// writer has to wait for as long as it is held.
	leaseLimit = 1 << 20
	// leaseHold is how long a lease may be held, whatever the disk does.
	leaseHold = 50 * time.Millisecond
	// believeEmpty is how long a file has to stay empty before it is believed,
	// where no lease can tell that nobody is about to fill it: most programs
	// empty a file before they write it.
	believeEmpty = 2 * time.Second
	// attempts is how often a file that changes under our hands is read again.
	attempts = 3
)

// A File is a file as it was at one moment.
type File struct {
	Path    string
	Stamp   memory.Stamp
	Data    []byte
	ModTime time.Time
	// Unsettled says that somebody had it open for writing, or that it changed
	// while it was read: Data may be half of what it is going to be.
	Unsettled bool
}

// newbornWait is much longer than it takes from making a file to having it open,
// also on a busy machine.
const newbornWait = 50 * time.Millisecond

type emptied struct {
	stamp memory.Stamp
	since time.Time
}

// Read reads a whole file. It does not ask whether the name is one of memory's
// (see [Vault.Look]), and leaves the catalogue as it is.
//
// Where the system has leases the file is read under one, so that what is
// returned is what some program finished writing. Where it has not, the file
// must look the same before and after, and is not believed to be empty for two
// seconds ([ErrChanging]).
func (v *Vault) Read(path string) (File, error) {
	file, err := at(v, path, func(dir int, base string) (File, error) { return v.readAt(dir, base, path) })
	if err != nil {
		if Absent(err) {
			v.trust(path)
		}
		return File{}, pathError("read", path, err)
	}
	return file, nil
}

// readAt reads the file base in the directory dir, more than once if need be.
func (v *Vault) readAt(dir int, base, path string) (File, error) {
	waited := false
	for n := 1; ; n++ {
		data, stamp, state, err := v.readOnce(dir, base)
		if err != nil {
			return File{}, err
		}
		if state == changed && n < attempts {
			continue
		}
		if len(data) == 0 && state == leased && !waited && time.Since(time.Unix(0, stamp.MTime)) < believeEmpty {
			// A new file is there, empty and nobody's, for a moment before
			// whoever makes it has it open: a lease does not show that.
			waited = true
			time.Sleep(newbornWait)
			continue
		}
		if len(data) == 0 && state != leased {
			if err := v.doubt(path, stamp); err != nil {
				return File{}, err
			}
		} else {
			v.trust(path)
		}
		return File{
			Path: path, Data: data, Stamp: stamp, Unsettled: state == changed || state == open,
			ModTime: time.Unix(0, stamp.MTime),
		}, nil
	}
}

// readState says how far what was read can be trusted.
type readState int

const (
	same    readState = iota // looked the same before and after
	leased                   // nobody could write meanwhile
	open                     // somebody has it open for writing
	changed                  // it changed meanwhile
)

// readOnce reads the file once, under a lease if it can be had.
func (v *Vault) readOnce(dir int, base string) ([]byte, memory.Stamp, readState, error) {
	fd, err := v.openFile(dir, base)
	if err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	defer unix.Close(fd)

	state := same
	var hold *lease
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	switch l, err := v.lease(fd, leaseHold); {
	case errors.Is(err, errWriter):
		state = open
	case err == nil && before.Size > leaseLimit:
		l.release()
	case err == nil:
		hold, state = l, leased
		defer hold.release()
	}
	// What counts is what it is now that nobody can write.
	if err := unix.Fstat(fd, &before); err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	if err := v.readable(&before); err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	data, err := readAll(fd, before.Size, v.maxFileSize())
	if err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return nil, memory.Stamp{}, 0, err
	}
	switch {
	case int64(len(data)) != before.Size, hold != nil && !hold.release():
		state = changed
	case hold == nil && stampOf(&before) != stampOf(&after):
		// With a lease that held, only its name can have been taken from it, by
		// whoever replaced it: that changes its stamp, and nothing that was read.
		state = changed
	}
	return data, stampOf(&before), state, nil
}

// lease keeps others from writing to an open file, for at most the given time.
func (v *Vault) lease(fd int, most time.Duration) (*lease, error) {
	if v.noLeases {
		return nil, errors.ErrUnsupported
	}
	return takeLease(fd, most)
}

// doubt decides about an empty file that may be about to be filled. Time is
// counted from when it was first seen, because the clock that set the file's
// times may not be ours.
func (v *Vault) doubt(path string, stamp memory.Stamp) error {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	seen, ok := v.emptied[path]
	if !ok || seen.stamp != stamp {
		if v.emptied == nil {
			v.emptied = make(map[string]emptied)
		}
		v.emptied[path] = emptied{stamp, now}
		return ErrChanging
	}
	if now.Sub(seen.since) < believeEmpty {
		return ErrChanging
	}
	return nil
}

func (v *Vault) trust(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.emptied, path)
}

// readAll reads fd to its end. More than limit bytes are too many, however
// large the file was said to be: it may grow while it is read.
func readAll(fd int, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, min(size, limit)+1) // one more, to see the end without growing
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

// Writing reports whether another process has the file open for writing. Where
// the system cannot tell, it reports false. The error is fs.ErrNotExist if there
// is no such file.
func (v *Vault) Writing(path string) (bool, error) {
	writing, err := at(v, path, func(dir int, base string) (bool, error) {
		fd, err := v.openFile(dir, base)
		if err != nil {
			return false, err
		}
		defer unix.Close(fd)
		l, err := v.lease(fd, leaseHold)
		if err == nil {
			l.release()
		}
		return errors.Is(err, errWriter), nil
	})
	return writing, pathError("open", path, err)
}
