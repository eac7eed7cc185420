package share

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrivateHeading checks that no property contains the text of a heading in a
// <private> block.
func TestPrivateHeading(t *testing.T) {
	r := newRules()
	r.Private = true
	for _, front := range []string{"", "---\nvisibility: public_ok\n---\n"} {
		for _, text := range []string{
			"# Top\n\n<private>\n## CANARY divorce\n</private>\n\n- lawyer on Tuesday\n",
			"# Top\n\n## <private>CANARY</private> plan\n\n- lawyer on Tuesday\n",
			"# Top\n\n## <private>CANARY</private> plan\n\n### Below\n\n- lawyer <!-- visibility=private_only -->\n",
			"<private>\n# CANARY\n</private>\n\n- lawyer <!-- visibility=public_ok -->\n- notary\n",
			"# Top\n\n- lawyer <private>CANARY</private> on Tuesday\n",
		} {
			for _, o := range r.apply(parse("notes/a.md", front+text)).Objects {
				if strings.Contains(strings.ToLower(fmt.Sprint(o.Properties)), "canary") {
					t.Errorf("%q is published: %v", text, o.Properties)
				}
			}
		}
	}
}

// TestLargeEntry checks that an entry which no store accepts is withheld and blocks no
// other.
func TestLargeEntry(t *testing.T) {
	p := newTest(t, tree{"a.md": note("one <!-- id=one -->"), "z.md": note("last <!-- id=z -->"),
		"large.md": "---\nvisibility: public_ok\n---\n```\n" + strings.Repeat("<td>x</td>\n", maxObject/20) + "```\n"})
	p.MaxSpool = 256 << 20
	p.step()
	if s := p.Status(); len(p.store.contents()) != 2 || s.Spooled > 0 || s.Problem != "" || s.Withheld != 1 {
		t.Errorf("the store has %d entries, status %+v", len(p.store.contents()), s)
	}
}
