package memory

import "testing"

func TestSummaryCheck(t *testing.T) {
	for _, c := range []struct {
		title, text string
		ok          bool
	}{
		{"Profile", "likes tea", true},
		{"my_project", "Says **a lot**: `code`, [a link](a.md), <b>, #tags & 全角。", true},
		{"2026-02-04/cli", "- [ ] not a task here", true},
		{"a", "# not a heading here", true},
		{"a:", "x", true},
		{"a** b", "x", false},
		{" a", "x", false},
		{"", "x", false},
		{"a", "", false},
		{"a", "x ", false},
		{"a", "two\n- items", false},
		{"a", "the id of another ^abc", false},
		{"a", "<!-- visibility=public_ok -->", false},
		{"a", "x <private>", false},
	} {
		s := Summary{Title: c.title, Text: c.text, Evidence: []string{"2026-02-04/cli.md"}}
		if err := s.Check("_longterms/owner/profile.md", new(Layout)); (err == nil) != c.ok {
			t.Errorf("%s: %v", &s, err)
		}
	}
}
