package diff

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestAnchors(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want [][2]int
	}{
		{"", "", nil},
		{"a b c", "c a b", [][2]int{{0, 1}, {1, 2}}},
		{"a x b x c", "x a b c", [][2]int{{0, 1}, {2, 2}, {4, 3}}},
		{"x x", "x", nil},
	} {
		if got := anchors(strings.Fields(test.a), strings.Fields(test.b)); !slices.Equal(got, test.want) {
			t.Errorf("Anchors(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestLongestIncreasing(t *testing.T) {
	if got, want := longestIncreasing([]int{3, 1, 4, 2, 5, 0}), []int{1, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAlign checks that paired elements are equal and in the same order, and that all
// elements of a part of a list are paired with it.
func TestAlign(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := func() (lines []string) {
			for range r.IntN(12) {
				lines = append(lines, string(rune('a'+r.IntN(8))))
			}
			return lines
		}
		a, b := text(), text()
		last := -1
		for i, j := range Align(a, b) {
			if j >= 0 && (j <= last || a[i] != b[j]) {
				t.Fatalf("%q and %q: line %d is paired with %d after %d", a, b, i, j, last)
			}
			last = max(last, j)
		}
		var part []string
		for _, line := range a {
			if r.IntN(2) == 0 {
				part = append(part, line)
			}
		}
		if slices.Contains(Align(part, a), -1) {
			t.Fatalf("%q is not aligned with its part %q", a, part)
		}
		for i, j := range Align(a, a) {
			if i != j {
				t.Fatalf("%q: line %d is paired with %d", a, i, j)
			}
		}
	}
}
