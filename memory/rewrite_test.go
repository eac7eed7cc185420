package memory

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// editLines changes a text like a user: it edits single lines, moves lines, or
// rewrites everything.
func editLines(r *rand.Rand, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	fresh := func() string {
		return []string{"", "- new", "- [ ] new", "new words", "## Tasks", "> new", "```", "  - nested new", "***", "<!-- note -->", "- new <!-- id=n1 -->", "    code", "|x|y|\n|-|-|", "- new <!-- visibility=private_only -->", "<private>", "new\n===="}[r.IntN(16)]
	}
	for range 1 + r.IntN(3) {
		at := r.IntN(len(lines) + 1)
		switch r.IntN(8) {
		case 0, 1:
			lines = slices.Insert(lines, at, fresh())
		case 2:
			lines = slices.Insert(lines, at, "", fresh(), "")
		case 3, 4:
			if at < len(lines) {
				lines[at] = fresh()
			}
		case 5:
			lines = slices.Delete(lines, at, min(len(lines), at+1+r.IntN(3)))
		case 6:
			if at < len(lines) {
				lines[at] += " more"
			}
		case 7:
			to := min(len(lines), at+2)
			slices.Reverse(lines[at:to])
		}
	}
	if r.IntN(20) == 0 {
		lines = strings.Split("# New\n\n- all is new\n\nwords", "\n")
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestRewriteAsIfTheRestDidNotExist checks that a view of a part of a file can
// rewrite that part, that the rest does not change, and that the result does
// not depend on the rest.
func TestRewriteAsIfTheRestDidNotExist(t *testing.T) {
	files := []struct{ path, front string }{
		{"2026-02-04/s.md", ""},
		{"2026-02-04/s.md", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\n---\n"},
	}
	n := 6000
	var dirs Directories
	v, err := dirs.View(Scope{Subject: "acct:7", Context: Private})
	if err != nil {
		t.Fatal(err)
	}
	written, refused, differ := 0, 0, 0
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 3))
		file := files[r.IntN(len(files))]
		chunks := randomDocument(r, PublicOK)
		all, some := joinChunks(file.front, chunks), joinChunks(file.front, readableChunks(chunks))
		l := testLayout()
		parse := func(b []byte) *Document { return l.Parse(file.path, b, testMeta) }
		full, reduced := parse([]byte(all)), parse([]byte(some))
		text := editLines(r, reduced.Shown(v).Text())
		if full.For(v) == nil {
			continue
		}
		a, errA := full.Rewrite(v, text, parse)
		b, errB := reduced.Rewrite(v, text, parse)
		if errors.Is(errA, ErrText) != errors.Is(errB, ErrText) {
			t.Fatalf("seed %d: %v with what is not readable, %v without", seed, errA, errB)
		}
		if errB != nil {
			refused++
			continue
		}
		if errA != nil {
			differ++
			if testing.Verbose() && differ < 15 {
				t.Logf("seed %d: %v\n%s\n=====>\n%s", seed, errA, all, text)
			}
			continue
		}
		written++
		na, nb := parse(a), parse(b)
		if diff := cmp.Diff(visible(nb, v), visible(na, v)); diff != "" {
			t.Fatalf("seed %d: of\n%s\nmade\n%s\nthis is seen (-without the rest +with it):\n%s", seed, all, a, diff)
		}
		if got := na.Shown(v).Lines; !slices.Equal(got, trimBlank(textLines(text))) {
			t.Fatalf("seed %d: %q is shown, %q was written", seed, got, text)
		}
		// Every unreadable line still exists.
		left := strings.Split(string(a), "\n")
		shown := full.Shown(v)
		for line := 1; line <= full.lines.count(); line++ {
			if shown.Line(line) == 0 && !full.blankLine(line) && !slices.Contains(left, full.line(line)) {
				t.Fatalf("seed %d: line %d is lost of\n%s\nmade\n%s", seed, line, all, a)
			}
		}
	}
	t.Logf("%d texts written, %d refused, %d refused for what is not readable", written, refused, differ)
}

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
