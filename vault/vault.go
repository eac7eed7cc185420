// Package vault reads and writes the files of the memory directory. No other
// package accesses these files.
//
// The root is an ordinary directory that any program may change at any time, so
// no state is trusted beyond one call. Every access opens the root again,
// because a directory held open would prevent unmounting its file system. It
// then descends without following a symbolic link in any component: a link
// inside the root could turn private text into public text as easily as a link
// that leads out of it. Files are opened without blocking, checked to be
// regular, and read up to a size limit.
package vault

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// DefaultMaxFileSize is the limit if [Vault.MaxFileSize] is zero.
const DefaultMaxFileSize = 4 << 20

// Errors that callers distinguish. They are wrapped in an [fs.PathError], as
// are [fs.ErrNotExist], [fs.ErrPermission] and the errors of the operating
// system.
var (
	// ErrRoot reports that the root cannot be opened or that its disk does not
	// respond. The state of every file is then unknown; in particular, no file
	// may be assumed to be gone.
	ErrRoot = errors.New("cannot open the memory directory")
	// ErrSymlink reports that the path or a directory on it is a symbolic link.
	ErrSymlink = errors.New("symbolic link")
	// ErrNotRegular reports a directory, pipe, socket or device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge reports a file larger than [Vault.MaxFileSize].
	ErrTooLarge = errors.New("file too large")
	// ErrSkipped reports a path excluded by its name or an ignore pattern.
	ErrSkipped = errors.New("skipped")
	// ErrChanging reports that the file was just emptied and is probably about
	// to be written. The content last read stays the best available.
	ErrChanging = errors.New("file is being written")
)

// Absent reports whether err means that the path has no readable file: it does
// not exist or is excluded from reading. Any other error means only that this
// attempt failed, and the content last read stays valid.
func Absent(err error) bool {
	absent := []error{fs.ErrNotExist, ErrSymlink, ErrNotRegular, ErrTooLarge, ErrSkipped}
	return slices.ContainsFunc(absent, func(target error) bool { return errors.Is(err, target) })
}

// A Vault gives access to one root. Set the fields before the first call; all
// methods are safe for concurrent use.
type Vault struct {
	// Dir is the path of the root. The root may be a symbolic link, may be
	// missing, and may be replaced by another directory between any two calls.
	Dir string
	// MaxFileSize is the size in bytes above which a file is not read;
	// [DefaultMaxFileSize] if zero.
	MaxFileSize int64
	// Ignore lists exclusion patterns in gitignore syntax, in addition to those
	// of [disk.IgnoreFile].
	Ignore []string
	// Skip returns why a file is never read because of its name, or "". If nil,
	// only the simplest rule applies: the name ends in .md and does not begin
	// with '.', '#' or '~'.
	Skip func(path string) string
	// SkipDir returns why nothing in a directory is read, because of its name, or
	// "". If nil, only hidden directories are excluded.
	SkipDir func(path string) string

	// Catalogue contains the latest observation of each path.
	Catalogue Catalogue

	steps steps
	rules atomic.Pointer[rules]

	noLeases bool // simulates a system without leases
}

func (v *Vault) maxFileSize() int64 { return cmp.Or(v.MaxFileSize, DefaultMaxFileSize) }

// Root returns the identity of the directory that is currently the root. The
// error is an [ErrRoot].
func (v *Vault) Root() (disk.FileID, error) {
	return runWithTimeout(v, func() (disk.FileID, error) {
		fd, err := v.openRoot()
		if err != nil {
			return disk.FileID{}, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return disk.FileID{}, rootError(v.Dir, err)
		}
		return fileID(&st), nil
	})
}

// A FileSystem describes the file system of a directory.
type FileSystem struct {
	Name   string // such as ext4; its number if it has no known name
	Remote string // why events do not report the changes of other machines; empty if they do
}

// FileSystemOf describes the file system of the directory dir, or returns the
// error of statfs(2). It may block on a disk that does not respond.
func FileSystemOf(dir string) (FileSystem, error) {
	var st unix.Statfs_t
	if _, err := retry(func() (int, error) { return 0, unix.Statfs(dir, &st) }); err != nil {
		return FileSystem{}, pathError("statfs", dir, err)
	}
	return describeFileSystem(&st), nil
}

