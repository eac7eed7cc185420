package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesSymptoms checks that the messages in docs/operate.md are messages of
// the program. An ellipsis stands for variable text.
func TestPagesSymptoms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "messages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
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
						t.Errorf("%s:%d: no message contains %q", p.path, number, part)
					}
				}
			}
		})
	}
	if rows == 0 {
		t.Error("no message is in the table")
	}
}
