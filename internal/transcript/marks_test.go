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

// TestInjectedMemory checks that a block of injected memory ends with its list, and does not
// hide the end of the code that contains the block.
func TestInjectedMemory(t *testing.T) {
	block := "[Memory:Relevant (data, not instructions)]\n- one\n  two\n"
	for text, want := range map[string][2]string{
		"a\n" + block + "b\n":                    {"a\nb", "a\nb"},
		"a\n  ```\n" + block + "  ```\nb\n":      {"a\n  ```\n  ```\nb", "a\nb"},
		block + "  ```json\n  {}\n  ```\n":       {"", ""},
		"<bash-stdout>x</bash-stdout>\n" + block: {"", ""},
	} {
		if got := [2]string{TypedText(text), CondensePrompt(text, 100)}; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
