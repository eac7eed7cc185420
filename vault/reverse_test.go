package vault

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// reverseText reverses a change from before to after in a file.
func reverseText(now, before, after []byte) ([]byte, error) {
	r := journal.Record{ID: "1", Path: "a.md", Before: journal.Digest(before), After: journal.Digest(after)}
	return reverse(now, r, before, after)
}

// TestReverse has cases with the content before, after, and now, and the lines
// that reversing the change replaces or the reason why it fails.
func TestReverse(t *testing.T) {
	golden.Run(t, "reverse", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		for f := range slices.Chunk(a.Files, 4) {
			now, before, after := golden.Decode(f[2].Data), golden.Decode(f[0].Data), golden.Decode(f[1].Data)
			got, err := reverseText(now, before, after)
			f[3] = txtar.File{Name: "wanted", Data: golden.Changed(f[2].Data, golden.Encode(got))}
			if conflict, ok := errors.AsType[*ConflictError](err); ok {
				f[3] = txtar.File{Name: "refused", Data: []byte(conflict.Reason + "\n")}
			} else {
				must(t, err)
			}
		}
		return a
	})
	// A missing file and an empty file are distinct.
	golden.Table(t, "reverse", func(t *testing.T, in []string) string {
		var texts [3][]byte
		for i, text := range in {
			if text != "none" {
				texts[i] = []byte(text)
			}
		}
		got, err := reverseText(texts[2], texts[0], texts[1])
		switch {
		case err != nil:
			return fmt.Sprint("error: ", err)
		case got == nil:
			return "none"
		}
		return string(got)
	})
}

// TestReverseKeepsScaffold checks that the frontmatter and the headings stay if others added
// text to a file that a change created.
func TestReverseKeepsScaffold(t *testing.T) {
	const front = "---\ntags: a\n# b\n---\n\n# Day\n\nNotes\n-----\n\n"
	for _, added := range []string{"- second\n", "\n## 11:00\n\nb\n", "\n#todo b\n", "\n```\n# Day\n# b\n```\n"} {
		after := front + "- first\n\n```\n# c\n```\n## Empty\n"
		if got, err := reverseText([]byte(after+added), nil, []byte(after)); err != nil || string(got) != front+"\n## Empty\n"+added {
			t.Errorf("got %q, %v", got, err)
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
