// Package linediff finds the lines by which two versions of a text are aligned, as
// in Bram Cohen's patience diff.
package linediff

import "sort"

// Anchors returns the longest sequence of lines that occur exactly once in each text
// and are in the same order in both, as pairs of an index in a and one in b.
func Anchors[L ~string | ~[]byte](a, b []L) [][2]int {
	type count struct{ inA, inB, atB int }
	seen := make(map[string]*count, len(a))
	for _, s := range a {
		c := seen[string(s)]
		if c == nil {
			c = &count{}
			seen[string(s)] = c
		}
		c.inA++
	}
	for j, s := range b {
		if c := seen[string(s)]; c != nil {
			c.inB, c.atB = c.inB+1, j
		}
	}
	inA := map[int]int{} // by line of b
	var list []int       // lines of b
	for i, s := range a {
		if c := seen[string(s)]; c.inA == 1 && c.inB == 1 {
			inA[c.atB], list = i, append(list, c.atB)
		}
	}
	var anchors [][2]int
	for _, j := range LongestIncreasing(list) {
		anchors = append(anchors, [2]int{inA[j], j})
	}
	return anchors
}

// LongestIncreasing returns the longest increasing subsequence of different numbers.
func LongestIncreasing(list []int) []int {
	tails, before := []int{}, make([]int, len(list)) // tails[n] ends the best one of n+1
	for i := range list {
		n := sort.Search(len(tails), func(k int) bool { return list[tails[k]] >= list[i] })
		if n == len(tails) {
			tails = append(tails, 0)
		}
		tails[n] = i
		if n > 0 {
			before[i] = tails[n-1]
		}
	}
	for n := len(tails) - 1; n > 0; n-- {
		tails[n-1] = before[tails[n]]
	}
	for n, i := range tails {
		tails[n] = list[i]
	}
	return tails
}
