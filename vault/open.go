package vault

import (
	"container/list"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// openRoot opens the root itself, which the user may have configured as a
// symbolic link.
func (v *Vault) openRoot() (int, error) {
	fd, err := openAt(unix.AT_FDCWD, v.Dir, pathOnly|unix.O_DIRECTORY)
	if err != nil {
		return -1, rootError(v.Dir, err)
	}
	return fd, nil
}

// A dirEntry is the open directory of a file and the name of the file in it.
type dirEntry struct {
	path string
	dir  int
	base string
}

func (s *dirEntry) close() { unix.Close(s.dir) }

// openParent opens the directory of a file, with the flags of openDir.
func (v *Vault) openParent(path string, flags int) (*dirEntry, error) {
	if !isValidPath(path) {
		return nil, fs.ErrNotExist
	}
	root, err := v.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	parent, base := cutLast(path)
	dir, err := openDir(root, parent, flags)
	if err != nil {
		return nil, err
	}
	return &dirEntry{path, dir, base}, nil
}

// withParent calls do with the open directory of a file.
func withParent[T any](v *Vault, path string, do func(s *dirEntry) (T, error)) (T, error) {
	return runWithTimeout(v, func() (none T, err error) {
		s, err := v.openParent(path, pathOnly)
		if err != nil {
			return none, err
		}
		defer s.close()
		return do(s)
	})
}

// openDir opens the directory at path below the root, one component at a time, and
// follows no symbolic link; "" is the root. The flags are pathOnly, or O_RDONLY for
// reading its entries. [os.Root] would follow links within the root.
func openDir(root int, path string, flags int) (int, error) {
	if path == "" {
		path = "."
	}
	dir := root
	for {
		name, rest, more := strings.Cut(path, "/")
		how := flags
		if more {
			how = pathOnly
		}
		fd, err := openAt(dir, name, how|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err == unix.ENOTDIR {
			// The kernel reports ENOTDIR for a link, even if it leads to a
			// directory.
			var st unix.Stat_t
			if fstatat(dir, name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		if dir != root {
			unix.Close(dir)
		}
		if err != nil || !more {
			return fd, translateErrno(err)
		}
		dir, path = fd, rest
	}
}

// openFile opens a regular file for reading. It opens nothing else, because
// merely opening a device or pipe can block or have side effects.
func (v *Vault) openFile(s *dirEntry) (int, error) {
	if _, err := v.lstat(s.dir, s.base); err != nil {
		return -1, err
	}
	fd, err := openAt(s.dir, s.base, readOnly)
	return fd, translateErrno(err)
}

// readOnly opens a file without following a link or waiting for a pipe.
const readOnly = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK

// openAt opens a file. It creates files that only this user can access.
func openAt(dir int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o600) })
}

func fstatat(dir int, base string, st *unix.Stat_t) error {
	_, err := retry(func() (int, error) {
		return 0, unix.Fstatat(dir, base, st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return translateErrno(err)
}

// translateErrno maps errors of opening files to the errors of this package.
func translateErrno(err error) error {
	switch err {
	case unix.ELOOP:
		return ErrSymlink
	case unix.ENOTDIR, unix.ENAMETOOLONG:
		return fs.ErrNotExist
	}
	return err
}

// Files are open only briefly, so retrying nearly always succeeds when too many
// are open. retryTime bounds the retries.
const (
	retryTime  = time.Second
	retryPause = 10 * time.Millisecond
)

// retry repeats a call interrupted by a signal, as happens on network file
// systems, and for a while a call that failed because too many files are open.
func retry(do func() (int, error)) (int, error) {
	for waited := time.Duration(0); ; {
		fd, err := do()
		switch {
		case err == nil:
			return fd, nil
		case err == unix.EINTR:
		case isFileLimit(err) && waited < retryTime:
			time.Sleep(retryPause)
			waited += retryPause
		default:
			return -1, err
		}
	}
}

// isFileLimit reports whether err means that this process or the machine has too
// many files open. Such an error does not concern the file being opened.
func isFileLimit(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// cutLast splits off the last component of a path. The parent is "" for a file
// in the root.
func cutLast(path string) (parent, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func joinPath(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}

// stepTimeout bounds one step of disk access. A step may block forever if the
// server of a network file system is unreachable or a disk is failing, and
// cannot be cancelled.
const stepTimeout = 5 * time.Second

// errNoResponse reports a step longer than stepTimeout.
var errNoResponse = errors.New("the file system does not respond")

// steps lists the pending disk operations, the oldest first. While the oldest
// step exceeds stepTimeout, new steps fail at once; this bounds the number of
// blocked goroutines.
type steps struct {
	mu   sync.Mutex
	list list.List // of start times
}

type step = *list.Element

func (s *steps) begin() step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.PushBack(time.Now())
}

func (s *steps) end(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Remove(e)
}

func (s *steps) isStuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.list.Front()
	return first != nil && time.Since(first.Value.(time.Time)) >= stepTimeout
}

// runStep calls do as one step.
func (v *Vault) runStep(do func() error) error {
	e := v.steps.begin()
	defer v.steps.end(e)
	return do()
}

// withTimeout calls do, which consists of steps. If the disk does not respond, the
// error is an [ErrRoot], because the state of every file is unknown; the context
// of do then ends, and do ends when it can.
func withTimeout[T any](ctx context.Context, v *Vault, do func(ctx context.Context) (T, error)) (T, error) {
	var none, result T
	if v.steps.isStuck() {
		return none, rootError(v.Dir, errNoResponse)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = do(ctx)
	}()
	tick := time.NewTicker(stepTimeout / 5)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return result, err
		case <-tick.C:
			if v.steps.isStuck() {
				return none, rootError(v.Dir, errNoResponse)
			}
		}
	}
}

// runWithTimeout calls do as one step, see [withTimeout].
func runWithTimeout[T any](v *Vault, do func() (T, error)) (T, error) {
	return withTimeout(context.Background(), v, func(context.Context) (result T, err error) {
		err = v.runStep(func() error { result, err = do(); return err })
		return result, err
	})
}
