package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestMergeText(t *testing.T) {
	for _, test := range []struct {
		base, ours, theirs string
		head               int
		want               string
		conflict           int
	}{
		{"a\nb\n", "a\nb\n", "a\nc\n", 0, "a\nc\n", 0},
		{"a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", 0, "x\nb\ny\n", 0},
		{"a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", 0, "", 2},
		{"a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n", 0, "a\nx\nc\n", 0},
		{"a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\nd\n", 2, "a\nx\nc\nd\n", 0}, // ours takes precedence in the head
		// Changes that touch each other are both made.
		{"a\nb\n", "x\nb\n", "a\ny\n", 0, "x\ny\n", 0},
		{"a\n", "a\nx\n", "b\n", 0, "b\nx\n", 0},
		{"a\n", "a\nx\n", "a\ny\n", 0, "a\ny\nx\n", 0},
		{"a\nb\n", "a\nx\nb\n", "c\n", 0, "", 1},
		// Both versions remove lines.
		{"a\nb\nc\nd\ne\n", "a\nd\ne\n", "a\nb\ne\n", 0, "a\ne\n", 0},
		{"a\nb\nc\nd\ne\n", "a\nb\nd\ne\n", "a\ne\n", 0, "a\ne\n", 0},
		{"a\nb\nc\nd\ne\n", "a\ne\n", "a\nb\nd\ne\n", 0, "a\ne\n", 0},
		{"a\nb\nc\nd\n", "a\nd\n", "a\nb\nx\nd\n", 0, "", 3},
		// Line endings.
		{"a\r\nb\r\n", "a\nb\n", "a\r\nc\r\n", 0, "a\nc\n", 0},
		{"a\nb", "x\na\nb", "a\nb\nc", 0, "x\na\nb\nc", 0},
		{"a\nb\n", "a\nb", "c\nb\n", 0, "c\nb", 0},
		{"", "a\n", "", 0, "a\n", 0},
		{"a\n", "", "a\nb\n", 0, "b\n", 0},
	} {
		got, conflict := MergeText([]byte(test.base), []byte(test.ours), []byte(test.theirs), test.head)
		if string(got) != test.want || conflict != test.conflict {
			t.Errorf("%q, %q, %q: got %q, %d; want %q, %d", test.base, test.ours, test.theirs, got, conflict, test.want, test.conflict)
		}
	}
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
				got, conflict := MergeText(text(base), text(pair[0]), text(pair[1]), 0)
				if conflict > 0 || string(got) != string(text(one)) {
					t.Fatalf("%q: got %q, %d", one, got, conflict)
				}
			}
		}
		got, conflict := MergeText(text(base), text(ours), text(theirs), 0)
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
