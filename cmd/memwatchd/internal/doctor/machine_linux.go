package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// openPorts returns the ports on which the process that listens on a local port accepts
// connections from other machines. It returns none if the process cannot be
// inspected.
func openPorts(port int) (open []string) {
	const listening = "0A"
	ports, local := map[string]string{}, "" // that other machines can reach, by socket
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listening {
				continue
			}
			address, hex, _ := strings.Cut(fields[1], ":")
			n, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				continue
			}
			socket := "socket:[" + fields[9] + "]"
			if !isLoopbackAddress(address) {
				ports[socket] = strconv.FormatUint(n, 10)
			}
			if n == uint64(port) {
				local = socket
			}
		}
	}
	process := ""
	sockets := map[string][]string{} // of each process
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil || !strings.HasPrefix(target, "socket:") {
			continue
		}
		pid, _, _ := strings.Cut(strings.TrimPrefix(file, "/proc/"), "/")
		sockets[pid] = append(sockets[pid], target)
		if target == local {
			process = pid
		}
	}
	for _, socket := range sockets[process] {
		n := ports[socket]
		if n != "" && !slices.Contains(open, n) {
			open = append(open, n)
		}
	}
	slices.Sort(open)
	return open
}

// isLoopbackAddress reports whether an address of /proc/net/tcp or tcp6 is one of the
// loopback interface.
func isLoopbackAddress(hex string) bool {
	const v6, mapped = "00000000000000000000000001000000", "0000000000000000FFFF0000"
	rest := strings.TrimPrefix(hex, mapped)
	return hex == v6 || len(rest) == 8 && strings.HasSuffix(rest, "7F")
}
