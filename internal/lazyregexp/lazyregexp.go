// Package lazyregexp provides regular expressions that are compiled on first
// use. To compile those of the whole program would take a millisecond of the
// start of every command.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that returns the regular expression, and compiles it when
// it is called first. New panics if the expression is invalid in tests, otherwise
// the first call does. The function is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		compiled()
	}
	return compiled
}
