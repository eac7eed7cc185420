package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// A machine is what the figures come from.
type machine struct {
	cpu, system, fileSystem, memory, commit, load string
	cores                                         int
	date                                          time.Time
}

func lookAtMachine(ctx context.Context, work string) machine {
	m := machine{cores: runtime.NumCPU(), date: time.Now().UTC(), cpu: runtime.GOARCH, system: runtime.GOOS}
	if v := value("/proc/cpuinfo", "model name"); v != "" {
		m.cpu = v
	}
	m.memory = value("/proc/meminfo", "MemTotal")
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	m.system = output(ctx, m.system, "uname", "-sr")
	m.commit = output(ctx, "unknown", "git", "describe", "--always", "--dirty", "--tags")
	// Of the mounts above the directory, the one with the longest path holds it.
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

// value is what a file of /proc says of a key.
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

func (m machine) String() string {
	return fmt.Sprintf("%s, %s, %s of memory, %s, %s; load before the run: %s", m.cpu, count(m.cores, "core"), m.memory, m.system, m.fileSystem, m.load)
}
