package memory

import (
	"slices"
	"testing"
)

func TestComment(t *testing.T) {
	for _, c := range []struct {
		attributes map[string]string
		evidence   []string
		want       string
	}{
		{nil, nil, ""},
		{map[string]string{"source": "", "evidence": "not me"}, nil, ""},
		{
			map[string]string{
				"updated": "2026-02-05T12:00:00Z", "zeal": "1", "supersedes": "x", "color": "blue", "id": "k3", "created": "c",
				"source": "msg:42, the first", "confidence": "0.9", "visibility": "private_only", "importance": "1", "type": "fact", "pin": "true",
			},
			[]string{"2026-02-04/cli.md#~ab", "https://example.com/?a=1,2&b=%20", "a -- b.md", "dash-", "\u3000全角.md"},
			"<!-- id=k3 type=fact importance=1 visibility=private_only confidence=0.9 evidence=2026-02-04/cli.md#~ab," +
				"https://example.com/?a=1%2C2&b=%2520,a%20%2D-%20b.md,dash%2D,%E3%80%80全角.md" +
				" source=msg:42,%20the%20first created=c updated=2026-02-05T12:00:00Z pin=true supersedes=x color=blue zeal=1 -->",
		},
	} {
		got := Comment(c.attributes, c.evidence)
		if got != c.want {
			t.Errorf("the comment is\n%s\nnot\n%s", got, c.want)
		}
		if got == "" {
			continue
		}
		e := new(Layout).Parse("2026-02-05/a.md", []byte("- a "+got+"\n"), Meta{}).Entries[0]
		for key, value := range c.attributes {
			if e.Attributes[key] != value {
				t.Errorf("%s is read as %q", key, e.Attributes[key])
			}
		}
		if !slices.Equal(e.Evidence, c.evidence) {
			t.Errorf("the evidence is read as %q", e.Evidence)
		}
	}
}
