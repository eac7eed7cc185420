package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentities(t *testing.T) {
	ids, err := ParseIdentities([]byte("# who is who\nlinks:\n  telegram:123456: acct:42\n  slack:T01:U07: \"acct:42\"\n  mail:a@b.c: bob\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids     *Identities
		key     string
		subject string
		aliases []string
	}{
		{ids, "telegram:123456", "acct:42", []string{"ext:slack:T01:U07", "ext:telegram:123456"}},
		{ids, "mail:a@b.c", "bob", []string{"ext:mail:a@b.c"}},
		{ids, "telegram:7", "ext:telegram:7", nil},
		{ids, "", "", nil},
		{nil, "telegram:123456", "ext:telegram:123456", nil},
		{&Identities{}, "telegram:123456", "ext:telegram:123456", nil},
	} {
		subject, aliases := c.ids.Resolve(c.key)
		if subject != c.subject || !cmp.Equal(aliases, c.aliases) {
			t.Errorf("%q is %q with %q, want %q with %q", c.key, subject, aliases, c.subject, c.aliases)
		}
	}
	if got := ids.AliasesOf("acct:42"); !cmp.Equal(got, []string{"ext:slack:T01:U07", "ext:telegram:123456"}) {
		t.Errorf("aliases of acct:42: %q", got)
	}
	want := []LinkedKey{{"mail:a@b.c", "bob"}, {"slack:T01:U07", "acct:42"}, {"telegram:123456", "acct:42"}}
	if diff := cmp.Diff(want, ids.Links()); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestIdentitiesEmpty(t *testing.T) {
	for _, src := range []string{"", "\n", "# nothing\n", "links:\n", "links: {}\n"} {
		if ids, err := ParseIdentities([]byte(src)); err != nil || len(ids.Links()) != 0 {
			t.Errorf("%q: %v, %v", src, ids, err)
		}
	}
}

func TestIdentitiesErrors(t *testing.T) {
	for src, want := range map[string]string{
		"links:\n  telegram:1: acct:1\n  telegram:1: acct:2\n": "line 3: duplicate key \"telegram:1\"",
		"links:\n  telegram:1: acct:1\nmore: x\n":              "line 3: unknown key \"more\"",
		"links:\n  telegram:1: 42\n":                           "line 2: subject is not text",
		"links:\n  telegram:1: [a]\n":                          "line 2: subject is not text",
		"links:\n  telegram:1:\n":                              "line 2: subject is not text",
		"links:\n  telegram:1: \"\"\n":                         "line 2: subject is empty",
		"links:\n  telegram:1: \"?acct_1\"\n":                  "line 2: subject starts with a question mark",
		"links:\n  telegram:1: ext:telegram:2\n":               "line 2: cannot link a key to the subject of another key",
		"links:\n  telegram: acct:1\n":                         "line 2: external key does not have the form",
		"links: &a\n  telegram:1: x\n":                         "line 1: YAML anchors",
		"links:\n  ? [a]\n  : b\n":                             "line 2: a key is not plain text",
		"links:\n- a\n":                                        "line 2: links is not a mapping of key: subject lines",
		"- a\n":                                                "line 1: not a mapping of key: value lines",
		"links:\n  a: b: c\n":                                  "line 2: mapping values are not allowed",
		"\xff":                                                 "line 1: not valid UTF-8",
		strings.Repeat("#", 2<<20):                             "line 1: longer than 1024 KiB",
	} {
		_, err := ParseIdentities([]byte(src))
		if err == nil || !strings.Contains(err.Error(), IdentitiesPath+" "+want) {
			t.Errorf("%.60q: the error is %v, want %s", src, err, want)
		}
	}
}
