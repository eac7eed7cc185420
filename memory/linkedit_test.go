package memory

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

func TestLinkKey(t *testing.T) {
	for _, c := range []struct{ src, key, subject, want string }{
		{"", "telegram:1", "acct:42", "links:\n  telegram:1: acct:42\n"},
		{"# who\n", "telegram:1", "acct:42", "# who\nlinks:\n  telegram:1: acct:42\n"},
		{"# who", "telegram:1", "acct:42", "# who\nlinks:\n  telegram:1: acct:42"},
		{"links:\n", "telegram:1", "acct:42", "links:\n  telegram:1: acct:42\n"},
		{"links: # none\n# end\n", "telegram:1", "acct:42", "links: # none\n  telegram:1: acct:42\n# end\n"},
		{"---\nlinks:\n    b:1: x # x\n    \"a:1\":   'y'\n\n# end", "c:1", "z", "---\nlinks:\n    b:1: x # x\n    \"a:1\":   'y'\n    c:1: z\n\n# end"},
		{"links:\r\n a:1: x\r\n", "b:1", "z", "links:\r\n a:1: x\r\n b:1: z\r\n"},
		{"links:\n  a:1: x", "b:1", "z", "links:\n  a:1: x\n  b:1: z"},
		{"links:\n  a:1: x\n", "b: 1", "42", "links:\n  a:1: x\n  \"b: 1\": \"42\"\n"},
		{"links:\n  a:1: x\n", "b:#1", "2026-02-04", "links:\n  a:1: x\n  \"b:#1\": \"2026-02-04\"\n"},
		{"links:\n  a:\n    x\n", "a:1", "y", "error _longterms/_identities.yaml line 2: external key does not have the form channel:user"},
		{"links:\n  a:1:\n    x\n", "b:1", "z", "links:\n  a:1:\n    x\n  b:1: z\n"},
		{"links:\n  a:1: \"x\n    y\"\n", "b:1", "y", "error _longterms/_identities.yaml line 2: write each link on a line of its own below links, or add the new link by hand"},
		{"links: {a:1: x}\n", "b:1", "y", "error _longterms/_identities.yaml line 1: write each link on a line of its own below links, or add the new link by hand"},
		{"links: {}\n", "b:1", "y", "error _longterms/_identities.yaml line 1: write each link on a line of its own below links, or add the new link by hand"},
		{"links:\n  a:1: x\n...\n", "b:1", "z", "links:\n  a:1: x\n  b:1: z\n...\n"},
		{"links:\n  a:1: x\n", "a:1", "y", "error a:1 is already linked"},
		{"links:\n  a:1: x\n", "a", "y", "error external key does not have the form channel:user"},
		{"links:\n  a:1: x\n", "b:1", "ext:a:1", "error cannot link a key to the subject of another key"},
		{"links:\n  a:1: x\n", "b:1", "", "error subject is empty"},
		{"links:\n  a:1: x\n  a:1: y\n", "b:1", "z", "error _longterms/_identities.yaml line 3: duplicate key \"a:1\""},
	} {
		got, err := LinkKey([]byte(c.src), c.key, c.subject)
		if err != nil {
			got = []byte("error " + err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%q with %s: %s is\n%q, want\n%q", c.src, c.key, c.subject, got, c.want)
		}
	}
}

func TestUnlinkKey(t *testing.T) {
	for _, c := range []struct{ src, key, want string }{
		{"links:\n  a:1: x\n", "a:1", "links:\n"},
		{"# who\nlinks:\r\n  a:1: x\r\n  # Ann\r\n  'b:1': y # b\r\n\r\n  c:1: z", "b:1", "# who\nlinks:\r\n  a:1: x\r\n  # Ann\r\n\r\n  c:1: z"},
		{"links:\n  a:1:\n    x\n  b:1: y\n", "a:1", "links:\n  b:1: y\n"},
		{"links:\n  a:1: x\n", "b:1", "error b:1 is not linked"},
		{"links: {a:1: x, b:1: y}\n", "b:1", "error _longterms/_identities.yaml line 1: write the link on a line of its own, or remove the link by hand"},
		{"links: {b:1: y}\n", "b:1", "error _longterms/_identities.yaml line 1: write the link on a line of its own, or remove the link by hand"},
		{"links:\n  a:1: \"x\n    y\"\n", "a:1", "error _longterms/_identities.yaml line 2: write the link on a line of its own, or remove the link by hand"},
		{"links:\n  a:1\n", "a:1", "error _longterms/_identities.yaml line 2: links is not a mapping of key: subject lines"},
	} {
		got, err := UnlinkKey([]byte(c.src), c.key)
		if err != nil {
			got = []byte("error " + err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%q without %s is\n%q, want\n%q", c.src, c.key, got, c.want)
		}
	}
}

// FuzzLinkKey checks that adding a link only inserts lines, and that removing
// the link again restores the file.
func FuzzLinkKey(f *testing.F) {
	for _, src := range []string{"", "links:\n", "# a\nlinks:\r\n  a:1: x # y\n\n# end", "links: {a:1: x}", "links:\n  \"a:1\": |\n    x\n", "---\nlinks:\n  ? a:1\n  : x\n...\n", "\ufefflinks:\n  a:1: x\r  b:1: y"} {
		f.Add([]byte(src), "telegram:1", "acct:42")
		f.Add([]byte(src), "a: #1", "true")
		f.Add([]byte(src), "'\"\\:\u2028", "~")
	}
	f.Fuzz(func(t *testing.T, src []byte, key, subject string) {
		before, err := ParseIdentities(src)
		if err != nil {
			return
		}
		next, err := LinkKey(src, key, subject)
		if err != nil {
			return
		}
		now, err := ParseIdentities(next)
		if err != nil || now.links[key] != subject || len(now.links) != len(before.links)+1 {
			t.Fatalf("%q with %q: %q is %q: %v", src, key, subject, next, err)
		}
		at := 0
		for at < len(src) && src[at] == next[at] {
			at++
		}
		for ; !bytes.HasSuffix(next, src[at:]); at-- {
			if at == 0 {
				t.Fatalf("%q becomes %q", src, next)
			}
		}
		back, err := UnlinkKey(next, key)
		if err != nil {
			t.Fatalf("%q: %v", next, err)
		}
		if after, err := ParseIdentities(back); err != nil || !maps.Equal(after.links, before.links) {
			t.Fatalf("%q is %q, and without it %q", src, next, back)
		}
		if len(before.links) > 0 && strings.TrimRight(string(back), "\r\n") != strings.TrimRight(string(src), "\r\n") {
			t.Fatalf("%q is %q, and without it %q", src, next, back)
		}
	})
}
