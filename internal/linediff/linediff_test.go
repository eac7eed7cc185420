package linediff

import (
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
		if got := Anchors(strings.Fields(test.a), strings.Fields(test.b)); !slices.Equal(got, test.want) {
			t.Errorf("Anchors(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestLongestIncreasing(t *testing.T) {
	if got, want := LongestIncreasing([]int{3, 1, 4, 2, 5, 0}), []int{1, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
