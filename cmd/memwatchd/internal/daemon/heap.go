package daemon

import (
	"os"
	"runtime/debug"
	"time"
)

// The GC percentages, at rest and while the index is built. Most of the heap is
// the index's table, which is cheap to scan. Reading many files makes so much
// garbage that a small heap would take a third of the time. GOGC and GOMEMLIMIT
// take precedence.
const (
	garbageAtRest   = 40
	garbageBuilding = 80
)

// heapLimit is the soft memory limit, unless the live heap exceeds half of it:
// a file of many entries needs some 200 MiB for a moment.
const heapLimit = 240 << 20

// settling is roughly how long bleve continues to work after a first build.
const settling = 20 * time.Second

// roomToBuild lets the heap grow until built is called, and then returns the
// memory that only the build needed to the system.
func roomToBuild() (built func()) {
	done := make(chan struct{})
	limitHeap(garbageBuilding)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				limitHeap(garbageBuilding)
			case <-done:
				trimHeap()
				time.AfterFunc(settling, trimHeap)
				return
			}
		}
	}()
	return func() { close(done) }
}

func trimHeap() {
	debug.FreeOSMemory()
	limitHeap(garbageAtRest)
}

func limitHeap(garbage int) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(max(heapLimit, 2*int64(metric("/gc/heap/live:bytes"))))
}
