package ops

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// TestMain checks that the tests leave no goroutine behind. Bridges wait for the
// permitted operations also on a busy machine.
func TestMain(m *testing.M) {
	mcp.PermittedTimeout, mcp.LastAnswersTimeout = time.Minute, time.Minute
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}
