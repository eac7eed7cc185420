package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWorstFiles checks that parsing and editing unusual files take time in
// proportion to their length. The limit is a hundred times the usual time, and
// still too short for quadratic work.
func TestWorstFiles(t *testing.T) {
	many := func(unit string) string { return strings.Repeat(unit, 400_000/len(unit)) }
	var tags strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&tags, "- tag%d\n", i)
	}
	for name, text := range map[string]string{
		"headings":              many("# H\n\ntext\n"),
		"nested":                many("# A\n## B\n### C\n#### D\n- x\n"),
		"private spans":         many("<private>a</private>\n\n- x\n"),
		"private blocks":        many("<private>\n\na\n\n</private>\n\n- x\n"),
		"tags in code":          many("- `<private>` x\n"),
		"tasks below an item":   "- " + strings.Repeat("word ", 20_000) + "\n" + strings.Repeat("  - [ ] a\n", 10_000),
		"equal tasks":           "- x\n" + many("  - [ ] a\n"),
		"comments":              many("a<!--b-->\n"),
		"hidden lines":          many("%%a%%\n\n- x\n\n"),
		"attributes":            many("- x <!-- type=fact -->\n"),
		"tags of the file":      "---\ntags:\n" + tags.String() + "---\n" + many("# H\n\ntext\n"),
		"brackets in a comment": "a %%" + many("<") + "%% and %%" + many("<") + "%%\n",
	} {
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
		d := parse([]byte(text))
		for i := range d.Entries {
			for task := range d.Entries[i].Tasks {
				d.Entries[i].TaskID(task)
			}
		}
		if lines := d.Prose(d.viewOfEverything()); len(lines) == 0 {
			t.Errorf("%s: no prose", name)
		}
		if took := time.Since(start); took > 20*time.Second*raceFactor {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// TestWorstMerges checks that the merge of long versions without common text takes time
// in proportion to their length. The limit is as in [TestWorstFiles].
func TestWorstMerges(t *testing.T) {
	for name, unit := range map[string]string{
		"paragraphs": "text of %s\n\n",
		"titles":     "- **%[1]s title**: %[1]s\n",
	} {
		version := func(word string) []byte {
			line := fmt.Sprintf(unit, word)
			return []byte(strings.Repeat(line, 400_000/len(line)))
		}
		start := time.Now()
		if m := testLayout().MergeVersions("notes/a.md", version("a"), version("b"), version("c")); m.Whole {
			t.Errorf("%s: no merge", name)
		}
		if took := time.Since(start); took > 20*time.Second*raceFactor {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}
