package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// eachPath replaces the paths of a configuration that are set by the results of f. The
// paths are the strings with the tag path. An error begins with the key.
func eachPath(v reflect.Value, f func(path string) (string, error)) error {
	for _, k := range KeysOf(v.Type()) {
		field := v.FieldByIndex(k.index)
		switch {
		case k.Tag("path") != "" && field.String() != "":
			path, err := f(field.String())
			if err != nil {
				return fmt.Errorf("%s: %s: %w", k.Name, field, err)
			}
			field.SetString(path)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			err := checkEach(k.Name, field.Len(), func(i int) error { return eachPath(field.Index(i), f) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// resolvePath returns a path relative to dir.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") {
		return path
	}
	return filepath.Join(dir, path)
}

// checkOutside returns an error if the path of a key is in the memory directory.
func (c *Config) checkOutside(key, path string) error {
	if path != "" && IsWithin(path, c.Memory.Dir) {
		return fmt.Errorf("%s: %s is in the memory directory, where it would be indexed and synchronized: move it out",
			key, path)
	}
	return nil
}

// AbsolutePath returns an absolute path and expands a leading "~/". It returns
// an error if the home or the working directory is unknown.
func AbsolutePath(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	return filepath.Abs(path)
}

// IsWithin reports whether path is dir or lies below dir.
func IsWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
