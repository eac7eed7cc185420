package daemon

import (
	"os"
	"runtime/debug"
	"time"
)

// How much the heap may grow, in percent of what it holds, before the collector
// runs: what is held is mostly the index's table, which costs little to look
// through. Reading many files makes so much garbage that a small heap would take
// a third of the time. Whoever sets GOGC or GOMEMLIMIT decides for themselves.
const (
	garbageAtRest   = 40
	garbageBuilding = 80
)

// heapLimit is how much memory the daemon tries to stay below, if it does not
// hold half of that all the time: a file of many entries needs some 200 MiB for
// a moment.
const heapLimit = 240 << 20

// settling is how long bleve works on after a first build, roughly.
const settling = 20 * time.Second

// roomToBuild lets the heap grow with what is read, until it is told that all
// has been: then what only that needed is given back.
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
