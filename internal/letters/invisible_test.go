package letters

import (
	"encoding/json"
	"testing"
)

// TestEscapeJSON checks that the result is the same value, without characters
// that harm a terminal.
func TestEscapeJSON(t *testing.T) {
	for _, s := range []string{"", "plain 会议 👩\u200d👧", "\u009b31m", "a\u202eb\u2066", "\u200b\ufeff\u2060", "\U000e0041\U000e007f", "\x7f\x1b", "\u2028", "\\u202e", "\"\t\n"} {
		b, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		out := EscapeJSON(b, false)
		var back map[string]string
		if err := json.Unmarshal(out, &back); err != nil || len(back) != 1 || back[s] != s {
			t.Errorf("%q becomes %s, %v", s, out, err)
		}
		if _, found := FirstInvisible(string(out), false); found {
			t.Errorf("%q becomes %q", s, out)
		}
	}
}
