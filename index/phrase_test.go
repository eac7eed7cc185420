package index

import (
	"strings"
	"testing"
)

// TestPhrase checks which texts contain a phrase. Each match is in parentheses.
func TestPhrase(t *testing.T) {
	for _, test := range []struct {
		phrase string
		texts  []string
	}{
		{"Zed", []string{
			"(Zed)", "the editor (ZED).", "(Zed)'s and (Zed)’s", "'(Zed)'", "pre-(zed)-post", "(zed)_config", "**(Zed)**", "Ｎｏ (Ｚｅｄ)", "(Z\u00aded)", "a,(zed)/b",
			"normalized", "Zedd", "aZed", "zedEditor", "zed2", "Zede'", "ze d",
		}},
		{"zed editor", []string{"(Zed editor)", "(Zed, editor)", "zed\nx", "(Zed\neditor)", "**(Zed** _editor)_", "editor Zed", "Zed the editor", "zed editors"}},
		{"open_files", []string{`a max\_(open\_files) b &lt;`}},
		{"555-1234", []string{"(555-1234)", "+1 (555 1234)", "555-12345", "1555-1234"}},
		{"find_or_create", []string{"(find_or_create)_by", "(find or create)", "findorcreate"}},
		{"e-mail", []string{"(e-mail)", "email", "mail"}},
		{"cafe", []string{"(café)", "(CAFE\u0301)", "cafes"}},
		{"Müller", []string{"(Muller)", "(MÜLLER)", "Mueller"}},
		{"Straße", []string{"(STRASSE)", "Straßen"}},
		{"don't", []string{"(don’t)", "(dont)", "don"}},
		{"été", []string{"l'(été)", "L’(ete)", "etes"}},
		{"电影", []string{"我喜欢(电影)。", "电 视影", "(电影)院", "电"}},
		{"李", []string{"(李)", "木子"}},
		{"ลาว", []string{"ภาษา(ลาว)", "ลา"}},
		{"Київ", []string{"(київ)", "Києва"}},
		{"c", []string{"(C)", "(c)!", "C++", "C#", "c++", "C3"}},
		{"C++", []string{"(C++)", "(c++), and", "C", "C+", "C#"}},
		{"C#", []string{"(C#)", "C", "C#7"}},
		{"🦔", []string{"a (🦔)️!", "🐦"}},
		{"€5", []string{"(€5)", "5", "€50"}},
		{"Ann Ann", []string{"(Ann, Ann)", "Ann", "(Ann Ann) Ann"}},
		{"--- \ufe0f.", []string{"---", ".", "a"}},
	} {
		p := NewPhrase(test.phrase, false)
		for _, want := range test.texts {
			text := strings.NewReplacer("(", "", ")", "").Replace(want)
			var b strings.Builder
			at := 0
			for _, f := range p.Find(text) {
				b.WriteString(text[at:f[0]] + "(" + text[f[0]:f[1]] + ")")
				at = f[1]
			}
			if got := b.String() + text[at:]; got != want {
				t.Errorf("%q: %q, want %q", test.phrase, got, want)
			}
			if strings.Contains(want, "(") && !p.MayBeIn(text) {
				t.Errorf("%q may not be in %q", test.phrase, text)
			}
		}
	}
	if p := NewPhrase("Zed", true); !p.In("Zed") || p.In("zed") || p.In("ZED") {
		t.Error("another letter case is found")
	}
	if (Phrase{}).In("") || (Phrase{}).MayBeIn("a") {
		t.Error("the zero value is found")
	}
}
