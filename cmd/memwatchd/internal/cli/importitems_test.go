package cli

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// TestReadImportLine checks that a line without end does not fill the memory, and
// does not change the numbers of the lines after it.
func TestReadImportLine(t *testing.T) {
	long := strings.Repeat("x", 3*maxImportBatch)
	exact := strings.Repeat("y", maxImportBatch-1) + "\n"
	r := bufio.NewReader(strings.NewReader("a\n" + long + "\n" + exact + "\nb"))
	for _, want := range []struct {
		line string
		long bool
		err  error
	}{{"a\n", false, nil}, {"\n", true, nil}, {exact, false, nil}, {"\n", false, nil}, {"b", false, io.EOF}, {"", false, io.EOF}} {
		if line, long, err := readImportLine(r); line != want.line || long != want.long || err != want.err {
			t.Errorf("the line is %.20q, %t, %v, want %.20q, %t, %v", line, long, err, want.line, want.long, want.err)
		}
	}
	endless := bufio.NewReader(strings.NewReader(long))
	if line, long, err := readImportLine(endless); line != "\n" || !long || err != io.EOF {
		t.Errorf("the line is %.20q, %t, %v", line, long, err)
	}
}
