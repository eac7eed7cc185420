package doctor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// watchUse reads the kernel's limits of inotify, and counts what this user's
// programs have of them, as far as they can be looked at.
func watchUse(ctx context.Context) (w watches) {
	for key, value := range map[string]*int{"max_user_watches": &w.limit, "max_user_instances": &w.instances, "max_queued_events": &w.queue} {
		if text, err := os.ReadFile("/proc/sys/fs/inotify/" + key); err == nil {
			*value, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		if ctx.Err() != nil {
			return w
		}
		info, err := os.Stat(process)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		files, _ := filepath.Glob(process + "/fd/*")
		for _, fd := range files {
			if to, err := os.Readlink(fd); err == nil && to == "anon_inode:inotify" {
				w.instUsed++
				if text, err := os.ReadFile(filepath.Join(process, "fdinfo", filepath.Base(fd))); err == nil {
					w.used += bytes.Count(text, []byte("inotify wd:"))
				}
			}
		}
	}
	return w
}

// openLimit is how many files a process may have open.
func openLimit(pid int) (uint64, bool) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Max open files"); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, err := strconv.ParseUint(fields[0], 10, 64)
				return n, err == nil // or it is unlimited
			}
		}
	}
	return 0, false
}
