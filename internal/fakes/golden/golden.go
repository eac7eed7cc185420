// Package golden compares the results of tests with files in testdata, which
// go test -update rewrites. Only tests import it.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/diff"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// File compares the content of a golden file with the result of a test, or writes the
// result to the file.
func File(t *testing.T, name string, want, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// An Archive contains the inputs of a test, and its whole text with the results.
type Archive struct {
	*txtar.Archive
	Name string // base name of the file, without its extension
	file string
	text []byte
}

// Archives returns the archives in a directory of testdata. Files whose names contain an
// arrow are results.
func Archives(t *testing.T, dir string) (list []Archive) {
	t.Helper()
	names, err := filepath.Glob("testdata/" + dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := txtar.Format(a)
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.ContainsAny(f.Name, "→←") })
		list = append(list, Archive{a, strings.TrimSuffix(filepath.Base(name), ".txtar"), name, text})
	}
	return list
}

// Run compares the archives in a directory of testdata with the results of a function,
// which gets the inputs and returns the whole archive.
func Run(t *testing.T, dir string, result func(t *testing.T, a *txtar.Archive) *txtar.Archive) {
	t.Helper()
	for _, a := range Archives(t, dir) {
		t.Run(a.Name, func(t *testing.T) { File(t, a.file, a.text, txtar.Format(result(t, a.Archive))) })
	}
}

// Table compares the lines of testdata/tables/NAME.txt with the results of a function. A line
// contains the inputs, an arrow and the result. Spaces separate inputs; a text with spaces or
// special characters is quoted as in Go, and so is a result that needs it. Lines without an
// arrow are comments.
func Table(t *testing.T, name string, result func(t *testing.T, in []string) string) {
	t.Helper()
	file := "testdata/tables/" + name + ".txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		if inputs, _, ok := strings.Cut(line, " →"); ok {
			text := result(t, Words(inputs))
			if text != strings.TrimSpace(text) || strings.HasPrefix(text, `"`) ||
				strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				text = strconv.Quote(text)
			}
			line = strings.TrimRight(inputs+" → "+text, " ") + "\n"
		}
		got.WriteString(line)
	}
	File(t, file, want, []byte(got.String()))
}

// Words returns the words of a line, of which those with spaces are quoted as in Go.
func Words(line string) (words []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, rest, _ := strings.Cut(line, " ")
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, _ = strconv.Unquote(quoted)
			rest = line[len(quoted):]
		}
		words, line = append(words, word), rest
	}
	return words
}

// Result returns the result of a function as text: its value or its error.
func Result[T ~string | ~[]byte](value T, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return string(value)
}

// Decode returns the bytes of a text in an archive, which pictures represent: ␍ is a carriage
// return, and the line feed after it is dropped unless ␊ is in between, ␤ at the end means no
// final newline, ␀ is a NUL, and ⌧ a byte that is not UTF-8.
func Decode(text []byte) []byte {
	return []byte(strings.NewReplacer("␍␊\n", "\r\n", "␍\n", "\r", "␍", "\r", "␤\n", "", "␀", "\x00",
		"⌧", "\xff",
		"␊", "\n").Replace(string(text)))
}

// Encode is the inverse of [Decode].
func Encode(b []byte) []byte {
	s := strings.NewReplacer("\r\n", "␍␊\n", "\r", "␍\n", "\x00", "␀", "\xff", "⌧").Replace(string(b))
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "␤\n"
	}
	return []byte(s)
}

// Diff returns the lines in which two texts with pictures differ, with their numbers:
// "-2: an old line" and "+2: a new line".
func Diff(before, after []byte) []byte {
	var b []byte
	add := func(sign string, number int, line string) {
		if line != "\n" {
			line = " " + line
		}
		b = fmt.Appendf(b, "%s%d:%s", sign, number, line)
	}
	shift := 0 // of the lines of after
	for _, h := range diff.Hunks(before, after) {
		old, added := diff.SplitLines(h.Old), diff.SplitLines(h.New)
		for i, line := range old {
			add("-", h.Line+i, line)
		}
		for i, line := range added {
			add("+", h.Line+shift+i, line)
		}
		shift += len(added) - len(old)
	}
	return b
}

// Changed returns the lines in which a text differs from an earlier one as [Diff] does, or
// the text itself if it has fewer lines.
func Changed(before, after []byte) []byte {
	lines := Diff(before, after)
	if before == nil || bytes.Count(lines, []byte("\n")) >= bytes.Count(after, []byte("\n")) {
		return after
	}
	return lines
}
