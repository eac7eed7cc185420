package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestHunks checks the line and the texts of each hunk between two versions.
func TestHunks(t *testing.T) {
	golden.Table(t, "hunks", func(t *testing.T, in []string) string {
		var list []string
		for _, h := range diff.Hunks([]byte(in[0]), []byte(in[1])) {
			list = append(list, fmt.Sprintf("%d -%q +%q", h.Line, h.Old, h.New))
		}
		return strings.Join(list, ", ")
	})
}
