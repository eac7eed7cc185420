package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

const front = "---\ncreated_at: \"2026-01-02T03:04:05Z\"\nsummary: \"S\"\n---\n"

// oddFiles returns files with one oddity each. Text that must be found is the
// word marker.
func oddFiles() map[string]string {
	scale := thorough(5, 1)
	repeat := func(s string, n int) string {
		if n > 10000 {
			n /= scale
		}
		return strings.Repeat(s, n)
	}
	many := func(n int, line func(i int) string) string {
		if n >= 10000 {
			n /= scale
		}
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	utf16 := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, r := range s {
			b = append(b, byte(r), byte(r>>8))
		}
		return string(b)
	}
	return map[string]string{
		"empty.md": "", "one-byte.md": "x", "only-newlines.md": repeat("\n", 5000), "only-bom.md": "\ufeff",
		"bom.md": "\ufeff" + front + "- marker\n", "crlf.md": strings.ReplaceAll(front, "\n", "\r\n") + "- marker\r\n- [ ] open\r\n",
		"cr-only.md": "---\rsummary: x\r---\r# Cr\r- marker\r", "mixed-ends.md": front + "marker\r\nb\rc\nd\n\r\ne",
		"no-final-newline.md": front + "- marker", "nul.md": front + "before\x00after\n- nul\x00 marker\n",
		"latin1.md": front + "caf\xe9 marker\n", "gbk.md": front + "- \xbc\xc7\xd2\xe4 marker\n",
		"utf16.md": utf16("# odd\n\n- marker\n"), "truncated-utf8.md": front + "- marker \xe4\xb8",
		"overlong.md": front + "- \xc0\xaf \xe0\x80\xaf \xed\xa0\x80 marker\n", "noncharacters.md": front + "- \uffff \ufffe marker\n",
		"not-closed.md": "---\nsummary: open\n\n# Body\n\n- marker\n", "only-frontmatter.md": front, "no-newline-after.md": front[:len(front)-1],
		"frontmatter-empty.md": "---\n---\n- marker\n", "frontmatter-dots.md": "---\nsummary: dots\n...\n- marker\n",
		"frontmatter-bad.md":      "---\nsummary: a: b: c\n\ttab: 1\nx: [1, 2\n---\n- marker\n",
		"frontmatter-bomb.md":     "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n---\n- marker\n",
		"frontmatter-huge.md":     "---\nsummary: \"" + repeat("word ", 200000) + "\"\n---\n- marker\n",
		"line-1mb.md":             front + "- " + repeat("lorem ipsum dolor ", 60000) + "marker\n",
		"word-1mb.md":             front + "- " + repeat("a", 1<<20) + " marker\n",
		"cjk-run.md":              front + repeat("记忆", 50000) + "\n\n- marker\n",
		"lines-100k.md":           front + many(100000, func(i int) string { return fmt.Sprintf("- line %d\n", i) }) + "- marker\n",
		"headings-10k.md":         many(10000, func(i int) string { return fmt.Sprintf("%s Heading %d\n\ntext %d\n\n", repeat("#", 1+i%6), i, i) }) + "- marker\n",
		"list-depth.md":           many(200, func(i int) string { return repeat("  ", i) + fmt.Sprintf("- level %d marker\n", i) }),
		"table.md":                "|" + repeat("c|", 500) + "\n|" + repeat("-|", 500) + "\n" + repeat("|"+repeat("v|", 500)+"\n", 200) + "\n- marker\n",
		"fence-not-closed.md":     front + "text\n\n```python\n# marker\n",
		"comment-not-closed.md":   "marker\n\n<!-- never closed\n\n# hidden?\n",
		"private-not-closed.md":   "- marker\n\n<private>\n\n- and on\n",
		"generated-not-closed.md": "- marker\n\n<!-- memwatchd:generated -->\n\n- and on\n",
		"controls.md":             "- \x1b[31mred\x1b[0m \x07 \x08 marker \u202eyromem\u202c \u2066x\u2069\n",
		"nearly-too-large.md":     front + "- marker\n" + strings.Repeat("words ", (4<<20-len(front)-len("- marker\n"))/6),
		"name with spaces.md":     "- marker\n",
		"qu'ot\"es`$(x)&;.md":     "- marker\n",
		"100%25.md":               "- marker\n",
		"hash#tag.md":             "- marker\n",
		"back\\slash.md":          "- marker\n",
		"new\nline.md":            "- marker\n",
		"esc\x1b[31m.md":          "- marker\n",
		"\u202efdp.md":            "- marker\n",
		"-dash.md":                "- marker\n",
		"--help.md":               "- marker\n",
		"..md":                    "- marker\n",
		"...md":                   "- marker\n",
		".hidden.md":              "- marker\n",
		"#auto.md":                "- marker\n",
		"#auto.md#":               "- marker\n",
		"~tilde.md":               "- marker\n",
		"UPPER.MD":                "- marker\n",
		"MiXed.Md":                "- marker\n",
		"case.md":                 "- marker lower\n",
		"Case.md":                 "- marker upper\n",
		"caf\u00e9.md":            "- marker composed\n",
		"cafe\u0301.md":           "- marker decomposed\n",
		"invalid-\xff\xfe.md":     "- unsayable, of one sort\n",
		"invalid-\xc3.md":         "- unsayable, of another sort\n",
		repeat("n", 252) + ".md":  "- marker\n",
		repeat("记", 84) + ".md":   "- marker\n",
		"a.sync-conflict-20260204-101010-ABCDEFG.md": "- marker\n",
		"b (conflicted copy 2026-02-04).md":          "- marker\n",
		"note.txt":                                   "no Markdown: nobody's business\n",
		".git/x.md":                                  "- marker\n",
		".md":                                        "- marker\n",
		"md":                                         "- marker\n",
		repeat("d/", 60) + "deep.md":                 "- marker\n",
		"memory/2026-02-04.md":                       "- marker\n",
		"2026-99-99/day.md":                          "- marker\n",
		"9999-12-31/day.md":                          "- marker\n",
		"_longterms/owner/_index.md":                 "- marker\n",
		"_longterms/owner/odd.md":                    "- marker\n",
		"_longterms/_index.md":                       "- marker\n",
		"_longterms/owner/_archive/y.md":             "- marker\n",
	}
}

