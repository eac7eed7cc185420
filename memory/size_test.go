package memory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestMemorySize compares the estimate with the growth of the heap, for
// documents of several kinds.
func TestMemorySize(t *testing.T) {
	if raceFactor > 1 {
		t.Skip("the race detector changes the heap")
	}
	const documents = 100
	for name, text := range map[string]string{
		"lists":     "# List\n\n" + strings.Repeat("- one of some short entries\n", 50),
		"public":    "# List\n\n" + strings.Repeat("- one of some <!-- visibility=public_ok importance=0.5 -->\n", 50),
		"tasks":     "# Tasks\n\n" + strings.Repeat("- [ ] water the plants #home\n", 50),
		"links":     "# Links\n\n" + strings.Repeat("- see [[one]], [two](two.md) and [three](dir/three.md#four)\n", 50),
		"headings":  strings.Repeat("# Heading\n\nA paragraph below it.\n\n", 50),
		"paragraph": "# Text\n\n" + strings.Repeat("A long paragraph of many words. ", 500) + "\n",
		"tags":      "---\ntags: [" + strings.Repeat("a, ", 99) + "b]\n---\n" + strings.Repeat("- an entry\n", 200),
		"brackets":  strings.Repeat("[", 500) + strings.Repeat("](a)", 500) + "\n",
	} {
		var l Layout
		kept := make([]*Document, documents)
		before := liveHeap()
		estimate := 0
		for n := range kept {
			kept[n] = l.Parse(fmt.Sprintf("notes/n%d.md", n), []byte(text), Meta{})
			estimate += kept[n].MemorySize()
		}
		size := liveHeap() - before
		runtime.KeepAlive(kept)
		if ratio := float64(estimate) / float64(size); ratio < 0.7 || ratio > 1.4 {
			t.Errorf("%s: estimated %d bytes, heap grew by %d (%.2f)", name, estimate, size, ratio)
		} else {
			t.Logf("%s: estimated %d bytes, heap grew by %d (%.2f)", name, estimate, size, ratio)
		}
	}
}

// liveHeap returns the bytes of reachable objects.
func liveHeap() int {
	runtime.GC()
	runtime.GC() // the first one may have begun before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
