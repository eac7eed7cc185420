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
		fmt.Fprintf(&b, "%d %q -%q +%q %q\n", h.Line, h.Above, h.Old, h.New, h.Below)
	}
	return b.String()
}

func TestHunks(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "a", `1 "" -"" +"a" ""` + "\n"},
		{"a", "", `1 "" -"a" +"" ""` + "\n"},
		{"a\r\n", "a\n", `1 "" -"a\r\n" +"a\n" ""` + "\n"},
		{"a\n", "a", `1 "" -"a\n" +"a" ""` + "\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", `5 "2\n3\n4\n" -"5\n" +"x\n" "6\n7\n8\n"` + "\n"},
		// Hunks are minimal, and contexts end at the next hunk.
		{"a\nb\nc\nd\n", "A\nb\nC\nd\ne", `1 "" -"a\n" +"A\n" "b\n"` + "\n" + `3 "b\n" -"c\n" +"C\n" "d\n"` + "\n" + `5 "d\n" -"" +"e" ""` + "\n"},
		// Repeated lines are anchors where they are unique between two others.
		{"a\n\nb\n\nc\n", "a\n\nB\n\nc\n", `3 "a\n\n" -"b\n" +"B\n" "\nc\n"` + "\n"},
		{"x\n1\n\n2\ny\n3\n\n4\nz\n", "x\n!\n\n2\ny\n3\n\n!\nz\n",
			`2 "x\n" -"1\n" +"!\n" "\n2\ny\n"` + "\n" + `8 "y\n3\n\n" -"4\n" +"!\n" "z\n"` + "\n"},
		// Moved lines are removed and added.
		{"a\nb\nc\n", "b\nc\na\n", `1 "" -"a\n" +"" "b\nc\n"` + "\n" + `4 "b\nc\n" -"" +"a\n" ""` + "\n"},
	} {
		if diff := cmp.Diff(test.want, formatHunks(Hunks([]byte(test.before), []byte(test.after)))); diff != "" {
			t.Errorf("%q to %q (-want +got):\n%s", test.before, test.after, diff)
		}
	}
}
