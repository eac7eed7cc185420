package vault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// signAge is after which a file that an editor keeps beside the one it edits is
// taken for one that it has left behind.
const signAge = 24 * time.Hour

// editing says what shows that somebody is at a file, or "". These are
// courtesies: what nobody can see is as safe. So nothing is made of errors.
func (w *Writer) editing(path string) string {
	name := filepath.Join(w.Vault.Dir, filepath.FromSlash(path))
	dir, base := filepath.Split(name)
	now := w.now()
	switch {
	case swapped(filepath.Join(dir, "."+base+".swp"), now):
		return "it is open in vim or nano"
	case locked(filepath.Join(dir, ".#"+base), now):
		return "it has unsaved changes in Emacs"
	case recent(filepath.Join(dir, "#"+base+"#"), now):
		return "it has unsaved changes in Emacs"
	}
	_, busy := Versioned(dir, now)
	return busy
}

// recent reports whether there is something at path that is not too old.
func recent(path string, now time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && now.Sub(info.ModTime()) < signAge
}

// swapped reports whether there is a swap file of a vim, or a lock file of a
// nano, that is running: both begin with a block that says which process.
func swapped(path string, now time.Time) bool {
	if !recent(path, now) {
		return false
	}
	const (
		pid  = 24 // four bytes, the lowest first
		host = 68
		end  = 108
	)
	block, err := readHead(path, end)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil || len(block) < end || string(block[:2]) != "b0" {
		return true
	}
	name, _, _ := strings.Cut(string(block[host:end]), "\x00")
	return runs(int(int32(binary.LittleEndian.Uint32(block[pid:]))), name)
}

// locked reports whether there is a lock of an Emacs that is running: a link
// that leads to user@host.pid:boot, or, where there are no links, a file that
// says so.
func locked(path string, now time.Time) bool {
	if !recent(path, now) {
		return false
	}
	owner, err := os.Readlink(path)
	if err != nil {
		text, _ := readHead(path, 1024)
		owner = string(text)
	}
	owner, _, _ = strings.Cut(owner, ":")
	at, dot := strings.LastIndexByte(owner, '@'), strings.LastIndexByte(owner, '.')
	if at < 0 || dot < at {
		return true
	}
	pid, err := strconv.Atoi(owner[dot+1:])
	return err != nil || runs(pid, owner[at+1:dot])
}

// runs reports whether a process may be running. Those of other machines may.
func runs(pid int, host string) bool {
	if here, err := os.Hostname(); err != nil || here != host || pid <= 0 {
		return true
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}

// readHead reads the beginning of a regular file.
func readHead(path string, size int) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	head := make([]byte, size)
	n, err := retry(func() (int, error) { return unix.Pread(fd, head, 0) })
	return head[:max(n, 0)], err
}

// Versioned finds the git directory of the working tree that the directory dir is
// part of, "" if there is none, and says what git is doing there, if it is in the
// middle of something. The tree may be larger than the root.
func Versioned(dir string, now time.Time) (git, busy string) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", ""
	}
	for {
		if git, ok := gitDir(filepath.Join(dir, ".git")); ok {
			return git, gitBusy(git, now)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
}

// gitDir is where git keeps its things: path itself, or, in further working trees
// and submodules, the directory that the file at path names.
func gitDir(path string) (string, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", false
	}
	if !info.Mode().IsRegular() {
		return path, true
	}
	text, err := readHead(path, unix.PathMax)
	if err != nil {
		return "", false
	}
	git, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !filepath.IsAbs(git) {
		git = filepath.Join(filepath.Dir(path), git)
	}
	return git, ok
}

// gitBusy says what git is in the middle of. A lock that is old was left behind.
func gitBusy(git string, now time.Time) string {
	if recent(filepath.Join(git, "index.lock"), now) {
		return "git is at work"
	}
	for _, what := range []struct{ name, doing string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	} {
		if _, err := os.Lstat(filepath.Join(git, what.name)); err == nil {
			return fmt.Sprintf("a git %s is under way", what.doing)
		}
	}
	return ""
}
