package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// Flags are the command-line flags that select and override the configuration. Errors
// contain the tags as keys.
type Flags struct {
	File   string `yaml:"--config" path:"true"`
	Name   string
	Dir    string `yaml:"--dir" path:"true"`
	Listen string // of serve: the owner's socket, in place of the configured one
}

// Command returns the shell command that runs a memwatchd command on the same
// memory.
func (f Flags) Command(words string) string {
	return term.ShellLine(append([]string{"memwatchd"}, f.Words()...)...) + " " + words
}

// Load returns the configuration: the defaults, overridden by the file, the
// environment and the flags, in this order. Relative paths in the file are relative to
// its directory, others to the working directory. A missing file is an error only if
// flags.File names it. If neither the flags nor the environment select a file by path
// or name, flags.Dir selects the file that names this directory, if there is one. On
// error Load returns nil.
func Load(flags Flags, environ []string) (*Config, error) {
	c := Default()
	defaultDir := c.Memory.Dir
	c.Memory.Dir = ""
	name, path := selectFile(flags, environ)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		c.File = path
		if err := c.readYAML(path, text); err != nil {
			return nil, err
		}
		_ = eachPath(reflect.ValueOf(c).Elem(), func(p string) (string, error) { // no error
			return resolvePath(filepath.Dir(path), p), nil
		})
	case flags.File != "" || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := c.readEnv(environ); err != nil {
		return nil, err
	}
	c.Name = cmp.Or(name, c.Name)
	if c.Memory.Dir != "" && flags.Dir != "" && !sameDir(c.Memory.Dir, flags.Dir) {
		c.OtherDir = c.Memory.Dir
	}
	c.Memory.Dir = cmp.Or(flags.Dir, c.Memory.Dir)
	c.NamesDir = c.Memory.Dir != ""
	c.Memory.Dir = cmp.Or(c.Memory.Dir, defaultDir)
	if flags.Listen != "" {
		c.listenOn(flags.Listen)
	}
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// selectFile returns the path of the configuration file, and the name of the
// memory if it does not depend on the text of the file.
func selectFile(flags Flags, environ []string) (name, path string) {
	name, path = flags.Name, flags.File
	if i := slices.IndexFunc(environ, func(s string) bool { return strings.HasPrefix(s, EnvPrefix+"NAME=") }); i >= 0 &&
		name == "" {
		name = strings.TrimPrefix(environ[i], EnvPrefix+"NAME=")
	}
	if name == "" && path == "" && flags.Dir != "" {
		name = NameOf(flags.Dir)
	}
	return name, cmp.Or(path, filepath.Join(xdg.ConfigHome, "memwatchd", cmp.Or(name, Default().Name)+".yaml"))
}

// FindName returns the name of the memory that the flags select, even if the
// configuration is invalid. If a flag names a file or a directory, and the name
// is uncertain, FindName returns an error.
func FindName(flags Flags, environ []string) (string, error) {
	c, invalid := Load(flags, environ)
	if invalid == nil {
		return c.Name, nil
	}
	name, path := selectFile(flags, environ)
	if name != "" {
		return name, nil
	}
	var file struct{ Name string }
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil && flags.File != "" || flags.File == "" && flags.Dir != "" {
		return "", fmt.Errorf("the name of the memory is uncertain, set --name: %w", invalid)
	}
	return cmp.Or(file.Name, Default().Name), nil
}

// NameOf returns the name of the configuration file of a memory directory, or ""
// if no file in the user's configuration directory names it.
func NameOf(dir string) string {
	files, _ := filepath.Glob(filepath.Join(xdg.ConfigHome, "memwatchd", "*.yaml")) // fails if the path is a pattern
	for _, file := range files {
		var c struct{ Memory struct{ Dir string } }
		text, err := os.ReadFile(file)
		if err == nil && yaml.Unmarshal(text, &c) == nil && c.Memory.Dir != "" &&
			sameDir(resolvePath(filepath.Dir(file), c.Memory.Dir), dir) {
			return strings.TrimSuffix(filepath.Base(file), ".yaml")
		}
	}
	return ""
}

// sameDir reports whether two paths name the same directory.
func sameDir(a, b string) bool {
	a, err1 := AbsolutePath(a)
	b, err2 := AbsolutePath(b)
	return err1 == nil && err2 == nil && RealPath(a) == RealPath(b)
}

// Words returns the flags as arguments of another command on the same memory.
func (f Flags) Words() (words []string) {
	for _, flag := range [][2]string{{"--config", f.File}, {"--name", f.Name}, {"--dir", f.Dir}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}

// Absolute returns the flags with absolute paths, for a program that starts in
// another directory. The errors are those of [AbsolutePath], with the flag.
func (f Flags) Absolute() (Flags, error) {
	err := eachPath(reflect.ValueOf(&f).Elem(), AbsolutePath)
	return f, err
}
