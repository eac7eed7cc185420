package daemon

import (
	"os"
	"runtime/debug"
)

// The GC percentages, at rest and while the index is built. Most of the heap is
// the index's table, which is cheap to scan. Reading many files makes so much
// garbage that collecting it in a small heap would take a third of the time.
// GOGC takes precedence.
const (
	gcPercentIdle     = 80
	gcPercentBuilding = 120
)

// trimHeap returns the memory that only a build needed to the system.
func trimHeap() {
	debug.FreeOSMemory()
	setGCPercent(gcPercentIdle)
}

func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
