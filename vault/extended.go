//go:build linux || darwin

package vault

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives the file to the extended attributes of the file from,
// and no others: on Linux its access control list is one of them. What a
// directory gives every new file is taken away again.
func copyAttributes(from, to int) error {
	want, err := attributes(from)
	if err != nil {
		return err
	}
	have, err := attributes(to)
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
		value, err := attribute(from, name)
		if err != nil {
			return fmt.Errorf("extended attribute %s: %w", name, err)
		}
		if slices.Contains(have, name) {
			// Labels that cannot be set are mostly right already.
			if got, err := attribute(to, name); err == nil && bytes.Equal(got, value) {
				continue
			}
		}
		if err := unix.Fsetxattr(to, name, value, 0); err != nil {
			return fmt.Errorf("extended attribute %s: %w", name, err)
		}
	}
	return nil
}

// attributes lists the names of a file's extended attributes, sorted.
func attributes(fd int) ([]string, error) {
	list, err := sized(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if err == unix.ENOTSUP {
		return nil, nil // this file system has none
	}
	if err != nil {
		return nil, fmt.Errorf("extended attributes: %w", err)
	}
	names := strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return names, nil
}

func attribute(fd int, name string) ([]byte, error) {
	return sized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
}

// sized asks for something of which the size has to be asked first, and may
// have grown when it is asked for.
func sized(ask func(buf []byte) (int, error)) ([]byte, error) {
	for {
		size, err := ask(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buf := make([]byte, size)
		if size, err = ask(buf); err != unix.ERANGE {
			return buf[:max(size, 0)], err
		}
	}
}
