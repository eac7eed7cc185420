//go:build !linux

package e2e

import (
	"testing"
)

func needLeases(t *testing.T, _ string) {
	t.Helper()
	t.Skip("there are leases on Linux only")
}
