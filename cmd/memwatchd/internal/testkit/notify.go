package testkit

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Manager is the receiver of the notifications that a daemon sends to its
// service manager.
type Manager struct {
	t    *testing.T
	Conn *net.UnixConn
}

// NewManager listens at a path or at an abstract address, which begins with @.
func NewManager(t *testing.T, address string) *Manager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &Manager{t, c}
}

// Next returns the lines of the next notification. It returns nil if none
// arrives within patience; with a patience of zero it only checks for a pending
// one.
func (m *Manager) Next(patience time.Duration) []string {
	m.t.Helper()
	m.Conn.SetReadDeadline(time.Now().Add(max(patience, 100*time.Millisecond)))
	b := make([]byte, 4096)
	n, err := m.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(string(b[:n]), "\n")
}

// AwaitLine returns the first notification that contains line, and the
// notifications before it except watchdog pings.
func (m *Manager) AwaitLine(line string) (message []string, before [][]string) {
	m.t.Helper()
	const ping = "WATCHDOG=1"
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		message = m.Next(time.Second)
		if slices.Contains(message, line) {
			return message, before
		}
		if message != nil && message[0] != ping {
			before = append(before, message)
		}
	}
	m.t.Fatalf("never told %s, but %q", line, before)
	return nil, nil
}

// NonePending reports whether no notification is pending. It discards pending
// notifications.
func (m *Manager) NonePending() bool {
	quiet := true
	for m.Next(0) != nil {
		quiet = false
	}
	return quiet
}
