package cli

import "testing"

// TestNameFlag checks that messages about parameters name flags, and that other
// messages stay.
func TestNameFlag(t *testing.T) {
	for _, test := range []struct{ text, param, flag, want string }{
		{"all: no effect with mode overlap", "all", "all", "--all: no effect with mode overlap"},
		{"all: no effect with mode relevance", "mode", "mode", "all: no effect with --mode relevance"},
		{"set mode to overlap, or omit all", "all", "all", "set mode to overlap, or omit --all"},
		{"omit kinds or include_archived", "include_archived", "include-archived", "omit kinds or --include-archived"},
		{"set either path or id", "id", "id", "set either path or --id"},
		{"no entry matches with tags", "tags", "tags", "no entry matches with tags"},
		{"use another text, or omit it", "text", "text", "use another text, or omit it"},
		{"phrase: too long", "phrase", "exact", "--exact: too long"},
	} {
		if got := nameFlag(test.text, test.param, test.flag); got != test.want {
			t.Errorf("%q with %s: got %q, want %q", test.text, test.flag, got, test.want)
		}
	}
}
