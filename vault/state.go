package vault

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// maxState is far more than any state that is kept: a larger file is not ours.
const maxState = 256 << 20

// WriteState replaces the file at path, which is the daemon's own and not below
// a root: only we can read it, and it is the old or the new one whatever
// happens, and on the disk when WriteState returns. Its directory is there, and
// nobody else writes the same path meanwhile.
func WriteState(path string, data []byte) error {
	// The name is always the same, so that a crash leaves at most one.
	draft := path + journal.DraftEnding
	fd, err := retry(func() (int, error) {
		return unix.Open(draft, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return pathError("write state", path, err)
	}
	f := os.NewFile(uintptr(fd), draft)
	err = f.Chmod(0o600) // it may have been there
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		os.Remove(draft)
		return fmt.Errorf("write state: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("write state %s: %w", path, err)
	}
	return nil
}

// ReadState reads a file that WriteState has written. If there is none the
// error is an [fs.ErrNotExist].
func ReadState(path string) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, pathError("read state", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, pathError("read state", path, ErrNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(data) > maxState {
		err = ErrTooLarge
	}
	return data, pathError("read state", path, err)
}

// OpenJournal opens the journal in the directory dir, which is made if there is
// none. Changes are kept for keep, or for ever if it is zero.
func OpenJournal(dir string, keep time.Duration) (*journal.Journal, error) {
	return journal.Open(journal.Disk{MakeDir: PrivateDir, Write: WriteState}, dir, keep)
}
