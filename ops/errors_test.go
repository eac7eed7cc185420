package ops

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault"
)

// TestWriteErrorHidesDirectories checks that an error of a write contains its
// reason, but not where the memory or the journal is.
func TestWriteErrorHidesDirectories(t *testing.T) {
	for _, reason := range []error{unix.ENOSPC, vault.ErrRoot} {
		err := fmt.Errorf("journal: %w", &fs.PathError{Op: "open", Path: "/home/mallory/memory", Err: reason})
		for _, owned := range []bool{false, true} {
			if got := writeError(err, owned).Error(); strings.Contains(got, "mallory") || !strings.Contains(got, reason.Error()) {
				t.Errorf("the error is %q", got)
			}
		}
	}
}
