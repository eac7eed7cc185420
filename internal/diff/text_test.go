package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

func TestMergeText(t *testing.T) {
	golden.Table(t, "merges", func(t *testing.T, in []string) string {
		head, _ := strconv.Atoi(append(in, "0")[3])
		merged, conflict := diff.MergeText([]byte(in[0]), []byte(in[1]), []byte(in[2]), head)
		if conflict > 0 {
			return fmt.Sprint("conflict in line ", conflict)
		}
		return string(merged)
	})
}

// FuzzMergeText checks that a merge has all lines that either version added, that it
// removes only lines that one of the versions removed, and that a change of one side only
// gives this side.
func FuzzMergeText(f *testing.F) {
	for seed := range uint64(500) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		var base []string
		for range r.IntN(15) {
			base = append(base, fmt.Sprintf("%d", r.IntN(8)))
		}
		edit := func(name string) (lines []string) {
			for i, line := range base {
				switch r.IntN(8) {
				case 0:
				case 1:
					lines = append(lines, fmt.Sprintf("%s%d", name, i))
				case 2:
					lines = append(lines, fmt.Sprintf("%s%d", name, i), line)
				default:
					lines = append(lines, line)
				}
			}
			return lines
		}
		text := func(lines []string) []byte { return []byte(strings.Join(append(lines, ""), "\n")) }
		ours, theirs := edit("o"), edit("t")
		for _, one := range [][]string{ours, theirs} {
			for _, pair := range [][2][]string{{base, one}, {one, base}} {
				got, conflict := diff.MergeText(text(base), text(pair[0]), text(pair[1]), 0)
				if conflict > 0 || string(got) != string(text(one)) {
					t.Fatalf("%q: got %q, %d", one, got, conflict)
				}
			}
		}
		got, conflict := diff.MergeText(text(base), text(ours), text(theirs), 0)
		if conflict > 0 {
			return
		}
		merged := strings.Fields(string(got))
		count := func(list []string, s string) (n int) {
			for _, l := range list {
				if l == s {
					n++
				}
			}
			return n
		}
		for _, line := range slices.Concat(base, ours, theirs) {
			b, o, y, m := count(base, line), count(ours, line), count(theirs, line), count(merged, line)
			if least := min(b, o+y-b); m < least || m > max(b, o+y-b, o, y) {
				t.Fatalf("base %q, ours %q, theirs %q: got %q", base, ours, theirs, merged)
			}
		}
	})
}
