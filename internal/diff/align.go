// Package diff aligns versions of a list, such as the lines or the entries of a file,
// and merges two versions with their common base.
package diff

import (
	"slices"
	"sort"
)

// maxTable bounds the product of the lengths of two runs whose longest common
// subsequence [Align] computes.
const maxTable = 1 << 16

// Align pairs elements that occur in both a and b, in order. It returns, for each
// element of a, the index of the paired element of b, or -1.
//
// It pairs the common prefix and suffix, the elements that occur exactly once in
// each list, and the equal neighbors of those elements, as the anchored diff of Go's
// own tools does. This takes n log n in the worst case, and frequent elements such as
// blank lines do not mislead it. Between these it pairs a longest common subsequence,
// unless the lists are long there.
func Align(a, b []string) []int {
	pairs := make([]int, len(a))
	for i := range pairs {
		pairs[i] = -1
	}
	start, endA, endB := 0, len(a), len(b)
	for start < endA && start < endB && a[start] == b[start] {
		pairs[start] = start
		start++
	}
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		pairs[endA] = endB
	}
	doneA, doneB := start, start // everything before these is paired or aligned
	between := func(i, j int) {
		for k, l := range longestCommon(a[doneA:i], b[doneB:j]) {
			if l >= 0 {
				pairs[doneA+k] = doneB + l
			}
		}
	}
	for _, anchor := range anchors(a[start:endA], b[start:endB]) {
		i, j := start+anchor[0], start+anchor[1]
		if i < doneA {
			continue // already paired as the neighbor of an earlier anchor
		}
		for i > doneA && j > doneB && a[i-1] == b[j-1] {
			i, j = i-1, j-1
		}
		between(i, j)
		for i < endA && j < endB && a[i] == b[j] {
			pairs[i] = j
			i, j = i+1, j+1
		}
		doneA, doneB = i, j
	}
	between(endA, endB)
	return pairs
}

// longestCommon pairs the elements of a longest common subsequence, or none if the
// lists are too long.
func longestCommon(a, b []string) []int {
	pairs := slices.Repeat([]int{-1}, len(a))
	width := len(b) + 1
	if len(a)*len(b) == 0 || len(a)*len(b) > maxTable {
		return pairs
	}
	common := make([]int, (len(a)+1)*width) // length by the starts in a and b
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs[i] = j
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// anchors returns the longest sequence of lines that occur exactly once in each text
// and are in the same order in both, as pairs of an index in a and one in b.
func anchors[L ~string | ~[]byte](a, b []L) [][2]int {
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
	for _, j := range longestIncreasing(list) {
		anchors = append(anchors, [2]int{inA[j], j})
	}
	return anchors
}

// longestIncreasing returns the longest increasing subsequence of different numbers.
func longestIncreasing(list []int) []int {
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
