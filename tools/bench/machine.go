package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A machine describes the machine of the measurements.
type machine struct {
	cpu, system, fileSystem, memory, commit string

	cores int
	busy  float64 // share of the processors that other processes used at the start of the run
	date  time.Time
}

func lookAtMachine(ctx context.Context, work string) machine {
	m := machine{cores: runtime.NumCPU(), date: time.Now().UTC(), cpu: runtime.GOARCH, system: runtime.GOOS}
	if v := value("/proc/cpuinfo", "model name"); v != "" {
		m.cpu = v
	}
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(value("/proc/meminfo", "MemTotal"), " kB"), 64); err == nil {
		m.memory = fmt.Sprintf("%.0f GB of memory", kb/1e6)
	}
	m.busy = othersUse(ctx)
	m.system = output(ctx, m.system, "uname", "-sr")
	m.commit = output(ctx, "unknown", "git", "describe", "--always", "--dirty", "--tags")
	// The mount with the longest path above the directory contains it.
	longest := 0
	mounts, _ := os.ReadFile("/proc/mounts")
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) > 2 && len(f[1]) >= longest && strings.HasPrefix(work+"/", strings.TrimSuffix(f[1], "/")+"/") {
			longest, m.fileSystem = len(f[1]), f[2]
		}
	}
	return m
}

// value returns the value of a key in a file of /proc, or "".
func value(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func output(ctx context.Context, otherwise, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return otherwise
	}
	return strings.TrimSpace(string(out))
}

// othersUse returns the share of the processors that is in use during two idle
// seconds of this program.
func othersUse(ctx context.Context) float64 {
	before, idleBefore := processorTimes()
	sleep(ctx, 2*time.Second)
	after, idleAfter := processorTimes()
	if after <= before {
		return 0
	}
	return 1 - (idleAfter-idleBefore)/(after-before)
}

// processorTimes returns the time of all processors so far and the idle part of
// it, in units of the kernel. It returns zeros without /proc.
func processorTimes() (all, idle float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, _ := strconv.ParseFloat(field, 64)
		all += n
		if i == 3 || i == 4 { // idle and iowait
			idle += n
		}
	}
	return all, idle
}

// busyFrom is the load from which the figures describe the machine more than
// the program.
const busyFrom = 0.05

func (m machine) String() string {
	parts := []string{m.cpu, count(m.cores, "core"), m.memory, m.system, m.fileSystem}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
