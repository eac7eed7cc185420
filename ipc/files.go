package ipc

import (
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/api"
)

// maxReserve is how many of the files that we may have open are not for clients,
// where a quarter of them is more: what is watched and what is found goes first.
const maxReserve = 64

// fileLimit is how many files we may have open.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

// scarce reports whether a connection has taken one of the files that are not
// for clients: a new file's descriptor is the lowest that is free. As long as it
// is open, whoever comes takes another's place.
func (g *gate) scarce(c net.Conn) bool {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	open := uint64(0)
	raw.Control(func(fd uintptr) { open = uint64(fd) + 1 })
	return open > g.files-min(g.files/4, maxReserve)
}

// A shortage is a time in which clients have to go because too many files are
// open.
type shortage struct {
	mu   sync.Mutex
	last time.Time
}

// shortageLasts is how long it is told of: it may be that nobody asks while it
// is at its worst.
const shortageLasts = time.Minute

// begins takes note of a client that had to go, and reports whether it is the
// first.
func (s *shortage) begins(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := now.Sub(s.last) >= shortageLasts
	s.last = now
	return first
}

// problem is what a person should know of it, if it is not over.
func (s *shortage) problem(now time.Time) (api.FileProblem, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) >= shortageLasts {
		return api.FileProblem{}, false
	}
	return api.FileProblem{Problem: api.Problem{
		Code:    "too_many_files",
		Message: fmt.Sprintf("clients are sent away because too many files are open: %d may be (raise ulimit -n)", fileLimit()),
	}}, true
}
