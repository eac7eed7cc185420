package ipc

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if the tests leave a goroutine running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
