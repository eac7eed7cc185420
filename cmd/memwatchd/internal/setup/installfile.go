package setup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/state"
)

// settingsFile holds an agent's settings file as it was read.
type settingsFile struct {
	path string      // with all links resolved
	data []byte      // nil if the file is missing
	info fs.FileInfo // nil if the file is missing
	link bool        // the file was found by a symbolic link
}

// openSettings reads a settings file, which may be missing.
func openSettings(path string) (*settingsFile, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if to, err := os.Readlink(path); err == nil {
			return nil, fmt.Errorf("%s: symbolic link to %s, which does not exist: create that file, or remove "+
				"the link", path, to)
		}
		return &settingsFile{path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	f, info, err := config.OpenFile(real, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, agents.MaxSize+1))
	if err != nil {
		return nil, err
	}
	_, err = os.Readlink(path)
	return &settingsFile{path: real, data: data, info: info, link: err == nil}, nil
}

// ThisMachine returns the facts needed to find agents. It returns an error if the user's
// home is unknown.
func ThisMachine() (agents.Machine, error) {
	home, err := os.UserHomeDir()
	return agents.Machine{Home: home, LookPath: exec.LookPath, Read: func(path string) ([]byte, error) {
		s, err := openSettings(path)
		if err != nil {
			return nil, err
		}
		return s.data, nil
	}}, err
}

// replace replaces the file through a temporary file, if it is unchanged since
// it was read. A complete file exists at any time, with the previous owner
// and mode.
func (s *settingsFile) replace(data []byte) error {
	if s.info == nil {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
			return err
		}
	} else if err := s.checkReplaceable(); err != nil {
		return err
	}
	return state.Replace(s.path, 0o600, data, func(temp *os.File) error {
		if s.info != nil {
			owner := s.info.Sys().(*syscall.Stat_t) // another one if root runs the command
			if err := errors.Join(temp.Chown(int(owner.Uid), int(owner.Gid)), temp.Chmod(s.info.Mode().Perm())); err != nil {
				return err
			}
		}
		return s.checkUnchanged()
	})
}

// remove removes the file at a path, if it is unchanged since it was read there.
// Of a symbolic link, it removes only the link.
func (s *settingsFile) remove(path string) error {
	if err := cmp.Or(s.checkReplaceable(), s.checkUnchanged()); err != nil {
		return err
	}
	return os.Remove(path)
}

// checkUnchanged returns an error if the file differs from the one that was read.
func (s *settingsFile) checkUnchanged() error {
	now, err := openSettings(s.path)
	if err != nil {
		return err
	}
	if (now.info == nil) != (s.info == nil) || !bytes.Equal(now.data, s.data) {
		return fmt.Errorf("%s: the file changed during the operation; nothing was written: try again", s.path)
	}
	return nil
}

// checkReplaceable returns an error if an existing file must not be replaced.
func (s *settingsFile) checkReplaceable() error {
	if s.info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s: the file is read-only", s.path)
	}
	return nil
}