// TestOddMemory checks that in a memory with all oddities, each file is indexed or listed
// with its reason, files with the word marker are found, and nothing needs much memory.
func TestOddMemory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := oddFiles()
	for name, text := range files {
		path := filepath.Join(root, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Logf("a file named %q cannot be made here: %v", name, err)
			delete(files, name)
		}
	}
	l := newLive(t, root, "")
	l.start()
	c := l.check()
	if len(c.Differing) != 0 {
		t.Errorf("these differ from the index: %+v", c.Differing)
	}
	skipped := map[string]string{}
	for _, s := range c.Skipped {
		if skipped[s.Path] != "" || s.Reason == "" {
			t.Errorf("%q is listed twice, or without a reason: %q, %q", s.Path, skipped[s.Path], s.Reason)
		}
		skipped[s.Path] = s.Reason
	}
	indexed := 0
	for name, text := range files {
		wire := strings.ToValidUTF8(name, "\ufffd") // as encoded in JSON
		base := filepath.Base(name)
		ours := strings.EqualFold(filepath.Ext(name), ".md") && !strings.HasPrefix(name, ".git/") && name != ".md"
		switch listed := skipped[wire] != ""; {
		case name == ".md": // a name without an extension
			continue
		case listed != (ours && base[0] == '.'):
			t.Errorf("%q is listed: %t, %s", name, listed, skipped[wire])
		case listed || !ours:
			continue
		}
		indexed++
		if !strings.Contains(text, "marker") || wire != name {
			continue
		}
		a, err := l.get(owner, name)
		if err != nil || !strings.Contains(a.Text, "marker") || strings.HasPrefix(text, "- marker ") && len(text) < 100 && a.Text != text {
			t.Errorf("get %q: %.100q, %v", name, a.Text, err)
		}
		found := l.search(owner, "marker", fields{"path": globOf(name), "include_archived": true, "sync": false})
		if found.Total == 0 || slices.ContainsFunc(found.Hits, func(h api.Hit) bool { return h.Path != name }) {
			t.Errorf("in %q, there is found %q", name, texts(found))
		}
	}
	s := l.mustStatus()
	if c.Files != indexed || s.Files != indexed || s.SkippedFiles != len(c.Skipped) || !s.Healthy || s.Index.Pending != 0 {
		t.Errorf("there are %d files; check says %d and %d skipped, status %+v", indexed, c.Files, len(c.Skipped), s)
	}
	l.wantUnsayable(files)
	// While the largest file is indexed, the heap may be twice what is live: up to
	// 200 MiB. How much of that is used depends on when the garbage collector runs.
	if peak := l.peak(); peak > 512 && !raced() {
		t.Errorf("the daemon held %d MiB", peak)
	}
	if text := l.log.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") {
		t.Error("the log has control characters of names in it")
	}
}

