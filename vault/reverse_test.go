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

// reverseText reverses a change from before to after in a file.
func reverseText(now, before, after []byte) ([]byte, error) {
	r := journal.Record{ID: "1", Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after)}
	return Reverse(now, r, before, after)
}

// TestReverse has cases with the content before, after, and now, and the
// expected result of reversing the change or the reason why it fails.
func TestReverse(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/reverse.txtar")
	must(t, err)
	text := func(f txtar.File) []byte {
		return []byte(strings.NewReplacer("<no end>\n", "", "<cr>", "\r").Replace(string(f.Data)))
	}
	for i := 0; i < len(archive.Files); i += 4 {
		f := archive.Files[i : i+4]
		name := strings.TrimSuffix(f[0].Name, ": before")
		before, after, now := text(f[0]), text(f[1]), text(f[2])
		got, err := reverseText(now, before, after)
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
	x := []byte("x\n")
	for _, test := range []struct {
		name               string
		now, before, after []byte
		want               []byte
		ok                 bool
	}{
		{"made", x, nil, x, nil, true},
		{"made and changed", []byte("x\ny\n"), nil, x, []byte("y\n"), true},
		{"made and overwritten", []byte("y\n"), nil, x, nil, false},
		{"made and gone", nil, nil, x, nil, false},
		{"removed", nil, x, nil, x, true},
		{"removed and made again", []byte("y\n"), x, nil, nil, false},
		{"removed and made again, empty", []byte{}, x, nil, nil, false},
		{"emptied", []byte{}, x, []byte{}, x, true},
		{"emptied and gone", nil, x, []byte{}, nil, false},
		{"emptied and written", []byte("y\n"), x, []byte{}, []byte("x\ny\n"), true},
	} {
		got, err := reverseText(test.now, test.before, test.after)
		if (err == nil) != test.ok || (got == nil) != (test.want == nil) || !bytes.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// TestReverseKeepsScaffold checks that the frontmatter and the headings above it stay if
// others added text to a file that a change created, and no other headings.
func TestReverseKeepsScaffold(t *testing.T) {
	const front = "---\ntags: a\n# b\n---\n\n# Day\n\n"
	for added, want := range map[string]string{
		"- second\n":                      front + "## Notes\n\n- second\n",
		"\n## 11:00\n\nb\n":               front + "## 11:00\n\nb\n",
		"\n### Part\n\nb\n":               front + "## Notes\n\n\n### Part\n\nb\n",
		"\n# Tomorrow\n\n## Notes\n- b\n": "---\ntags: a\n# b\n---\n\n# Tomorrow\n\n## Notes\n- b\n",
		"\n## Empty\n":                    front + "## Empty\n",
	} {
		after := front + "## Notes\n\n- first\n"
		if got, err := reverseText([]byte(after+added), nil, []byte(after)); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
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
		got, err := reverseText(after, before, after)
		if bytes.Equal(before, after) {
			return
		}
		if err != nil || !bytes.Equal(got, before) {
			t.Fatalf("%q to %q: got %q, %v", before, after, got, err)
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
		got, err := reverseText(join(now), join(before), join(after))
		must(t, err)
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
		got, err := reverseText(now, before, after)
		if err != nil {
			return
		}
		for _, mine := range []string{"x", "y", "z"} { // the change contains none of these
			if n, want := bytes.Count(got, []byte(mine)), bytes.Count(now, []byte(mine)); n != want {
				t.Fatalf("%q to %q, now %q: got %q", before, after, now, got)
			}
		}
	})
}
