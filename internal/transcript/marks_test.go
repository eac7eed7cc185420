package transcript

import "testing"

// TestPatternsCompile compiles all patterns, which the program compiles at their
// first use.
func TestPatternsCompile(t *testing.T) {
	for _, r := range rules {
		r.pattern()
		if r.exception != nil {
			r.exception()
		}
	}
	for _, a := range completionPatterns {
		a()
	}
	questionRE()
	programOutputRE()
	undecidedRE()
	reportRE()
}
