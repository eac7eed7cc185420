package vault

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes makes the extended attributes of the file to equal those of
// the file from. On Linux the attributes include the access control list.
// Attributes that the directory gives to each new file are removed.
func copyAttributes(from, to int) error {
	want, err := listAttributes(from)
	if err != nil {
		return err
	}
	have, err := listAttributes(to)
	if err != nil {
		return err
	}
	for _, name := range have {
		if !slices.Contains(want, name) && !ownAttribute(name) {
			if err := unix.Fremovexattr(to, name); err != nil {
				return fmt.Errorf("extended attribute %s: %w", name, err)
			}
		}
	}
	for _, name := range want {
		if ownAttribute(name) {
			continue
		}
		value, err := readAttribute(from, name)
		if err != nil {
			return fmt.Errorf("extended attribute %s: %w", name, err)
		}
		if err := unix.Fsetxattr(to, name, value, 0); err != nil {
			// A label that cannot be set usually has the right value already.
			if got, failure := readAttribute(to, name); failure != nil || !bytes.Equal(got, value) {
				return fmt.Errorf("extended attribute %s: %w", name, err)
			}
		}
	}
	return nil
}

// listAttributes returns the names of a file's extended attributes, sorted.
func listAttributes(fd int) ([]string, error) {
	list, err := readSized(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if err == unix.ENOTSUP {
		return nil, nil // the file system has no extended attributes
	}
	if err != nil {
		return nil, fmt.Errorf("extended attributes: %w", err)
	}
	names := strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return names, nil
}

func readAttribute(fd int, name string) ([]byte, error) {
	return readSized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
}

// readSized returns the result of a call whose size must be requested first and may
// grow before the second call.
func readSized(ask func(buf []byte) (int, error)) ([]byte, error) {
	for {
		size, err := ask(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buf := make([]byte, size)
		size, err = ask(buf)
		if err != unix.ERANGE {
			return buf[:max(size, 0)], err
		}
	}
}
