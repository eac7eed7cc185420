package memory

import "testing"

// TestTaskNorm checks that differently written copies of a task are equal.
func TestTaskNorm(t *testing.T) {
	for _, c := range []struct{ task, want string }{
		{"Write the docs", "write the docs"},
		{"  write   THE docs. ", "write the docs"},
		{"**Write** the _docs_!", "write the docs"},
		{"Write the docs (added 2026-02-05)", "write the docs"},
		{"2026-02-05: Write the docs", "write the docs"},
		{"Write the docs #project:atlas #now", "write the docs"},
		{"Write the docs 📅 2026-02-07 ⏫ 🔁 every week ✅ 2026-02-06", "write the docs"},
		{"Write the docs [Created](2026-02-01) [Done](2026-02-02)", "write the docs"},
		{"Write the docs ^abc", "write the docs"},
		{"写文档。", "写文档"},
		{"写ＡＰＩ文档！", "写api文档"},
		{"call snake_case_name with 2*3", "call snake_case_name with 2*3"},
		{"fix C# and #123", "fix c# and #123"},
	} {
		if got := taskNorm(taskText(c.task)); got != c.want {
			t.Errorf("%q is compared as %q, want %q", c.task, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"**a** *b* __c__ _d_ ~~e~~": "a b c d e",
		"***a***":                   "a",
		"这是**重点**内容":                "这是重点内容",
		"2*3*4 snake_case_x ~a~":    "2*3*4 snake_case_x ~a~",
		"* a * b":                   "* a * b",
		"**open":                    "**open",
		"(_a_) \"*b*\", _c_.":       "(a) \"b\", c.",
		"[x](_longterms/a/_b.md)":   "[x](_longterms/a/_b.md)",
	} {
		if got := stripEmphasis(s); got != want {
			t.Errorf("%q without emphasis is %q, want %q", s, got, want)
		}
	}
}
