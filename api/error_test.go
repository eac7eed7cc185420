package api_test

import (
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestRename checks that only names in backquotes are replaced.
func TestRename(t *testing.T) {
	for text, want := range map[string]string{
		"set `limit`, or use `note`":           "set --limit, or use memory_note",
		"limit and note stay":                  "limit and note stay",
		"run `memwatchd status`, note `other`": "run `memwatchd status`, note `other`",
		"an open `limit":                       "an open `limit",
	} {
		e := api.Errorf(api.Invalid, "%s", text).WithHint("%s", text)
		got := e.Rename(func(name string) string {
			return map[string]string{"limit": "--limit", "note": "memory_note"}[name]
		})
		if got.Message != want || got.Hint != want || got.Code != api.Invalid || e.Message != text {
			t.Errorf("%q becomes %q, want %q", text, got.Message, want)
		}
	}
}
