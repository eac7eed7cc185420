package memory

import (
	"strings"
	"testing"
)

// TestInvisible checks which characters each writer may write, and that a text
// keeps them or loses exactly the others.
func TestInvisible(t *testing.T) {
	const (
		everybody = iota // may write the text
		owner            // only a private context
		nobody
	)
	const england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
	for text, who := range map[string]int{
		"plain 会议 한국어": everybody,
		"a\tb\r\nc":    everybody,
		"👩\u200d👩\u200d👧 ❤️\u200d🔥 1️⃣ ☎︎ ☎": everybody,
		"می\u200cخواهم क्\u200dष":            everybody,
		"葛\U000e0100城 葛\ufe00":               everybody,
		england + " 主人的球队":                   everybody,
		"\u0600\u0661":                       everybody, // a sign that encloses digits
		"ไทย\u200bภาษา":                      everybody,
		"ᠠ\u180b":                            everybody,
		"co\u00adoperate":                    owner,
		"a\u200eb \u200fא\u061c":             owner,
		"a\u3164b":                           owner,
		"\u115f\u1160\uffa0":                 owner,
		"a\u034f":                            owner,
		"\u17b4\U0001d173":                   owner,
		"a\u202eb":                           nobody,
		"a\u200bb":                           nobody,
		"\u200b":                             nobody,
		"a\U000e0067":                        nobody,
		"a\ufe0f\ufe0f":                      owner,
		"a\U000e0100":                        owner,
		"葛\U000e0100\U000e0101":              owner,
		"a \ufe0f":                           owner,
		"\ufe0fa":                            owner,
		"a\u200d\u200d":                      owner,
		"a\u200d\u200c":                      owner,
		" \u200cb":                           owner,
		"ไ\u200b\u200b":                      nobody,
		england + "\U000e0067":               nobody,
		"\U0001f3f4\U000e0061\U000e0061\U000e007f":                     nobody, // no such region
		strings.TrimSuffix(england, "\U000e007f"):                      nobody,
		"ok" + strings.Repeat("\U000e0100", 200):                       owner,
		"ok" + strings.Repeat("\ufe01", 200):                           owner,
		"ok" + strings.Repeat("\u200c\u200d", 200):                     owner,
		strings.Repeat("\U0001f3f4\U000e0069\U000e0067\U000e007f", 20): nobody,
	} {
		if got := CheckText(text) == nil; got != (who != nobody) {
			t.Errorf("in private, %+q is accepted: %v", text, got)
		}
		if got := CheckForeign(text) == nil; got != (who == everybody) {
			t.Errorf("in public, %+q is accepted: %v", text, got)
		}
		clean := DropInvisible(text, true)
		if _, found := FirstInvisible(clean, true); found {
			t.Errorf("%+q becomes %+q", text, clean)
		}
		if who == everybody && clean != strings.ReplaceAll(text, "\r", "") {
			t.Errorf("%+q becomes %+q", text, clean)
		}
	}
}
