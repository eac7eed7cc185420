package index

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that the tests leave no goroutines running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
