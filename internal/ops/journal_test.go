package ops

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
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
		hunks, _ := new(differ).hunks([]byte(was), []byte(is))
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

// TestDiffInsideKey checks that a diff of some lines inside of a private key shows
// the same text for each key, in diffs of files and of the journal.
func TestDiffInsideKey(t *testing.T) {
	shown := map[string]bool{}
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		line := func() string {
			b := make([]byte, 48)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			// Mask keeps punctuation and leading digits.
			return "M" + strings.NewReplacer("+", "a", "/", "b").Replace(base64.StdEncoding.EncodeToString(b))[1:] + "\n"
		}
		var lines []string
		for range 26 {
			lines = append(lines, line())
		}
		key := func() string {
			return "# Keys\n-----BEGIN RSA PRIVATE KEY-----\n" + strings.Join(lines, "") + "-----END RSA PRIVATE KEY-----\n"
		}
		before := key()
		lines[13] = line()
		after := key()
		var d differ
		hunks, _ := d.hunks([]byte(before), []byte(after))
		shown[fmt.Sprint(Diff("a.md", []byte(before), []byte(after)).Hunks, hunks)] = true
	}
	if len(shown) != 1 {
		t.Errorf("the diffs depend on the key: %v", slices.Sorted(maps.Keys(shown)))
	}
	digests := strings.Repeat("- x\n", 5) + strings.Repeat(strings.Repeat("0a", 32)+"\n", 9)
	if d := Diff("a.md", []byte(digests), []byte(digests+"- y\n")); strings.Contains(d.Hunks[0].Diff, "REDACTED") {
		t.Errorf("digests are masked: %v", d)
	}
}

// TestDiffHasAnEnd checks that large diffs are truncated at the end of a line, and that
// all diffs of an answer have a limit.
func TestDiffHasAnEnd(t *testing.T) {
	long := []byte("# A\n" + strings.Repeat("- a line of some length\n", 20_000))
	var d differ
	for range 200 {
		shown, truncated := d.hunks([]byte("# A\n"), long)
		if !truncated || d.shown > maxDiffs {
			t.Fatalf("truncated %t, %d bytes", truncated, d.shown)
		}
		for _, h := range shown {
			if len(h.Diff) > maxDiff || !strings.HasSuffix(h.Diff, "\n") {
				t.Fatalf("a diff of %d bytes ends with %q", len(h.Diff), h.Diff[max(0, len(h.Diff)-10):])
			}
		}
	}
	if d.shown < maxDiffs-maxDiff {
		t.Errorf("%d bytes were shown, and there was room for %d", d.shown, maxDiffs)
	}
}

// TestStopping checks that a request that ends because the daemon stops reports that.
func TestStopping(t *testing.T) {
	stops := api.Errorf(api.Unavailable, "the daemon stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stops)
	_, err := newDisk(t, nil).memory.Do(ctx, owner, api.RequestOf(api.NoteRequest{Text: "tea"}))
	if !errors.Is(err, stops) {
		t.Errorf("a note is answered with %v", err)
	}
}
