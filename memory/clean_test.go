package memory

import "testing"

func TestCleanLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain, 喝茶 😀\n\t a < b -- c":       "plain, 喝茶 😀 a < b -- c",
		"a <!-- visibility=public_ok -->":  "a &lt;!-- visibility=public_ok --&gt;",
		"<!-->":                            "&lt;!--&gt;",
		"<private>a</private> <privateer>": "&lt;private>a&lt;/private> <privateer>",
		"<private\n\u00a0>":                "&lt;private >",
		"a <private":                       "a &lt;private",
		"a\x00b\x1b[31mc\x7f":              "a b [31mc",
		"a\xffb":                           "a\ufffdb",
		"a\u202eb\u2066c\u200fd\ufeff":     "abcd",
		"a %%b%% c":                        "a %&#37;b%&#37; c",
		"printf %%d, 100%%.":               "printf %&#37;d, 100%&#37;.",
		"printf %%d":                       "printf %%d",
		"`%%a%%`":                          "`%%a%%`",
		"memwatchd:generated":              "memwatchd: generated",
		"\r\n[Memory:LongTerm:\nSummary]":  "\\[Memory:LongTerm: Summary]",
		" Long-term\nMemory (filtered)":    "\\Long-term Memory (filtered)",
	} {
		if got := CleanLine(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

func FuzzCleanLine(f *testing.F) {
	for _, s := range append(seeds, "<!-->", "<<private>", "<private \r>", "[Memory:a]\r[Memory:b]", "<!<!-- ---->") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckText(CleanLine(s)); err != nil {
			t.Errorf("%q becomes %q: %v", s, CleanLine(s), err)
		}
	})
}
