package memory

import (
	"strings"
	"testing"
)

// TestWords checks that text is found by its words, however a person has laid it out, and not
// as a part of other words.
func TestWords(t *testing.T) {
	parse := func(text string) *Document { return new(Layout).Parse("a.md", []byte(text), Meta{}) }
	for _, c := range []struct {
		text, part string
		want       bool
	}{
		{"One day. Tea at *three*.\n", "- Tea at three\n", true},
		{"- A list\n    - [x] Tea\n      at three\n", "Tea at three", true},
		{"> tea AT\n> three\n", "- **Tea** at three <!-- id=x -->\n", true},
		{"- Tea at three <!-- id=x -->\n- and four\n", "- Tea at three\n- and four\n", true},
		{"明天三点喝茶。带杯子。\n", "- 带杯子\n", true},
		{"- Tea at thirteen\n", "- Tea at three\n", false},
		{"- Note 12\n", "- Note 1\n", false},
		{"", "- x\n", false},
	} {
		if got := strings.Contains(parse(c.text).Words(), parse(c.part).Words()); got != c.want {
			t.Errorf("%q contains %q: %v", c.text, c.part, got)
		}
	}
	if got := parse("- →\n").Entries[0].Words(); got != "" {
		t.Errorf("an arrow has the words %q", got)
	}
}
