package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	program   = "memwatchd"
	checksums = "SHA256SUMS"
)

var platforms = []platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}

// A platform is a system and a processor, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// NodeOS, NodeCPU and Node return the names of the platform in packages of npm.
func (p platform) NodeOS() string  { return p.os }
func (p platform) NodeCPU() string { return strings.Replace(p.arch, "amd64", "x64", 1) }
func (p platform) Node() string    { return p.NodeOS() + "-" + p.NodeCPU() }

// documents contains the paths in the repository that every archive includes.
var documents = []string{"README.md", "LICENSE", "config.example.yaml", "docs"}

// made returns the release of the checked-out commit of a repository: the
// archives and their checksums. It works in a temporary directory whose name
// begins with name. If fresh is set, it does not use the compiler cache. It
// returns an error if there are uncommitted changes.
func made(repository, name string, fresh bool) ([]file, error) {
	changes, err := output(repository, nil, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("what is not committed cannot be released:\n%s", changes)
	}
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m := &maker{source: filepath.Join(dir, "source"), built: filepath.Join(dir, "built")}
	if fresh {
		m.cache = filepath.Join(dir, "cache")
	}
	if err := m.clone(repository); err != nil {
		return nil, err
	}
	return m.all()
}

type maker struct {
	source  string // the clone
	built   string // directory of built programs
	cache   string // compiler cache; the default cache if empty
	version string // version of the last built program
	when    time.Time
}

// clone clones the checked-out commit of a repository with the tags, without
// other files in the directory of the repository.
func (m *maker) clone(repository string) error {
	commit, err := output(repository, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	repository, err = filepath.Abs(repository)
	if err != nil {
		return err
	}
	if _, err := output(".", nil, "git", "clone", "--quiet", "--no-checkout", repository, m.source); err != nil {
		return err
	}
	if _, err := output(m.source, nil, "git", "-c", "advice.detachedHead=false", "checkout", "--quiet",
		commit); err != nil {
		return err
	}
	seconds, err := output(m.source, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	m.when, err = time.Parse(time.RFC3339, seconds)
	return err
}

// all returns the packages, the files that describe them, and the checksums.
func (m *maker) all() ([]file, error) {
	host, err := m.build(platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	common, err := m.common(host)
	if err != nil {
		return nil, err
	}
	d, err := m.describe()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, p := range platforms {
		more, err := m.packages(d.on(p), common)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		files = append(files, more...)
	}
	for _, packages := range []func(*description) ([]file, error){m.image, m.descriptions} {
		more, err := packages(d)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintln(&sums, checksum(f))
	}
	return append(files, file{name: checksums, data: sums.Bytes()}), nil
}

// checksum returns the line of a file in SHA256SUMS.
func checksum(f file) string { return fmt.Sprintf("%x  %s", sha256.Sum256(f.data), f.name) }

// packages returns the packages for one platform. The common files are in each
// of them that installs more than the program.
func (m *maker) packages(d *description, common []file) ([]file, error) {
	path, err := m.build(d.Platform)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	bin := file{name: program, data: data, executable: true}
	name := fmt.Sprintf("%s-%s-%s", program, d.Version, d.Platform)
	contents := append(slices.Clone(common), bin)
	packed, err := archive(name, contents, m.when)
	if err != nil {
		return nil, err
	}
	files := []file{{name: name + ".tar.gz", data: packed}}
	for _, packages := range []func() ([]file, error){
		func() ([]file, error) { return m.materials(d, path) },
		func() ([]file, error) { return m.node(d, bin) },
		func() ([]file, error) { return m.bundle(d, bin) },
		func() ([]file, error) { return m.linux(d, contents) },
	} {
		more, err := packages()
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// build builds the program for a platform and returns its path. The result
// depends only on the sources and the version of Go, not on libraries of the
// machine or the path of the sources.
func (m *maker) build(p platform) (path string, err error) {
	path = filepath.Join(m.built, p.String(), program)
	env := []string{
		"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOWORK=off", "GOENV=off",
	}
	if m.cache != "" {
		env = append(env, "GOCACHE="+m.cache)
	}
	_, err = output(m.source, env, "go", "build", "-trimpath", "-buildvcs=true", "-mod=readonly",
		"-ldflags=-s -w -buildid=", "-o", path, "./cmd/"+program)
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	m.version = info.Main.Version
	switch {
	case !strings.HasPrefix(m.version, "v") || strings.HasSuffix(m.version, "+dirty"):
		return "", fmt.Errorf("%s was built as version %s, which is none to release", path, m.version)
	case p.os == "linux":
		return path, static(path)
	}
	return path, nil
}

// static returns an error if a program requires a dynamic loader, and thus
// libraries of the machine.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static", path)
		}
	}
	return nil
}

// common returns the files that all archives contain besides the program:
// documents, the manual, and the completions.
func (m *maker) common(host string) ([]file, error) {
	manual, write := filepath.Join(m.built, "man"), filepath.Join(m.built, "write-man")
	_, err := output(m.source, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"}, "go", "build", "-buildvcs=true",
		"-o", write, "./cmd/"+program+"/internal/man")
	if err != nil {
		return nil, err
	}
	if _, err := output(m.source, nil, write, manual); err != nil {
		return nil, err
	}
	files, err := tree(manual, "man")
	if err != nil {
		return nil, err
	}
	for _, name := range documents {
		more, err := tree(filepath.Join(m.source, name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for name, args := range map[string][]string{
		"THIRD_PARTY_LICENSES":             {"version", "--licenses"},
		"completions/" + program + ".bash": {"completion", "bash"},
		"completions/_" + program:          {"completion", "zsh"},
		"completions/" + program + ".fish": {"completion", "fish"},
	} {
		data, err := exec.Command(host, args...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, file{name: name, data: data})
	}
	return files, nil
}

// tree returns a file, or all files below a directory, with path replaced by
// name.
func tree(path, name string) (files []file, err error) {
	err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		files = append(files, file{name: filepath.ToSlash(name + strings.TrimPrefix(at, path)), data: data})
		return nil
	})
	return files, err
}

// output runs a program and returns its standard output without trailing
// newlines.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if failure, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(failure.Stderr))
	}
	return strings.TrimRight(string(out), "\n"), err
}
