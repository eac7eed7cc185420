package hook

import (
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/transcript"
)

// TestAppendMessages checks that new messages follow those that are kept, and that
// none of the latter is removed.
func TestAppendMessages(t *testing.T) {
	read := func(words string) (messages []transcript.Message) {
		for _, word := range strings.Fields(words) {
			messages = append(messages, transcript.Message{Text: word})
		}
		return messages
	}
	const head = "# A conversation\n"
	for _, c := range []struct{ kept, messages, want string }{
		{"", "", ""},
		{"", "a b", "a b"},
		{"a b", "a b", "a b"},
		{"a b", "a b c", "a b c"},
		{"a b c", "b c d", "a b c d"},
		{"a b c", "b", "a b c"},
		{"a b c", "d", "a b c d"},
		{"a yes b c", "yes d", "a yes b c yes d"}, // another answer, after a compaction
		{"a yes b yes", "yes d", "a yes b yes d"},
		{"a a", "a a a", "a a a"},
	} {
		kept := appendMessages(head, read(c.kept))
		if got, want := appendMessages(kept, read(c.messages)), appendMessages(head, read(c.want)); got != want {
			t.Errorf("%q and %q: got %q", c.kept, c.messages, got)
		}
	}
	if got := appendMessages(head+"\n## Person\n\na, edited\n", read("a b")); !strings.Contains(got, "edited") {
		t.Errorf("an edit is lost: %q", got)
	}
}
