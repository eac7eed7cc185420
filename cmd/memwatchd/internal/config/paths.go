package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// resolvePaths makes the relative paths in the file of a configuration relative to dir,
// the directory of the file. The paths are the strings with the tag path.
func resolvePaths(v reflect.Value, dir string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).Tag.Get("path") != "" {
				f.SetString(resolvePath(dir, f.String()))
			} else {
				resolvePaths(f, dir)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			resolvePaths(v.Index(i), dir)
		}
	}
}

// resolvePath returns a path that is not empty relative to dir.
func resolvePath(dir, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~/") {
		return path
	}
	return filepath.Join(dir, path)
}

// finishPath makes the path of a key absolute, unless it is empty.
func finishPath(key string, path *string) (err error) {
	if *path == "" {
		return nil
	}
	*path, err = AbsolutePath(*path)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// finishOutside is finishPath for a path that must not be in the memory directory.
func (c *Config) finishOutside(key string, path *string) error {
	if err := finishPath(key, path); err != nil {
		return err
	}
	if *path != "" && IsWithin(*path, c.Memory.Dir) {
		return fmt.Errorf("%s: %s is in the memory directory, where it would be indexed and synchronized: move it out",
			key, *path)
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
