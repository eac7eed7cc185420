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

// maxState exceeds every state file by far: a larger file is foreign.
const maxState = 256 << 20

// WriteState atomically replaces the daemon's state file at path, which is not
// below a root. The file is readable by this user only, and is durable on disk
// when WriteState returns nil. On error the file has its old or its new
// content. The directory must exist, and no concurrent call may write the same
// path.
func WriteState(path string, data []byte) error {
	// The name is fixed, so that crashes leave at most one such file.
	draft := path + journal.TempSuffix
	fd, err := openAt(unix.AT_FDCWD, draft, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return pathError("write state", path, err)
	}
	f := os.NewFile(uintptr(fd), draft)
	err = f.Chmod(0o600) // an existing file may have another mode
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

// ReadState returns the content of a file written by WriteState. If the file is
// missing, the error is an [fs.ErrNotExist].
func ReadState(path string) ([]byte, error) {
	fd, err := openAt(unix.AT_FDCWD, path, readOnly)
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

// OpenJournal calls [journal.Open] with [PrivateDir] and [WriteState] as its
// access to the disk.
func OpenJournal(dir string, keep time.Duration) (*journal.Journal, error) {
	return journal.Open(journal.Disk{MakeDir: PrivateDir, Write: WriteState}, dir, keep)
}
