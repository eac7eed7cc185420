package ops

import (
	"testing"

	"go.uber.org/goleak"
)

// What the tests start and close leaves no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
