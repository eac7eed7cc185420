//go:build unix && !linux

package vault

import (
	"errors"
	"time"
)

// errWriter: the file is open for writing somewhere. It never happens here.
var errWriter = errors.New("open for writing")

// A lease would make writers wait; only Linux has them.
type lease struct{}

func takeLease(int, time.Duration) (*lease, error) { return nil, errors.ErrUnsupported }

func (*lease) release() bool { return false }

func (*lease) held() bool { return true }
