// Package state reads and replaces small files that only memwatchd writes, in
// directories that only this user can read.
package state

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// TempSuffix is the suffix of the files that [Write] writes before it renames
// them.
const TempSuffix = ".new"

// maxSize exceeds every state file by far: a larger file is foreign.
const maxSize = 256 << 20

var errNotRegular = errors.New("not a regular file")

// Write atomically replaces the state file at path. The file is readable by this
// user only, and is durable on disk when Write returns nil. On error the file has
// its old or its new content. The directory must exist, and no concurrent call may
// write the same path.
func Write(path string, data []byte) error {
	return WriteFrom(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFrom is like [Write] with the content that a function writes.
func WriteFrom(path string, write func(io.Writer) error) error {
	// The name is fixed, so that crashes leave at most one such file.
	err := replace(path, path+TempSuffix, syscall.O_TRUNC|syscall.O_NONBLOCK, 0o600, write, func(f *os.File) error {
		return f.Chmod(0o600) // an existing file may have another mode
	})
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// Replace atomically replaces a file that other programs may write, too. It calls
// check, if that is not nil, with the complete new file before it renames it.
func Replace(path string, mode fs.FileMode, data []byte, check func(*os.File) error) error {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".memwatchd-"+rand.Text())
	return replace(path, temp, os.O_EXCL, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}, check)
}

// replace writes a temporary file and renames it to path, unless check, which may be nil,
// returns an error.
func replace(path, temp string, flags int, mode fs.FileMode, write func(io.Writer) error,
	check func(*os.File) error) error {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|flags, mode)
	if err != nil {
		return fmt.Errorf("create temporary file: %w", err)
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && check != nil {
		err = check(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Read returns the content of a state file. If the file is missing, the error is
// an [fs.ErrNotExist].
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	}
	if err == nil && len(data) > maxSize {
		err = errors.New("file is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("read state %s: %w", path, err)
	}
	return data, nil
}

// Save replaces a state file with the JSON text of a value.
func Save(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return Write(path, data)
}

// Load decodes a state file that [Save] wrote into v. Unless version is 0, the text
// must have that version. A file with another version, such as that of a newer
// program, or a damaged one is renamed; the error contains its new name. If the file
// is missing, the error is an [fs.ErrNotExist].
func Load(path string, version int, v any) error {
	data, err := Read(path)
	if err != nil {
		return err
	}
	var head struct{ Version int }
	if version != 0 {
		err = json.Unmarshal(data, &head)
	}
	if err == nil && head.Version != version {
		err = fmt.Errorf("has version %d instead of %d", head.Version, version)
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err == nil {
		return nil
	}
	return SetAside(path, err)
}

// AsideSuffix is the suffix of the files that [SetAside] has renamed.
const AsideSuffix = ".unused"

// SetAside renames a state file that cannot be used, so that its content is kept,
// and returns the reason with the new name.
func SetAside(path string, reason error) error {
	aside := path + AsideSuffix
	if err := os.Rename(path, aside); err != nil {
		return fmt.Errorf("state file %s is unusable: %w", path, reason)
	}
	return fmt.Errorf("state file %s is unusable and was renamed to %s: %w", path, filepath.Base(aside), reason)
}

// RemoveFiles removes the files in a directory whose names match a pattern.
func RemoveFiles(dir, pattern string) error {
	paths, err := Glob(dir, pattern)
	errs := []error{err}
	for _, path := range paths {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// Glob returns the paths of the files in a directory whose names match a pattern of
// [path.Match], sorted. Unlike [filepath.Glob], it takes the name of the directory
// literally. A missing directory has no files.
func Glob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}