// wantUnsayable checks that files whose names are not valid in JSON are found,
// and can be loaded by the ids of their entries.
func (l *live) wantUnsayable(files map[string]string) {
	l.t.Helper()
	want := 0
	for name := range files {
		if !utf8.ValidString(name) {
			want++
		}
	}
	var a api.SearchAnswer
	l.must("search", owner.with(fields{"query": "unsayable", "limit": 100}), &a)
	if a.Total != want {
		l.t.Errorf("in files with names that cannot be said %d entries are found, want %d", a.Total, want)
	}
	got := map[string]bool{}
	for _, h := range a.Hits {
		var file api.GetAnswer
		if err := l.ask("get", owner.with(fields{"id": h.ID}), &file); err != nil || !strings.Contains(file.Text, "unsayable") {
			l.t.Errorf("get the entry %q of %q: %q, %v", h.ID, h.Path, file.Text, err)
		}
		got[file.Text] = true
	}
	if len(got) != want {
		l.t.Errorf("of %d such files %d can be got: %v", want, len(got), got)
	}
}

// globOf returns a pattern that matches one path.
func globOf(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(path)
}

// TestHugeFile checks that a file that grows without limit, in a single line,
// needs no memory and does not affect other files.
func TestHugeFile(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	before := l.peak()
	f, err := os.Create(l.path("huge.md"))
	testkit.Must(t, err)
	defer f.Close()
	line := strings.Repeat("quince and more ", 1<<16)
	for n := range thorough(64, 1024) {
		if _, err := f.WriteString(line); err != nil {
			t.Skipf("there is no room for %d MiB here: %v", n, err)
		}
		if n%32 == 0 {
			l.write("other.md", "- loquat "+letters(n)+"\n")
			if a := l.search(owner, letters(n), nil); a.Total != 1 {
				t.Errorf("beside it a save is not found: %+v", a)
			}
		}
	}
	f.Close()
	l.until("it is listed as too large", func() bool {
		return slices.ContainsFunc(l.mustStatus().Skipped, func(s api.Skipped) bool {
			return s.Path == "huge.md" && strings.Contains(s.Reason, "too large")
		})
	})
	if a := l.search(owner, "quince", nil); a.Total != 0 {
		t.Errorf("%d entries of it are found", a.Total)
	}
	// Below the limit of 4 MiB the file may be read, which needs a few times that much.
	if held := l.peak() - before; held > 150 && !raced() {
		t.Errorf("%d MiB were held for it", held)
	}
}

// TestUnreadable checks that an unreadable file is not empty: the entries last
// read stay, marked as stale.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	l := newSomebodys(t, "")
	l.write("2026-02-04/a.md", "- quince one\n")
	l.write("2026-02-05/b.md", "- quince two\n")
	l.write("never.md", "- quince never\n")
	l.own()
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		testkit.Must(t, os.Chmod(l.path(path), mode))
	}
	chmod("never.md", 0)
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 2 {
		t.Fatalf("at first %q", texts(a))
	}
	unreadable := func() (paths []string) {
		for _, p := range l.mustStatus().Problems {
			if p.Code == "unreadable" {
				paths = append(paths, p.Path)
			}
		}
		return paths
	}
	l.until("the file that could never be read is reported", func() bool { return fmt.Sprint(unreadable()) == "[never.md]" })

	chmod("2026-02-04/a.md", 0)
	l.until("the file is reported", func() bool { return fmt.Sprint(unreadable()) == "[2026-02-04/a.md never.md]" })
	for _, who := range []fields{owner, public} {
		for _, h := range l.search(who, "quince", nil).Hits {
			if want := h.Path == "2026-02-04/a.md"; h.Stale != want {
				t.Errorf("hit in %s: stale is %v, want %v", h.Path, h.Stale, want)
			}
		}
		a := l.search(who, "quince", nil)
		if want := []string{"2026-02-04/a.md:1-1 - quince one", "2026-02-05/b.md:1-1 - quince two"}; fmt.Sprint(texts(a)) != fmt.Sprint(want) {
			t.Errorf("%v finds %q, want %q", who, texts(a), want)
		}
	}
	if file, err := l.get(owner, "2026-02-04/a.md"); err != nil || file.Text != "- quince one\n" || !file.Stale {
		t.Errorf("get answers %+v, %v", file, err)
	}
	if c := l.check(); len(c.Differing) != 2 || !strings.Contains(c.Differing[0].Reason, "cannot be read") {
		t.Errorf("check says %+v", c.Differing)
	}

	// The daemon recovers.
	chmod("never.md", 0o600)
	chmod("2026-02-04/a.md", 0o600)
	l.until("all is found", func() bool {
		a := l.search(owner, "quince", nil)
		return a.Total == 3 && !slices.ContainsFunc(a.Hits, func(h api.Hit) bool { return h.Stale })
	})
	l.until("nothing is reported", func() bool {
		s := l.mustStatus()
		return s.ProblemCount == 0 && s.SkippedFiles == 0 && s.Healthy
	})
	l.write("2026-02-05/b.md", "- quince three\n")
	if a := l.search(owner, "three", nil); a.Total != 1 {
		t.Errorf("afterwards a save is not found: %+v", a)
	}
}
