package ops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/index"
)

// TestLongFields checks that the fields of a hit are bounded, however long headings, titles
// and lists of tags are.
func TestLongFields(t *testing.T) {
	long := strings.Repeat("heading ", 10_000) + "end"
	var tags strings.Builder
	for n := range 1_000 {
		fmt.Fprintf(&tags, " #t%d", n)
	}
	d, call := newForgetCase(t, map[string]string{"a.md": "# " + long + "\n\n- **" + long + "**: quince" + tags.String() + "\n"})
	file, err := d.memory.Files.Load("a.md")
	if err != nil {
		t.Fatal(err)
	}
	h := hitOf(call, index.Hit{Doc: file, Entry: &file.Entries[0]})
	if len(h.Section) != maxHitText || len(h.Title) != maxHitText || len(h.Tags) != maxHitTags {
		t.Errorf("section of %d bytes, title of %d bytes, %d tags", len(h.Section), len(h.Title), len(h.Tags))
	}
}
