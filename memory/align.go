package memory

import "sort"

// alignLines pairs lines that occur in both a and b, in order. It pairs the common
// prefix and suffix, the lines that occur exactly once in each text, and the
// equal neighbours of those lines. It returns, for each line of a, the index of
// the paired line of b, or -1.
//
// The algorithm is the anchored diff of Go's own tools. It takes n log n in the
// worst case, and frequent lines such as blank lines and brackets do not
// mislead it.
func alignLines(a, b []string) []int {
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
	doneA, doneB := start, start // everything before these is paired
	for _, anchor := range findAnchors(a[start:endA], b[start:endB]) {
		i, j := start+anchor[0], start+anchor[1]
		if i < doneA {
			continue // already paired as the neighbour of an earlier anchor
		}
		for i > doneA && j > doneB && a[i-1] == b[j-1] {
			i, j = i-1, j-1
		}
		for i < endA && j < endB && a[i] == b[j] {
			pairs[i] = j
			i, j = i+1, j+1
		}
		doneA, doneB = i, j
	}
	return pairs
}

// findAnchors returns the longest sequence of lines that occur exactly once in each
// text and are in the same order in both.
func findAnchors(a, b []string) [][2]int {
	type count struct{ inA, inB, atB int }
	seen := make(map[string]*count, len(a))
	for _, s := range a {
		if seen[s] == nil {
			seen[s] = &count{}
		}
		seen[s].inA++
	}
	for j, s := range b {
		if c := seen[s]; c != nil {
			c.inB, c.atB = c.inB+1, j
		}
	}
	var list [][2]int
	for i, s := range a {
		if c := seen[s]; c.inA == 1 && c.inB == 1 {
			list = append(list, [2]int{i, c.atB})
		}
	}
	// The longest increasing subsequence: tails[n] ends the best one of n+1.
	tails, before := []int{}, make([]int, len(list))
	for i := range list {
		n := sort.Search(len(tails), func(k int) bool { return list[tails[k]][1] >= list[i][1] })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	out := make([][2]int, len(tails))
	for n, i := len(tails)-1, -1; n >= 0; n-- {
		if i < 0 {
			i = tails[n]
		}
		out[n] = list[i]
		i = before[i]
	}
	return out
}
