package memory

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProse checks that prose omits text for programs, keeps text for users,
// and records whether each line is trusted.
func TestProse(t *testing.T) {
	for _, c := range []struct {
		what, source string
		context      Context
		want         []string // an untrusted line begins with !
	}{
		{"frontmatter and blank lines", "---\nsummary: x\n---\n\n\n# T\n\n\ntext\n\n", Private, []string{"# T", "", "", "text"}},
		{"attributes", "- a <!-- id=a visibility=private_only -->\n- b\n  <!-- id=b -->\n- c\n", Private, []string{"- a", "- b", "- c"}},
		{"attributes below their entry", "text\n\n<!-- type=fact -->\n\nnext\n", Private, []string{"text", "", "next"}},
		{"attributes over lines", "- a <!-- id=a\n  type=fact -->\n- b\n", Private, []string{"- a", "- b"}},
		{"comments for people", "<!-- keep -->\n\n- a <!-- words for people -->\n", Private, []string{"<!-- keep -->", "", "- a <!-- words for people -->"}},
		{"generated text and injected blocks", "a\n\n[Memory:X]\n- no\n\nb\n\n" + GeneratedOpen + "\n- no\n" + GeneratedClose + "\n\nc\n", Private, []string{"a", "", "b", "", "c"}},
		{"line endings, a byte order mark, no text", "\ufeffa <!-- id=x -->\r\n\r\nb\xff", Private, []string{"a", "", "b\ufffd"}},
		{"others' words", "- ours\n- theirs <!-- source=public:x -->\n\n## Topic\ntheirs\n<!-- source=ntfy:y -->\n", Private, []string{"- ours", "!- theirs", "", "!## Topic", "!theirs"}},
		{"a heading above both", "# T\n## A\ntheirs <!-- source=ntfy:y -->\n## B\nours\n", Private, []string{"# T", "!## A", "!theirs", "## B", "ours"}},
		{"a heading above nothing", "# T\n", Private, []string{"# T"}},
		{"what may be read", "- a\n- b <!-- visibility=public_ok -->\n", Public, []string{"- b"}},
		{"credentials", "- SECRET here <!-- id=SECRET2 -->\n", Private, []string{"- XXXXXX here"}},
		{"nothing", "---\nsummary: x\n---\n<!-- id=x -->\n", Public, nil},
	} {
		l := &Layout{Mask: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("SECRET"), []byte("XXXXXX")) }}
		v, err := (&Directories{}).View(Scope{Subject: "owner", Context: c.context})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if doc := l.Parse("MEMORY.md", []byte(c.source), testMeta).For(v); doc != nil {
			for _, line := range doc.Prose(v) {
				text := line.Text
				if line.Untrusted {
					text = "!" + text
				}
				if line.Entry >= 0 && c.what != "comments for people" && !strings.Contains(doc.Entries[line.Entry].Text, strings.TrimSpace(line.Text)) {
					t.Errorf("%s: %q is said to be of %q", c.what, line.Text, doc.Entries[line.Entry].Text)
				}
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}
