// Package vault is the disk: the one door to people's files.
//
// The root is an ordinary directory that anybody may change at any time, so
// nothing is believed for longer than one call. Every access opens the root
// anew (a directory held open would keep a disk from being unmounted) and goes
// down from there without following a symbolic link in any component: a link
// inside the root would turn private text into public text as surely as one
// that leads out of it. What is opened is opened without blocking, checked to
// be a regular file, and read up to a cap.
package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
)

// DefaultMaxFileSize is used where [Vault.MaxFileSize] is zero.
const DefaultMaxFileSize = 4 << 20

// What callers tell apart. They are wrapped in an [fs.PathError], as are
// [fs.ErrNotExist], [fs.ErrPermission] and the errors of the operating system.
var (
	// ErrRoot: the root itself cannot be opened, or its disk does not answer.
	// Nothing is known about any file, least of all that it is gone.
	ErrRoot = errors.New("memory directory cannot be opened")
	// ErrSymlink: the path, or a directory on the way, is a symbolic link.
	ErrSymlink = errors.New("symbolic link")
	// ErrNotRegular: a directory, pipe, socket or device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: larger than [Vault.MaxFileSize].
	ErrTooLarge = errors.New("file too large")
	// ErrSkipped: the name or an ignore pattern says that it is not read.
	ErrSkipped = errors.New("not read")
	// ErrChanging: the file was emptied a moment ago and is probably about to
	// be written. What was last read of it is still the best that is known.
	ErrChanging = errors.New("file is being written")
)

// Absent reports whether err says that there is nothing at the path that may be
// read: it is gone, or what is there is not for reading. Any other error says
// only that reading failed this time, and what was last read stays true.
func Absent(err error) bool {
	for _, target := range []error{fs.ErrNotExist, ErrSymlink, ErrNotRegular, ErrTooLarge, ErrSkipped} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// A Vault is one root. Set the fields before the first call; all methods are
// safe for concurrent use.
type Vault struct {
	// Dir is the root. It may be a symbolic link, it may be missing, and it may
	// be replaced by another directory between any two calls.
	Dir string
	// MaxFileSize is the size in bytes above which a file is not read;
	// [DefaultMaxFileSize] if zero.
	MaxFileSize int64
	// Ignore lists patterns in gitignore's syntax of what is not read, in
	// addition to those of [memory.IgnoreFile].
	Ignore []string
	// Skip says why a file of this path is never read because of its name, or
	// "". If nil, only the simplest rule holds: a name that ends in .md and
	// does not begin with '.', '#' or '~'.
	Skip func(path string) string

	// Catalogue holds what the last look at each path saw.
	Catalogue Catalogue

	steps   steps
	rules   atomic.Pointer[rules]
	mu      sync.Mutex
	emptied map[string]emptied // files last seen empty without a lease

	noLeases bool // as on systems that have none
}

func (v *Vault) maxFileSize() int64 {
	if v.MaxFileSize == 0 {
		return DefaultMaxFileSize
	}
	return v.MaxFileSize
}

// Root identifies the directory that is the root now. The error is an
// [ErrRoot].
func (v *Vault) Root() (memory.FileID, error) {
	return patiently(v, func() (memory.FileID, error) {
		fd, err := v.openRoot()
		if err != nil {
			return memory.FileID{}, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return memory.FileID{}, rootError(v.Dir, err)
		}
		return fileID(&st), nil
	})
}

// Stat looks at a file without opening it. The path is relative to the root,
// with slashes, as it is in [memory.Place].
func (v *Vault) Stat(path string) (memory.Stamp, error) {
	stamp, err := at(v, path, func(dir int, base string) (memory.Stamp, error) {
		st, err := v.lstat(dir, base)
		if err != nil {
			return memory.Stamp{}, err
		}
		return stampOf(st), nil
	})
	return stamp, pathError("stat", path, err)
}

// Directory identifies the directory at path, "" for the root, and reports
// whether there is one; a link to one is none. Where that cannot be told for the
// moment, as while too many files are open, there may be one without an identity.
func (v *Vault) Directory(path string) (memory.FileID, bool) {
	var id memory.FileID
	var err error
	if path == "" {
		id, err = v.Root()
	} else {
		id, err = at(v, path, func(dir int, base string) (memory.FileID, error) {
			var st unix.Stat_t
			if err := fstatat(dir, base, &st); err != nil {
				return memory.FileID{}, err
			}
			if st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return memory.FileID{}, fs.ErrNotExist
			}
			return fileID(&st), nil
		})
	}
	return id, err == nil || exhausted(err) || !Absent(err) && !errors.Is(err, ErrRoot) && !errors.Is(err, fs.ErrPermission)
}

// Look is [Vault.Stat] for a path that may not be one of memory's: names and
// patterns that are not read give [ErrSkipped]. The catalogue keeps what it
// saw.
func (v *Vault) Look(path string) (memory.Stamp, error) {
	if reason := v.Skips(path, false); reason != "" {
		err := pathError("look at", path, fmt.Errorf("%w: %s", ErrSkipped, reason))
		v.Catalogue.look(path, memory.Stamp{}, err, reason)
		return memory.Stamp{}, err
	}
	stamp, err := v.Stat(path)
	v.Catalogue.look(path, stamp, err, reasonOf(err))
	return stamp, err
}

// lstat looks at base in the directory dir and insists on a regular file that
// is not too large.
func (v *Vault) lstat(dir int, base string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := fstatat(dir, base, &st); err != nil {
		return nil, err
	}
	return &st, v.readable(&st)
}

// readable says why a file that looks like st is not read.
func (v *Vault) readable(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ErrSymlink
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	case st.Size > v.maxFileSize():
		return ErrTooLarge
	}
	return nil
}

// reasonOf is the text that a person reads about a path that is skipped, or ""
// where there is nothing to be listed.
func reasonOf(err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRoot) {
		return ""
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// pathError names the operation and the path of an error, once.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var done *fs.PathError
	if errors.As(err, &done) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func rootError(dir string, err error) error {
	// The cause is told but not wrapped: that the root does not exist must
	// never be taken for a file that does not. That too many files are open
	// says nothing of the root.
	if exhausted(err) {
		return &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w: %w", ErrRoot, err)}
	}
	return &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w: %v", ErrRoot, err)}
}

// valid reports whether path is relative, with slashes, without empty, "." and
// ".." components. Unlike [fs.ValidPath] it takes any bytes: names are data.
func valid(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return !strings.Contains(path, "\x00")
}

func stampOf(st *unix.Stat_t) memory.Stamp {
	return memory.Stamp{Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Inode: st.Ino}
}

func fileID(st *unix.Stat_t) memory.FileID {
	return memory.FileID{Device: uint64(st.Dev), Inode: st.Ino}
}
