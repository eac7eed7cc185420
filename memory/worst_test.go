package memory

import (
	"strings"
	"testing"
	"time"
)

// TestWorstFiles checks that parsing and editing unusual files take time in
// proportion to their length. The limit is a hundred times the usual time, and
// still too short for quadratic work.
func TestWorstFiles(t *testing.T) {
	for name, unit := range map[string]string{
		"headings":       "# H\n\ntext\n",
		"nested":         "# A\n## B\n### C\n#### D\n- x\n",
		"private spans":  "<private>a</private>\n\n- x\n",
		"private blocks": "<private>\n\na\n\n</private>\n\n- x\n",
		"tags in code":   "- `<private>` x\n",
	} {
		text := strings.Repeat(unit, 400_000/len(unit))
		parse := func(source []byte) *Document {
			return testLayout().Parse("2026-02-04/a.md", source, testMeta)
		}
		start := time.Now()
		r := parse([]byte(text)).Revise()
		r.AppendSection("10:30 AM", "- added")
		if _, err := r.Apply(parse); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r = parse([]byte(text)).Revise()
		r.Append([]string{"Tasks"}, "- [ ] added")
		if _, err := r.Apply(parse); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 20*time.Second*raceFactor {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}
