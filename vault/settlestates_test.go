package vault

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRepairLosesNothing checks that repair keeps every version that another
// program wrote, for all contents of the file and the temporary file. The
// version stays in place if it was there, and is put back if the file is
// missing.
func TestRepairLosesNothing(t *testing.T) {
	const none = "none"
	contents := []string{none, "before\n", "after\n", "theirs\n", "theirs, too\n", ""}
	for _, kind := range []string{"write", "create", "remove"} {
		for _, made := range []bool{false, true} {
			for _, there := range contents {
				for _, temp := range contents {
					name := fmt.Sprintf("%s, made: %v, there is %q, beside it %q", kind, made, there, temp)
					w := newWriter(t, map[string]string{"b.md": ""})
					before, after := []byte("before\n"), []byte("after\n")
					switch kind {
					case "create":
						before = nil
					case "remove":
						after = nil
					}
					r, err := w.Journal.Begin(recordOf("a.md", ".memwatchd-x.tmp", before, after))
					must(t, err)
					if made {
						must(t, w.Journal.Done(r.ID))
					}
					for base, text := range map[string]string{"a.md": there, r.Temp: temp} {
						if text != none {
							must(t, os.WriteFile(filepath.Join(w.Vault.Dir, base), []byte(text), 0o600))
						}
					}
					must(t, w.Repair(t.Context()))
					tree := w.readTestTree(t)
					left := slices.Collect(maps.Values(tree))
					theirs := func(text string) bool { return !slices.Contains([]string{none, string(before), string(after)}, text) }
					for _, text := range []string{there, temp} {
						if theirs(text) && !slices.Contains(left, text) {
							t.Errorf("%s: %q is lost: %q", name, text, tree)
						}
					}
					if got, ok := tree["a.md"]; theirs(there) && got != there || there == none && theirs(temp) && (!ok || got != temp) {
						t.Errorf("%s: it is not in its place: %q", name, tree)
					}
					if n := len(w.Journal.Pending()); n > 0 {
						t.Errorf("%s: %d left to be done", name, n)
					}
				}
			}
		}
	}
}
