package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesSymptoms checks that the messages in docs/operate.md occur in the
// sources. An ellipsis stands for variable text.
func TestPagesSymptoms(t *testing.T) {
	var sources strings.Builder
	for _, p := range goList(t) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	said := strings.ReplaceAll(sources.String(), "%w on %s: ", "no daemon answers on …: ") // an error with a name
	first := regexp.MustCompile("^\\| (`[^|]*) \\|")
	rows := 0
	for _, p := range pages(t) {
		below := false
		p.prose(func(number int, line string) {
			if m := heading.FindStringSubmatch(line); m != nil {
				below = p.path == "docs/operate.md" && m[1] == "Troubleshooting"
			}
			m := first.FindStringSubmatch(line)
			if !below || m == nil {
				return
			}
			rows++
			for _, message := range codeSpan.FindAllString(m[1], -1) {
				for part := range strings.SplitSeq(strings.Trim(message, "`"), "…") {
					if !strings.Contains(said, strings.TrimSpace(part)) {
						t.Errorf("%s:%d: nothing says %q", p.path, number, part)
					}
				}
			}
		})
	}
	if rows == 0 {
		t.Error("no message is in the table")
	}
}
