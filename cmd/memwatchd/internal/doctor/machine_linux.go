package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// readWatches returns the limits of inotify, and their use by the programs of this
// user that can be inspected.
func readWatches() (w watches) {
	for key, value := range map[string]*int{"max_user_watches": &w.limit, "max_user_instances": &w.instances} {
		if text, err := os.ReadFile("/proc/sys/fs/inotify/" + key); err == nil {
			*value, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || target != "anon_inode:inotify" {
			continue
		}
		if info, err := os.Lstat(file); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			continue // root can inspect processes of other users
		}
		w.instUsed++
		info, _ := os.ReadFile(strings.Replace(file, "/fd/", "/fdinfo/", 1))
		w.used += bytes.Count(info, []byte("inotify wd:"))
	}
	return w
}

// openLimit returns the number of files that a process can have open. It returns
// false if there is no limit.
func openLimit(pid int) (uint64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, line, found := strings.Cut(string(text), "Max open files")
	if err != nil || !found {
		return 0, false
	}
	var n uint64
	_, err = fmt.Sscan(line, &n) // or "unlimited"
	return n, err == nil
}
