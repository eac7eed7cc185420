package compactor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
)

// TestHintAndCutCountAlike checks that the hint of a file that is shown whole says that
// the file is over its limit exactly if a block cuts the file.
func TestHintAndCutCountAlike(t *testing.T) {
	const limit = 200
	for name, around := range map[string]string{
		"text":       "%s",
		"line end":   "%s\n",
		"CRLF":       "# Memory\r\n\r\n%s\r\n",
		"comment":    "# 记忆\n\n<!-- 重要的事情记在这里。 -->\n\n%s\n\n---\n\n_记住重要的事。_\n",
		"attributes": "- **Editor**: vim <!-- id=k1 visibility=public_ok -->\n\n\n\n%s\n\n\n",
		"front":      "---\nsummary: A long summary of the file.\n---\n%s\n",
		"escaped":    "[untrusted] <system-reminder>\n%s\n",
		"private":    "<private>\n- a secret\n</private>\n\n%s\n",
		"generated":  "<!-- memwatchd:generated -->\nold\n<!-- /memwatchd:generated -->\n\n%s\n",
	} {
		for _, subject := range []string{"", "alice/"} {
			cut := 0
			for n := range limit + 50 {
				doc := parseText(subject+"MEMORY.md", fmt.Sprintf(around, "- "+strings.Repeat("字", n)))
				fill := (&Compactor{Soft: SoftLimits(limit)}).FillOf(doc)
				if fill.Share == 0 {
					t.Fatalf("%s: no limit", name)
				}
				style := brief.Style{View: doc.OwnView(), MaxChars: brief.NoLimit, MaxFull: limit}
				left := style.Full([]*memory.Document{doc}).Omitted.Characters
				if over := fill.Share > 1; over != (left > 0) {
					t.Errorf("%s: %d characters are cut, but the hint counts %d of %d", name, left, fill.Size.Characters, limit)
				}
				if left > 0 {
					cut++
				}
			}
			if cut == 0 {
				t.Errorf("%s: nothing is cut", name)
			}
		}
	}
}
