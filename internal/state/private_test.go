package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrivateDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	for range 2 {
		must(t, PrivateDir(dir))
	}
	mode := func(name string) os.FileMode {
		st, err := os.Stat(name)
		must(t, err)
		return st.Mode().Perm()
	}
	if got := mode(dir); got != 0o700 {
		t.Errorf("directory has mode %o", got)
	}
	if got := mode(filepath.Dir(dir)); got != 0o700 {
		t.Errorf("directory above has mode %o", got)
	}
	tag := filepath.Join(dir, "CACHEDIR.TAG")
	if text, err := os.ReadFile(tag); err != nil || !strings.HasPrefix(string(text), "Signature: 8a477f597d28d172789f06886806bc55\n") || mode(tag) != 0o600 {
		t.Errorf("tag is %q, %v", text, err)
	}
	// Files that others could only read become private.
	open := filepath.Join(dir, "catalogue")
	must(t, os.WriteFile(open, nil, 0o600))
	must(t, os.Chmod(open, 0o644))
	must(t, os.Chmod(dir, 0o755))
	must(t, PrivateDir(dir))
	if mode(dir) != 0o700 || mode(open) != 0o600 {
		t.Errorf("modes are %o and %o", mode(dir), mode(open))
	}
}

// TestPrivateDirRefuses checks the directories that PrivateDir accepts, and why it
// rejects others.
func TestPrivateDirRefuses(t *testing.T) {
	base := t.TempDir()
	dir := func(p string) error { return os.Mkdir(p, 0o700) }
	file := func(mode os.FileMode) func(p string) error {
		return func(p string) error {
			x := filepath.Join(p, "x")
			return errors.Join(os.Mkdir(p, 0o700), os.WriteFile(x, nil, 0o600), os.Chmod(x, mode))
		}
	}
	for _, c := range []struct {
		name string
		make func(path string) error
		want string // "" if the directory is accepted
	}{
		{"none", func(string) error { return nil }, ""},
		{"ours", dir, ""},
		{"readable", func(p string) error { return os.Mkdir(p, 0o755) }, ""}, // becomes private
		{"link-inside", func(p string) error { return errors.Join(dir(p), os.Symlink("/dev/null", filepath.Join(p, "x"))) }, ""},
		{"writable", func(p string) error { return errors.Join(dir(p), os.Chmod(p, 0o770)) }, "writable by other users (mode 0770)"},
		{"link", func(p string) error { return os.Symlink("ours", p) }, "symbolic link; use the path of the directory itself"},
		{"file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "not a directory"},
		{"with-file", file(0o602), "with-file/x: writable by other users (mode 0602)"},
		{"foreign", func(p string) error { return errors.Join(dir(p), os.Chown(p, 12345, 12345)) }, "belongs to user 12345"},
	} {
		path := filepath.Join(base, c.name)
		if err := c.make(path); err != nil && os.Geteuid() != 0 {
			continue // only root can give files away
		} else if err != nil {
			t.Fatal(err)
		}
		err := PrivateDir(path)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), path) != 1) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
