package main

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

// roomToBuild lets the heap grow with what is read, until it is told that all
// has been: then what only that needed is given back.
func roomToBuild() (built func()) {
	setGarbage(garbageBuilding)
	return func() {
		setGarbage(garbageAtRest)
		debug.FreeOSMemory()
		// Bleve goes on merging for a while.
		time.AfterFunc(settling, debug.FreeOSMemory)
	}
}

// settling is how long bleve works on after a first build, roughly.
const settling = 20 * time.Second

func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(percent)
	}
}
