package term

import "testing"

// TestQuoteWord compares quoted words with the forms that a shell reads back.
func TestQuoteWord(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c_d.md": "/a/b-c_d.md", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~x": "'~x'", "记忆": "'记忆'",
		"a\nb": `$'a\nb'`, "a'\x1b\\": `$'a\'\x1b\\'`,
	} {
		if got := QuoteWord(word); got != want {
			t.Errorf("QuoteWord(%q) = %s, want %s", word, got, want)
		}
	}
}
