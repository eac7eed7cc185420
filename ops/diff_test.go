package ops

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestDiffApplies checks that a diff, applied line by line, turns the old text
// into the new one.
func TestDiffApplies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var before, after []string
		for i := range r.IntN(30) {
			line := fmt.Sprintf("line %d\n", i)
			before = append(before, line)
			switch r.IntN(8) {
			case 0:
				after = append(after, fmt.Sprintf("other %d\n", i))
			case 1:
			case 2:
				after = append(after, line, "more\n")
			default:
				after = append(after, line)
			}
		}
		was, is := strings.Join(before, ""), strings.Join(after, "")
		if r.IntN(3) == 0 {
			was = strings.TrimSuffix(was, "\n")
		}
		if r.IntN(3) == 0 {
			is = strings.TrimSuffix(is, "\n")
		}
		hunks, _ := new(differ).hunks(journal.Hunks([]byte(was), []byte(is)))
		got, err := applyHunks(was, hunks)
		if err != nil || got != is {
			t.Fatalf("%v: %q to %q\nbecomes %q by\n%v", err, was, is, got, hunks)
		}
	}
}

// applyHunks applies hunks strictly. Each hunk must start after the previous one,
// and its context must match.
func applyHunks(text string, hunks []api.DiffHunk) (string, error) {
	old := strings.SplitAfter(text, "\n")
	var out []string
	at := 0 // number of processed lines of the old text
	for _, h := range hunks {
		head, body, _ := strings.Cut(h.Diff, "\n")
		var from, was, to, is int
		if _, err := fmt.Sscanf(head, "@@ -%d,%d +%d,%d @@", &from, &was, &to, &is); err != nil {
			return "", err
		}
		if was > 0 {
			from--
		}
		if is > 0 {
			to--
		}
		if from < at {
			return "", fmt.Errorf("%s begins before line %d", head, at+1)
		}
		out, at = append(out, old[at:from]...), from
		if len(out) != to {
			return "", fmt.Errorf("%s begins at line %d", head, len(out)+1)
		}
		for line := range strings.Lines(strings.ReplaceAll(body, "\n\\ No newline at end of file\n", "\r\n")) {
			mark, line := line[0], strings.TrimSuffix(line[1:], "\r\n")
			if mark != '+' {
				if at == len(old) || old[at] != line {
					return "", fmt.Errorf("%s: line %d is not %q", head, at+1, line)
				}
				at, was = at+1, was-1
			}
			if mark != '-' {
				out, is = append(out, line), is-1
			}
		}
		if was != 0 || is != 0 {
			return "", fmt.Errorf("%s has other lines", head)
		}
	}
	return strings.Join(append(out, old[at:]...), ""), nil
}

// TestDiffHasAnEnd checks that large diffs are truncated at the end of a line.
func TestDiffHasAnEnd(t *testing.T) {
	before := strings.Repeat("- a line of some length\n", 20_000)
	hunks := journal.Hunks([]byte("# A\n"), []byte("# A\n"+before))
	var d differ
	for n := range 200 {
		w := d.wrote(journal.Record{Hunks: hunks})
		if !w.Truncated {
			t.Fatal("it is not said that there is more")
		}
		if told := d.shown; told > maxDiffs {
			t.Fatalf("%d bytes were told", told)
		}
		for _, h := range w.Hunks {
			if len(h.Diff) > maxDiff || !strings.HasSuffix(h.Diff, "\n") {
				t.Fatalf("%d: a diff of %d bytes ends with %q", n, len(h.Diff), h.Diff[max(0, len(h.Diff)-10):])
			}
		}
	}
	if d.shown < maxDiffs-maxDiff {
		t.Errorf("%d bytes were told, and there was room for %d", d.shown, maxDiffs)
	}
}
