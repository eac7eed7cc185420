package index

import (
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestPhrase checks which texts contain a phrase. Each match is in parentheses.
func TestPhrase(t *testing.T) {
	golden.Table(t, "phrases", func(t *testing.T, in []string) string {
		p, text := NewPhrase(in[0], false), in[1]
		var b strings.Builder
		at := 0
		for _, f := range p.Find(text) {
			b.WriteString(text[at:f[0]] + "(" + text[f[0]:f[1]] + ")")
			at = f[1]
		}
		if at > 0 && !p.MayBeIn(text) {
			t.Errorf("%q may not be in %q", in[0], text)
		}
		return b.String() + text[at:]
	})
	if p := NewPhrase("Zed", true); !p.In("Zed") || p.In("zed") || p.In("ZED") {
		t.Error("another letter case is found")
	}
	if (Phrase{}).In("") || (Phrase{}).MayBeIn("a") {
		t.Error("the zero value is found")
	}
}
