package letters

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for want, texts := range map[string][]string{
		"duong da di":        {"Đường đã đi", "ĐƯỜNG ĐÃ ĐI"},
		"gudrun thorsdottir": {"Guðrún Þórsdóttir", "GUÐRÚN ÞÓRSDÓTTIR"},
		"isik igdir":         {"Işık Iğdır", "IŞIK IĞDIR", "İŞIK İĞDİR", "ışık iğdir"},
		"οδυσσευσ φωσ":       {"Οδυσσεύς φῶς", "ΟΔΥΣΣΕΥΣ ΦΩΣ"},
		"strasse":            {"Straße", "STRASSE", "STRAẞE", "ſtraße"},
		"malta hamrun":       {"Malta Ħamrun", "MALTA ĦAMRUN"},
		"smorrebrod":         {"Smørrebrød"},
		"lodz":               {"Łódź", "ŁÓDŹ"},
		"aero oeuvre":        {"Ærø œuvre", "ÆRØ ŒUVRE"},
		"كتاب فارسي":         {"کتاب فارسی", "كتاب فارسي"},
		"مكتبه":              {"مکتبہ", "مكتبه"},
		"ميخواهم":            {"می\u200cخواهم", "ميخواهم"},
		"1234 4567 427 90":   {"۱۲۳۴ ๔๕๖๗ ٤٢٧ ９０", "१२३४ ৪৫৬৭ ௪௨௭ ༩༠"},
		"कलम":                {"क़लम", "क\u093cलम"},
		"елка йод":           {"Ёлка йод", "ЁЛКА ЙОД"},
		"მთა":                {"მთა", "ᲛᲗᲐ"},
		"hawaii":             {"Hawaiʻi"},
		"եւ":                 {"և", "ԵՒ"},
	} {
		for _, text := range texts {
			if got := Fold(text); got != want {
				t.Errorf("Fold(%q) = %q, want %q", text, got, want)
			}
		}
	}
	if got := string(AppendBase(AppendBase(nil, 'É'), 'ß')); got != "Ess" {
		t.Errorf("with its case: %q", got)
	}
}

// TestFoldOnce checks that folding again changes nothing, and that cases are equal.
func TestFoldOnce(t *testing.T) {
	for r := rune(0); r < 0x20000; r++ {
		if !utf8.ValidRune(r) || unicode.Is(unicode.Cherokee, r) { // of which cases.Fold swaps the cases
			continue
		}
		once := Fold(string(r))
		if again := Fold(once); again != once {
			t.Errorf("%U %q folds to %q, then to %q", r, r, once, again)
		}
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			if other := Fold(string(c)); other != once {
				t.Errorf("%q folds to %q, %q to %q", r, once, c, other)
			}
		}
	}
}
