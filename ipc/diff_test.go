package ipc

import (
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/vault"
)

// However much was changed, an answer has an end, at the end of a line.
func TestDiffHasAnEnd(t *testing.T) {
	before := strings.Repeat("- a line of some length\n", 20_000)
	hunks := vault.Hunks([]byte("# A\n"), []byte("# A\n"+before))
	tell := teller{}
	for n := range 200 {
		w := tell.wrote(vault.Record{Hunks: hunks})
		if !w.Truncated {
			t.Fatal("it is not said that there is more")
		}
		if told := tell.told; told > maxDiffs {
			t.Fatalf("%d bytes were told", told)
		}
		for _, h := range w.Hunks {
			if len(h.Diff) > maxDiff || !strings.HasSuffix(h.Diff, "\n") {
				t.Fatalf("%d: a diff of %d bytes ends with %q", n, len(h.Diff), h.Diff[max(0, len(h.Diff)-10):])
			}
		}
	}
	if tell.told < maxDiffs-maxDiff {
		t.Errorf("%d bytes were told, and there was room for %d", tell.told, maxDiffs)
	}
}
