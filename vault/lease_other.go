//go:build unix && !linux

package vault

import (
	"errors"
	"time"
)

// errWriter reports that a program has the file open for writing. It never
// occurs on systems without leases.
var errWriter = errors.New("open for writing")

// A lease blocks writers on Linux only.
type lease struct{}

func takeLease(int, time.Duration) (*lease, error) { return nil, errors.ErrUnsupported }

func (*lease) release() bool { return false }

func (*lease) held() bool { return true }
