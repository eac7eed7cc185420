package vault

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/vault/journal"
)

func formatHunks(hunks []journal.Hunk) string {
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
		if diff := cmp.Diff(test.want, formatHunks(journal.Hunks([]byte(test.before), []byte(test.after)))); diff != "" {
			t.Errorf("%q to %q (-want +got):\n%s", test.before, test.after, diff)
		}
	}
}

// TestReverse has cases with the content before, after, and now, and the
// expected result of reversing the change or the reason why it fails.
func TestReverse(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/reverse.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := func(f txtar.File) []byte {
		return []byte(strings.NewReplacer("<no end>\n", "", "<cr>", "\r").Replace(string(f.Data)))
	}
	for i := 0; i < len(archive.Files); i += 4 {
		f := archive.Files[i : i+4]
		name := strings.TrimSuffix(f[0].Name, ": before")
		before, after, now := text(f[0]), text(f[1]), text(f[2])
		got, err := Reverse(now, journal.Record{
			ID: "1", Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after), Hunks: journal.Hunks(before, after),
		})
		if conflict, ok := errors.AsType[*ConflictError](err); ok {
			got = []byte(conflict.Reason + "\n")
			if f[3].Name != "refused" {
				got = append([]byte("refused: "), got...)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text(f[3])), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReverseOfFilesThatCameAndWent checks that a missing file and an empty
// file are distinct.
func TestReverseOfFilesThatCameAndWent(t *testing.T) {
	made := journal.Record{Path: "a.md", After: journal.Digest([]byte("x\n")), Hunks: journal.Hunks(nil, []byte("x\n"))}
	removed := journal.Record{Path: "a.md", Before: made.After, Hunks: journal.Hunks([]byte("x\n"), nil)}
	emptied := journal.Record{Path: "a.md", Before: made.After, After: journal.Digest([]byte{}), Hunks: removed.Hunks}
	for _, test := range []struct {
		name   string
		now    []byte
		record journal.Record
		want   []byte
		ok     bool
	}{
		{"made", []byte("x\n"), made, nil, true},
		{"made and changed", []byte("x\ny\n"), made, nil, false},
		{"made and gone", nil, made, nil, false},
		{"removed", nil, removed, []byte("x\n"), true},
		{"removed and made again", []byte("y\n"), removed, nil, false},
		{"removed and made again, empty", []byte{}, removed, nil, false},
		{"emptied", []byte{}, emptied, []byte("x\n"), true},
		{"emptied and gone", nil, emptied, nil, false},
		{"emptied and written", []byte("y\n"), emptied, []byte("x\ny\n"), true},
	} {
		got, err := Reverse(test.now, test.record)
		if (err == nil) != test.ok || (got == nil) != (test.want == nil) || !bytes.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// TestReverseOfDamage checks that a damaged record never changes a file.
func TestReverseOfDamage(t *testing.T) {
	before, after := []byte("a\nb\nc\n"), []byte("a\nB\nc\n")
	r := journal.Record{Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after), Hunks: journal.Hunks(before, after)}
	r.Hunks[0].Old = []byte("x\n")
	if got, err := Reverse(after, r); err == nil {
		t.Errorf("got %q", got)
	}
	r.Hunks[0].Line = 9
	if got, err := Reverse(after, r); err == nil {
		t.Errorf("got %q", got)
	}
}

// FuzzReverse checks that reversing the last change restores every byte.
func FuzzReverse(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), []byte("a\nB\r\n\nc\n"))
	f.Add([]byte("\xff\r\x00\n\n\n"), []byte("\n\n\xff"))
	f.Add([]byte(""), []byte("x"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if before == nil {
			before = []byte{}
		}
		if after == nil {
			after = []byte{}
		}
		r := journal.Record{Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after), Hunks: journal.Hunks(before, after)}
		got, err := Reverse(after, r)
		if err != nil || !bytes.Equal(got, before) {
			t.Fatalf("%q to %q: got %q, %v\n%s", before, after, got, err, formatHunks(r.Hunks))
		}
		for i, h := range r.Hunks {
			if i > 0 && h.Line <= r.Hunks[i-1].Line {
				t.Fatalf("hunks out of order:\n%s", formatHunks(r.Hunks))
			}
		}
	})
}

// FuzzReverseAfterEditsElsewhere checks that reversing a change commutes with
// edits elsewhere in the file.
func FuzzReverseAfterEditsElsewhere(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		end := []string{"\n", "\r\n"}[rng.IntN(2)]
		var before []string
		for i := range 30 + rng.IntN(40) {
			before = append(before, fmt.Sprintf("- [ ] line %d of %d%s", i, rng.IntN(100), end))
		}
		ours := map[int]bool{}
		for range 1 + rng.IntN(4) {
			ours[rng.IntN(len(before))] = true
		}
		var after, now, want []string
		for i, line := range before {
			change := line
			if ours[i] {
				change = []string{"", strings.Replace(line, "[ ]", "[x]", 1), line + "added" + end}[rng.IntN(3)]
				after, now, want = append(after, change), append(now, change), append(want, line)
				continue
			}
			after = append(after, line)
			near := false
			for k := i - 3; k <= i+3; k++ {
				near = near || ours[k]
			}
			if !near && rng.IntN(3) == 0 {
				line = []string{"", "changed by hand" + end, line + "new" + end}[rng.IntN(3)]
			}
			now, want = append(now, line), append(want, line)
		}
		join := func(lines []string) []byte { return []byte(strings.Join(lines, "")) }
		r := journal.Record{Path: "a.md", Before: journal.Digest(join(before)), After: journal.Digest(join(after)), Hunks: journal.Hunks(join(before), join(after))}
		got, err := Reverse(join(now), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(join(want)), string(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// FuzzReverseKeepsOtherLines checks that reversing a change in an arbitrary
// file fails or affects only lines that the change wrote.
func FuzzReverseKeepsOtherLines(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		text := func(words string) []byte { // few distinct words, so that all places are ambiguous
			var b []byte
			for range rng.IntN(12) {
				b = append(b, words[rng.IntN(len(words))], '\n')
			}
			return b[:max(0, len(b)-rng.IntN(2))]
		}
		before, after, now := text("abc"), text("abcd"), text("abcdxyz")
		r := journal.Record{Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after), Hunks: journal.Hunks(before, after)}
		got, err := Reverse(now, r)
		if err != nil {
			return
		}
		for _, mine := range []string{"x", "y", "z"} { // the change contains none of these
			if n, want := bytes.Count(got, []byte(mine)), bytes.Count(now, []byte(mine)); n != want {
				t.Fatalf("%q to %q, now %q: got %q", before, after, now, got)
			}
		}
		want := len(journal.SplitLines(now)) + len(journal.SplitLines(before)) - len(journal.SplitLines(after))
		if n := len(journal.SplitLines(got)); n != want {
			t.Fatalf("%q to %q, now %q: got %q, %d lines instead of %d", before, after, now, got, n, want)
		}
	})
}
