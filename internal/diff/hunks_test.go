package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func formatHunks(hunks []Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&b, "%d -%q +%q\n", h.Line, h.Old, h.New)
	}
	return b.String()
}

func TestHunks(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "a", `1 -"" +"a"` + "\n"},
		{"a", "", `1 -"a" +""` + "\n"},
		{"a\r\n", "a\n", `1 -"a\r\n" +"a\n"` + "\n"},
		{"a\n", "a", `1 -"a\n" +"a"` + "\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", `5 -"5\n" +"x\n"` + "\n"},
		// Hunks are minimal.
		{"a\nb\nc\nd\n", "A\nb\nC\nd\ne", `1 -"a\n" +"A\n"` + "\n" + `3 -"c\n" +"C\n"` + "\n" + `5 -"" +"e"` + "\n"},
		// Repeated lines are anchors where they are unique between two others.
		{"a\n\nb\n\nc\n", "a\n\nB\n\nc\n", `3 -"b\n" +"B\n"` + "\n"},
		{"x\n1\n\n2\ny\n3\n\n4\nz\n", "x\n!\n\n2\ny\n3\n\n!\nz\n",
			`2 -"1\n" +"!\n"` + "\n" + `8 -"4\n" +"!\n"` + "\n"},
		// Moved lines are removed and added.
		{"a\nb\nc\n", "b\nc\na\n", `1 -"a\n" +""` + "\n" + `4 -"" +"a\n"` + "\n"},
	} {
		if diff := cmp.Diff(test.want, formatHunks(Hunks([]byte(test.before), []byte(test.after)))); diff != "" {
			t.Errorf("%q to %q (-want +got):\n%s", test.before, test.after, diff)
		}
	}
}
