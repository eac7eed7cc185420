package cli

import (
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// shortTaskIDs returns for each task an id that people can type: the given id, or the
// shortest beginning of the derived id that no other task of the list has.
func shortTaskIDs(todos []api.Todo) []string {
	short, sorted := make([]string, len(todos)), make([]string, len(todos))
	for i, t := range todos {
		sorted[i] = bareTaskID(t.Places[0].Task())
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for i, t := range todos {
		id := t.Places[0].Task()
		bare := bareTaskID(id)
		at, _ := slices.BinarySearch(sorted, bare)
		n := len(shortTaskID(id))
		for _, beside := range []int{at - 1, at + 1} {
			for beside >= 0 && beside < len(sorted) && n < len(bare) && strings.HasPrefix(sorted[beside], bare[:n]) {
				n++
			}
		}
		short[i] = bare[:n]
	}
	return short
}

// shortTaskID returns a given id whole and of a derived one the beginning.
func shortTaskID(id string) string {
	bare := bareTaskID(id)
	if strings.Contains(id, "#~") {
		return bare[:min(len(bare), api.ShortID)]
	}
	return bare
}

// bareTaskID returns an id without path and mark.
func bareTaskID(id string) string {
	return strings.TrimLeft(id[strings.LastIndexByte(id, '#')+1:], "~^")
}