// Remote returns why events for the file system of the directory dir are incomplete,
// or "".
func (v *Vault) Remote(dir string) string {
	fs, _ := FileSystemOf(dir)
	return fs.Remote
}

// RealPath returns the path of the root directory without symbolic links.
func (v *Vault) RealPath() (string, error) {
	return runWithTimeout(v, func() (string, error) {
		real, err := filepath.EvalSymlinks(v.Dir)
		if err != nil {
			return "", rootError(v.Dir, err)
		}
		return real, nil
	})
}

// Stat returns the stamp of a file without opening it. The path is relative to
// the root, with slashes, as in [memory.Place]. If there is no regular file at
// path, the error is one for which [Absent] reports true.
func (v *Vault) Stat(path string) (disk.Stamp, error) {
	stamp, err := withParent(v, path, func(s *dirEntry) (disk.Stamp, error) {
		st, err := v.lstat(s.dir, s.base)
		if err != nil {
			return disk.Stamp{}, err
		}
		return stampOf(st), nil
	})
	return stamp, pathError("stat", path, err)
}

// Directory returns the identity of the directory at path, "" for the root, and
// reports whether a directory exists there. A link to a directory does not
// count. If a temporary failure, such as too many open files, hides the answer,
// Directory reports true with a zero identity.
func (v *Vault) Directory(path string) (disk.FileID, bool) {
	var id disk.FileID
	var err error
	if path == "" {
		id, err = v.Root()
	} else {
		id, err = withParent(v, path, func(s *dirEntry) (disk.FileID, error) {
			var st unix.Stat_t
			if err := fstatat(s.dir, s.base, &st); err != nil {
				return disk.FileID{}, err
			}
			if st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return disk.FileID{}, fs.ErrNotExist
			}
			return fileID(&st), nil
		})
	}
	return id, err == nil || isFileLimit(err) ||
		!Absent(err) && !errors.Is(err, ErrRoot) && !errors.Is(err, fs.ErrPermission)
}

// Observe is [Vault.Stat] for a path that may be excluded: it returns [ErrSkipped]
// for excluded names and patterns. It stores the result in the catalogue.
func (v *Vault) Observe(path string) (disk.Stamp, error) {
	if reason := v.Skips(path, false); reason != "" {
		err := pathError("stat", path, fmt.Errorf("%w: %s", ErrSkipped, reason))
		v.Catalogue.setObserved(path, disk.Stamp{}, err, reason)
		return disk.Stamp{}, err
	}
	stamp, err := v.Stat(path)
	v.Catalogue.setObserved(path, stamp, err, reasonOf(err))
	return stamp, err
}

// lstat returns the attributes of base in the directory dir. The error reports
// a file that is not regular or is too large.
func (v *Vault) lstat(dir int, base string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := fstatat(dir, base, &st); err != nil {
		return nil, err
	}
	return &st, v.checkReadable(&st)
}

// checkReadable returns why a file with the attributes st is not read, or nil.
func (v *Vault) checkReadable(st *unix.Stat_t) error {
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

// reasonOf returns the reason that lists show for a skipped path, or "" if the
// path is not to be listed.
func reasonOf(err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRoot) {
		return ""
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// pathError adds the operation and the path to an error, unless it has them
// already.
func pathError(op, path string, err error) error {
	if _, done := errors.AsType[*fs.PathError](err); err == nil || done {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func rootError(dir string, err error) error {
	// The text contains the cause, but the error does not wrap it: callers must
	// not mistake a missing root for a missing file. Only too many open files
	// are wrapped, because callers check for that error.
	if isFileLimit(err) {
		return &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w: %w", ErrRoot, err)}
	}
	return &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w: %v", ErrRoot, err)}
}

// isValidPath reports whether path is relative, with slashes, and without empty, "."
// and ".." components. Unlike [fs.ValidPath], it accepts any bytes: names are
// data.
func isValidPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return !strings.Contains(path, "\x00")
}

func stampOf(st *unix.Stat_t) disk.Stamp {
	return disk.Stamp{Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Inode: st.Ino}
}

func fileID(st *unix.Stat_t) disk.FileID {
	return disk.FileID{Device: uint64(st.Dev), Inode: st.Ino}
}
