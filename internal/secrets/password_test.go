package secrets

import (
	"os"
	"strings"
	"testing"
)

// TestPasswords checks a table of lines. Each line of the file begins with "+ "
// if it contains a password, a PIN or the number of a payment card, between
// ‹ and ›, or with "- " if it does not.
func TestPasswords(t *testing.T) {
	table, err := os.ReadFile("testdata/passwords.txt")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(table), "\n") {
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		marked := line[2:]
		text := strings.NewReplacer("‹", "", "›", "").Replace(marked)
		for _, around := range [][2]string{
			{"", ""}, {"- ", " <!-- id=x1 -->\n- more"}, {"> ", "\r\nnext"}, {"- [ ] ", " (added 2026-02-04)"},
		} {
			if around[1] != "" && strings.HasPrefix(text, "|") {
				continue
			}
			whole := around[0] + text + around[1]
			var b strings.Builder
			last := 0
			for _, f := range Find(whole) {
				b.WriteString(whole[last:f.Start] + "‹" + whole[f.Start:f.End] + "›")
				last = f.End
			}
			b.WriteString(whole[last:])
			want := around[0] + marked + around[1]
			if (line[0] == '+') != strings.Contains(marked, "‹") || b.String() != want {
				t.Errorf("line %d: in %q found %q, want %q", n+1, whole, b.String(), want)
			}
			masked, masks := Redact(whole)
			if count := strings.Count(marked, "‹"); masks != count || CountMasks(masked) != count {
				t.Errorf("line %d: %q has %d masks, want %d", n+1, masked, masks, count)
			}
			if again := Find(masked); again != nil {
				t.Errorf("line %d: in %q found %+v", n+1, masked, again)
			}
		}
	}
}
