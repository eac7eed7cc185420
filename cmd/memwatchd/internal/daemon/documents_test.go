package daemon

import (
	"fmt"
	"testing"

	"github.com/memwatchd/memwatchd/memory"
)

// TestDocumentCache checks that a few documents are cached at any size, so that searches
// do not parse large files again and again, and that more than these are bounded.
func TestDocumentCache(t *testing.T) {
	for _, test := range []struct{ source, number, cached int }{
		{100, 50, 50}, {cacheBytes / 4, minCached + 2, minCached}, {cacheBytes / 40, 30, 9},
	} {
		d := &documents{cached: map[string]*cachedDocument{}}
		source := make([]byte, test.source)
		for i := range test.number {
			d.cacheDocument(&cachedDocument{key: fmt.Sprint(i), doc: &memory.Document{Source: source}}, 0)
		}
		if len(d.cached) != test.cached {
			t.Errorf("of %d documents of %d bytes %d are cached, want %d", test.number, test.source, len(d.cached), test.cached)
		}
	}
}
