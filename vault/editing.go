package vault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// staleAge is the age above which a file next to an edited file, such as a swap
// or lock file, is considered stale.
const staleAge = 24 * time.Hour

// findEditor returns a description of the editor or version control system that
// uses the file, or "". The check is a courtesy: a change is safe even without
// it, so errors are ignored.
func (w *Writer) findEditor(path string) string {
	name := filepath.Join(w.Vault.Dir, filepath.FromSlash(path))
	dir, base := filepath.Split(name)
	now := w.now()
	switch {
	case hasSwapFile(filepath.Join(dir, "."+base+".swp"), now):
		return "the file is open in vim or nano"
	case isRecent(filepath.Join(dir, ".#"+base), now), isRecent(filepath.Join(dir, "#"+base+"#"), now):
		return "the file has unsaved changes in Emacs"
	}
	_, busy := FindGitDir(dir, now)
	return busy
}

// isRecent reports whether the file at path exists and is newer than staleAge.
func isRecent(path string, now time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && now.Sub(info.ModTime()) < staleAge
}

// hasSwapFile reports whether the swap file of a running vim or the lock file of a
// running nano exists at path. Both begin with a block that identifies the
// process.
func hasSwapFile(path string, now time.Time) bool {
	if !isRecent(path, now) {
		return false
	}
	const (
		pid  = 24 // four bytes, little-endian
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
	return mayBeRunning(int(int32(binary.LittleEndian.Uint32(block[pid:]))), name)
}

// mayBeRunning reports whether a process may be running. It reports true for other
// machines.
func mayBeRunning(pid int, host string) bool {
	if here, err := os.Hostname(); err != nil || here != host || pid <= 0 {
		return true
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}

// readHead returns at most the first size bytes of a regular file.
func readHead(path string, size int) ([]byte, error) {
	fd, err := openAt(unix.AT_FDCWD, path, readOnly)
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

// FindGitDir returns the git directory of the working tree that contains the
// directory dir, or "". It also returns a description of an operation of git in
// progress there, or "". The tree may be larger than the root.
func FindGitDir(dir string, now time.Time) (git, busy string) {
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

// GitChanged reports whether git has changed the working tree that contains dir since a
// time, or is changing it.
func GitChanged(dir string, since time.Time) bool {
	git, _ := FindGitDir(dir, since)
	for _, name := range []string{"HEAD", "index", "index.lock"} {
		if info, err := os.Stat(filepath.Join(git, name)); git != "" && err == nil && info.ModTime().After(since) {
			return true
		}
	}
	return false
}

// gitDir returns the git directory for the entry at path: path itself or, in
// additional working trees and submodules, the directory named in the file at
// path.
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

// gitBusy returns the operation that git has in progress, or "". It ignores an
// old lock as stale.
func gitBusy(git string, now time.Time) string {
	if isRecent(filepath.Join(git, "index.lock"), now) {
		return "git is running"
	}
	for _, what := range []struct{ name, doing string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	} {
		if _, err := os.Lstat(filepath.Join(git, what.name)); err == nil {
			return fmt.Sprintf("a git %s is in progress", what.doing)
		}
	}
	return ""
}
