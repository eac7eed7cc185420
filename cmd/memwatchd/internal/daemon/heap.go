package daemon

import (
	"os"
	"runtime/debug"
	"time"
)

// The GC percentages, at rest and while the index is built. Most of the heap is
// the index's table, which is cheap to scan. Reading many files makes so much
// garbage that collecting it in a small heap would take a third of the time.
// GOGC and GOMEMLIMIT take precedence.
const (
	gcPercentIdle     = 40
	gcPercentBuilding = 120
)

// heapLimit is the soft memory limit, unless the live heap exceeds half of it:
// a file of many entries needs some 200 MiB for a moment.
const heapLimit = 240 << 20

// raiseHeapLimit lets the heap grow until built is called, and then returns the
// memory that only the build needed to the system.
func raiseHeapLimit() (built func()) {
	done := make(chan struct{})
	limitHeap(gcPercentBuilding)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				limitHeap(gcPercentBuilding)
			case <-done:
				trimHeap()
				return
			}
		}
	}()
	return func() { close(done) }
}

func trimHeap() {
	debug.FreeOSMemory()
	limitHeap(gcPercentIdle)
}

func limitHeap(garbage int) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(max(heapLimit, 2*int64(readMetric("/gc/heap/live:bytes"))))
}
