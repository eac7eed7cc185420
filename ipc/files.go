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

// maxReserve bounds the number of file descriptors that are reserved for
// watching and searching and not available to clients. The reserve is a quarter
// of the limit, but at most maxReserve.
const maxReserve = 64

// fileLimit returns the limit on open files of the process.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

// usesReserve reports whether a connection uses a descriptor of the reserve. This
// works because a new file gets the lowest free descriptor. While such a
// connection is open, each new connection replaces an existing one.
func (g *limitListener) usesReserve(c net.Conn) bool {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	open := uint64(0)
	raw.Control(func(fd uintptr) { open = uint64(fd) + 1 })
	return open > g.files-min(g.files/4, maxReserve)
}

// A shortage is a period in which connections are closed because too many files
// are open.
type shortage struct {
	mu   sync.Mutex
	last time.Time
}

// shortageDuration is how long after its last event a shortage is reported,
// because status may not be read while the shortage is at its worst.
const shortageDuration = time.Minute

// recordEvent records that a connection was closed and reports whether it is the
// first of a shortage.
func (s *shortage) recordEvent(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := now.Sub(s.last) >= shortageDuration
	s.last = now
	return first
}

// problem returns a description of the shortage for the user. It reports false
// if there is no shortage.
func (s *shortage) problem(now time.Time) (api.FileProblem, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) >= shortageDuration {
		return api.FileProblem{}, false
	}
	return api.FileProblem{Problem: api.Problem{
		Code: "too_many_files",
		Message: fmt.Sprintf("too many open files (limit %d), new connections are rejected: raise LimitNOFILE= of "+
			"the service, or ulimit -n",
			fileLimit()),
	}}, true
}
