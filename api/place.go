package api

import (
	"fmt"
	"strconv"
	"strings"
)

// CutLines splits a place as answers show it, such as a.md:3, a.md:3-6 or a.md:3:7 with
// a column, into the path and the numbers of the first and the last line. Without a last
// line, to is 0. Without a line, path is the place and from is 0.
func CutLines(place string) (path string, from, to int) {
	rest := strings.TrimSuffix(place, ":")
	for range 2 {
		i := strings.LastIndexByte(rest, ':')
		if i < 0 {
			break
		}
		first, last, isRange := strings.Cut(rest[i+1:], "-")
		f, err := strconv.ParseUint(first, 10, 31)
		l, lastErr := strconv.ParseUint(last, 10, 31)
		if err != nil || f == 0 || isRange && (lastErr != nil || l < f) {
			break
		}
		rest, path, from, to = rest[:i], rest[:i], int(f), int(l)
		if isRange {
			break
		}
	}
	if from == 0 {
		return place, 0, 0
	}
	return path, from, to
}

// JoinLines returns the place that [CutLines] splits into its arguments.
func JoinLines(path string, from, to int) string {
	switch {
	case from == 0:
		return path
	case to == 0:
		return fmt.Sprintf("%s:%d", path, from)
	}
	return fmt.Sprintf("%s:%d-%d", path, from, to)
}
