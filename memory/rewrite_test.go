package memory

import (
	"errors"
	"testing"
)

// TestRewriteKeepsBytes checks that unchanged lines keep their bytes and that
// new lines take the line endings of the file.
func TestRewriteKeepsBytes(t *testing.T) {
	var dirs Directories
	owner, err := dirs.View(Scope{Subject: "owner", Context: Private})
	if err != nil {
		t.Fatal(err)
	}
	l := testLayout()
	parse := func(b []byte) *Document { return l.Parse("MEMORY.md", b, testMeta) }
	for _, c := range []struct{ src, text, want string }{
		{"- a\r\n- b\r\n", "- a\n- x\n- b\n", "- a\r\n- x\r\n- b\r\n"},
		{"- a\r\n- b", "- a\n- b\n- c\n", "- a\r\n- b\r\n- c"},
		{"- a\n- b", "- a\n", "- a"},
		{"- a\r- b\r", "- a\n- c\n", "- a\r- c\r"},
		{"\ufeff- a\n- b\n", "- c\n- b\n", "\ufeff- c\n- b\n"},
		{"\ufeff- a\n- b\n", "- b\n", "\ufeff- b\n"},
		{"- a\r\n- b\n- c\r\n", "- b\n- c\n- d\n", "- b\n- c\r\n- d\r\n"},
		{"-\ta  \n\n\n- b\n", "-\ta  \n\n\n- B\n", "-\ta  \n\n\n- B\n"},
		{"a\n", "a", "a\n"},
		{"", "a\n", "a\n"},
		{"a\n", "", ""},
		{"- x\x00y\n- b\n", "- x\ufffdy\n- c\n", "- x\x00y\n- c\n"},
		{"a\n\nb\n\na\n", "a\n\nb\n\nnew\n\na\n", "a\n\nb\n\nnew\n\na\n"},
	} {
		got, err := parse([]byte(c.src)).Rewrite(owner, c.text, parse)
		if err != nil || string(got) != c.want {
			t.Errorf("%q made to show %q is %q, %v; want %q", c.src, c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		src, text string
		want      error
	}{
		{"- a\n", "- a\x00\n", ErrText},
		{"- a\n", "---\nb: [\n---\n- a\n", ErrText},
		{"- a\n", "<private>\n- a\n", ErrText},
		{"- a\n<private>\n", "- b\n", ErrUnwritable},
		{"- a\xff\n", "- b\n", ErrUnwritable},
	} {
		if got, err := parse([]byte(c.src)).Rewrite(owner, c.text, parse); !errors.Is(err, c.want) {
			t.Errorf("%q made to show %q is %q, %v", c.src, c.text, got, err)
		}
	}
}
