package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestChooseEntries checks which entries an answer on the terminal chooses. A wrong answer is
// followed by another question.
func TestChooseEntries(t *testing.T) {
	ids := strings.Split("abcdef", "")
	for typed, want := range map[string]string{
		"\n": "", "": "", "1\n": "a", " 6 ， 1 2": "fab", " all\n": "abcdef", "0\n\n": "", "7\n2\n": "b", "2-\n3": "c",
		"y\nall\n": "abcdef", "-1\n": "", "1,x\n": "", "n\nall\n": "",
		" No\n1\n": "", "q\n1\n": "", "none\n1\n": "", "nope\n1\n": "a", "n 1\n2\n": "b",
	} {
		got, err := chooseEntries(t.Context(), strings.NewReader(typed), new(bytes.Buffer), ids)
		if err != nil || strings.Join(got, "") != want {
			t.Errorf("%q chooses %q, %v; want %q", typed, got, err, want)
		}
	}
}
