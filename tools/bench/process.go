package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hasProc reports whether the system has /proc, the source of all figures about
// processes. Without /proc each report notes once that these figures are
// missing.
func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// processMemory returns a figure from the status of a process, such as VmHWM,
// in bytes.
func processMemory(pid int, key string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(value(fmt.Sprintf("/proc/%d/status", pid), key), " kB"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("no %s in the status of process %d: %w", key, pid, err)
	}
	return n << 10, nil
}

// processTime returns the user and system time of a process. The kernel counts
// this time in hundredths of a second.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(") ")) // the name may contain spaces
	f := strings.Fields(string(rest))
	if len(f) < 13 {
		return 0, fmt.Errorf("the times of process %d cannot be read", pid)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("the times of process %d cannot be read", pid)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// diskSize returns the total size of the files below a directory, in bytes.
func diskSize(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
