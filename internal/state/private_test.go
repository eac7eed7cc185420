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

func TestPrivateDirRefuses(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, d := range []string{"writable", "own", "with-file", "others"} {
		must(t, os.Mkdir(at(d), 0o700))
	}
	must(t, os.Chmod(at("writable"), 0o770))
	must(t, os.Symlink("own", at("link")))
	must(t, os.WriteFile(at("file"), nil, 0o600))
	must(t, os.WriteFile(at("with-file/x"), nil, 0o600))
	must(t, os.Chmod(at("with-file/x"), 0o602))
	want := map[string]string{
		"writable":  "writable by other users (mode 0770)",
		"link":      "symbolic link; use the path of the directory itself",
		"file":      "not a directory",
		"with-file": "with-file/x: writable by other users (mode 0602)",
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(at("others"), 12345, 12345))
		want["others"] = "belongs to user 12345"
	}
	for name, want := range want {
		if err := PrivateDir(at(name)); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), at(name)) != 1 {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestPrivateDirChecks(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		make func(path string) error
		ok   bool
	}{
		{"none", func(string) error { return nil }, true},
		{"ours", func(p string) error { return os.Mkdir(p, 0o700) }, true},
		{"read by others", func(p string) error { return os.Mkdir(p, 0o755) }, true}, // becomes private
		{"written by others", func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o777)) }, false},
		{"link", func(p string) error { return os.Symlink(dir, p) }, false},
		{"file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, false},
		{"file written by others", func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.WriteFile(filepath.Join(p, "x"), nil, 0o600), os.Chmod(filepath.Join(p, "x"), 0o666))
		}, false},
		{"link inside", func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.Symlink("/dev/null", filepath.Join(p, "x")))
		}, true},
	} {
		path := filepath.Join(dir, c.name)
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		if err := PrivateDir(path); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
