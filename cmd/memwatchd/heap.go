package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// heapLimit is how much memory the daemon tries to stay below. A file of many
// entries needs some 200 MiB for a moment; without a limit the collector would
// let it become twice that.
const heapLimit = 240 << 20

// limitHeap sets the limit, or a higher one if the memory needs it for what it
// holds all the time. Whoever sets GOMEMLIMIT decides for themselves.
func limitHeap() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	held := int64(metric("/gc/heap/live:bytes"))
	debug.SetMemoryLimit(max(heapLimit, 3*held))
}

// trimHeap gives back what the first build needed and nothing else does.
func trimHeap() {
	debug.FreeOSMemory()
	limitHeap()
}

// metric reads one of the runtime's figures.
func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
