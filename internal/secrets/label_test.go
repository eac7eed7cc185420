package secrets

import (
	"os"
	"strings"
	"testing"
)

// TestLabels checks tables of lines. Each line of a file begins with "+ " if it
// contains a credential that has no form of its own, or a number, between ‹ and ›, or
// with "- " if it does not.
func TestLabels(t *testing.T) {
	for _, name := range []string{"passwords", "keys"} {
		t.Run(name, func(t *testing.T) { checkTable(t, "testdata/"+name+".txt") })
	}
}

func checkTable(t *testing.T, path string) {
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(table), "\n") {
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		marked := strings.ReplaceAll(line[2:], "↵", "\n")
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
