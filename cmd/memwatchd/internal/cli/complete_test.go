package cli

import (
	"slices"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestEverySortOfNameIsKnown checks that each sort of name in a parameter tag
// can be completed.
func TestEverySortOfNameIsKnown(t *testing.T) {
	known := []string{"path", "subject", "session", "section", "tag"}
	for sort := range nameSources {
		known = append(known, sort)
	}
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			if p.Complete != "" && !slices.Contains(known, p.Complete) {
				t.Errorf("%s of %s names a %q, of which nobody knows what that is", p.Name, op.Name, p.Complete)
			}
		}
	}
}
