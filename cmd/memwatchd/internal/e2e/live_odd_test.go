package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

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
	files := map[string]string{
		"empty.md": "", "one-byte.md": "x", "only-newlines.md": repeat("\n", 5000), "only-bom.md": "\ufeff",
		"bom.md": "\ufeff" + front + "- marker\n", "crlf.md": strings.ReplaceAll(front, "\n", "\r\n") + "- marker\r\n- [ ] open\r\n",
		"cr-only.md": "---\rsummary: x\r---\r# Cr\r- marker\r", "mixed-ends.md": front + "marker\r\nb\rc\nd\n\r\ne",
		"no-final-newline.md": front + "- marker", "nul.md": front + "before\x00after\n- nul\x00 marker\n",
		"latin1.md": front + "caf\xe9 marker\n", "gbk.md": front + "- \xbc\xc7\xd2\xe4 marker\n",
		"utf16.md": utf16("# odd\n\n- marker\n"), "truncated-utf8.md": front + "- marker \xe4\xb8",
		"overlong.md": front + "- \xc0\xaf \xe0\x80\xaf \xed\xa0\x80 marker\n", "noncharacters.md": front + "- \uffff \ufffe marker\n",
		"not-closed.md": "---\nsummary: open\n\n# Body\n\n- marker\n", "only-frontmatter.md": front, "no-newline-after.md": front[:len(front)-1],
		"frontmatter-empty.md": "---\n---\n- marker\n", "frontmatter-dots.md": "---\nsummary: dots\n...\n- marker\n",
		"frontmatter-list.md": "---\n- a\n---\n- marker\n", "frontmatter-scalar.md": "---\njust a string\n---\n- marker\n",
		"frontmatter-bad.md":      "---\nsummary: a: b: c\n\ttab: 1\nx: [1, 2\n---\n- marker\n",
		"frontmatter-twice.md":    "---\nsummary: one\nsummary: two\n---\n- marker\n",
		"frontmatter-types.md":    "---\nupdated_at: 1767323045\nsummary: null\nsession_id: 0x1F\ncontact_id: yes\n---\n- marker\n",
		"frontmatter-anchors.md":  "---\na: &x [1,2]\nb: *x\n---\n- marker\n",
		"frontmatter-bomb.md":     "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n---\n- marker\n",
		"frontmatter-deep.md":     "---\na: " + repeat("[", 20000) + repeat("]", 20000) + "\n---\n- marker\n",
		"frontmatter-huge.md":     "---\nsummary: \"" + repeat("word ", 200000) + "\"\n---\n- marker\n",
		"frontmatter-after.md":    "\n" + front + "- marker\n",
		"frontmatter-toml.md":     "+++\ntitle = \"toml\"\n+++\n- marker\n",
		"two-frontmatters.md":     front + front + "- marker\n",
		"line-1mb.md":             front + "- " + repeat("lorem ipsum dolor ", 60000) + "marker\n",
		"word-1mb.md":             front + "- " + repeat("a", 1<<20) + " marker\n",
		"cjk-run.md":              front + repeat("记忆", 50000) + "\n\n- marker\n",
		"lines-100k.md":           front + many(100000, func(i int) string { return fmt.Sprintf("- line %d\n", i) }) + "- marker\n",
		"headings-10k.md":         many(10000, func(i int) string { return fmt.Sprintf("%s Heading %d\n\ntext %d\n\n", repeat("#", 1+i%6), i, i) }) + "- marker\n",
		"list-depth.md":           many(200, func(i int) string { return repeat("  ", i) + fmt.Sprintf("- level %d marker\n", i) }),
		"quote-depth.md":          repeat(">", 5000) + " marker\n",
		"brackets.md":             repeat("[", 50000) + "a" + repeat("](b)", 50000) + "\n\n- marker\n",
		"emphasis.md":             repeat("*a **a ", 20000) + "\n\n- marker\n",
		"backticks.md":            many(3000, func(i int) string { return repeat("`", i%300+1) + " " }) + "\n\n- marker\n",
		"definitions.md":          many(20000, func(i int) string { return fmt.Sprintf("[r%d]: /u%d\n", i, i) }) + "[r1][r2]\n\n- marker\n",
		"table.md":                "|" + repeat("c|", 500) + "\n|" + repeat("-|", 500) + "\n" + repeat("|"+repeat("v|", 500)+"\n", 200) + "\n- marker\n",
		"fence-not-closed.md":     front + "text\n\n```python\n# marker\n",
		"comment-not-closed.md":   "marker\n\n<!-- never closed\n\n# hidden?\n",
		"private-not-closed.md":   "- marker\n\n<private>\n\n- and on\n",
		"generated-not-closed.md": "- marker\n\n<!-- memwatchd:generated -->\n\n- and on\n",
		"controls.md":             "- \x1b[31mred\x1b[0m \x07 \x08 marker \u202eyromem\u202c \u2066x\u2069\n",
		"separators.md":           "- a\u2028b\u2029c\u0085d\x0be\x0c marker\n",
		"zalgo.md":                repeat("m"+repeat("\u0301\u0316\u0489", 40), 200) + "\n\n- marker\n",
		"scripts.md":              "memory记忆メモリ메모리 ความจำ ذاكرة זִכָּרוֹן स्मृति\n\n- marker\n",
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
	return files
}

// oddThings creates objects that are not files, or files that must not be read.
// It maps each to a part of the reported reason.
func oddThings(t *testing.T, root, outside string) map[string]string {
	t.Helper()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, filepath.Join(outside, "secret.md"), "- canary\n")
	testkit.WriteFile(t, filepath.Join(root, "real/in.md"), "- marker\n")
	at := func(name string) string { return filepath.Join(root, name) }
	reasons := map[string]string{}
	for name, target := range map[string]string{
		"link-in.md": "real/in.md", "link-out.md": filepath.Join(outside, "secret.md"), "link-self.md": "link-self.md",
		"link-nowhere.md": "nowhere", "link-dir": "real", "link-dir-out": outside, "link-up": "..", "link-here": ".",
	} {
		try(os.Symlink(target, at(name)))
		reasons[name] = "symbolic link"
	}
	try(unix.Mkfifo(at("pipe.md"), 0o600))
	l, err := net.Listen("unix", at("sock.md"))
	try(err)
	t.Cleanup(func() { l.Close() })
	try(os.Mkdir(at("dir.md"), 0o700))
	testkit.WriteFile(t, at("dir.md/in.md"), "- marker\n")
	if err := unix.Mknod(at("null.md"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err == nil {
		reasons["null.md"] = "not a regular file"
	} else {
		t.Logf("a device cannot be made here: %v", err)
	}
	for name, size := range map[string]int64{"sparse-100g.md": 100 << 30, "sparse-1g.md": 1 << 30, "one-too-many.md": 4<<20 + 1} {
		testkit.WriteFile(t, at(name), "")
		if err := os.Truncate(at(name), size); err != nil {
			t.Logf("a file of %d bytes cannot be made here: %v", size, err)
			continue
		}
		reasons[name] = "too large"
	}
	reasons["pipe.md"], reasons["sock.md"] = "not a regular file", "not a regular file"
	reasons["dir.md"] = "directory"
	return reasons
}

// TestOddMemory checks that in a memory with all oddities, each file is
// indexed or listed with its reason, and nothing takes long or needs much
// memory.
func TestOddMemory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	files := oddFiles()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Logf("a file named %q cannot be made here: %v", name, err)
			delete(files, name)
		}
	}
	reasons := oddThings(t, root, filepath.Join(base, "outside"))
	l := newLive(t, root, "")
	began := time.Now()
	l.start()
	t.Logf("indexed in %.1f s, with at most %d MiB", time.Since(began).Seconds(), l.peak())
	l.wantOdd(files, reasons)

	// Searches return files of the memory, and nothing outside it.
	for _, who := range []fields{owner, public} {
		if a := l.search(who, "canary", nil); a.Total != 0 {
			t.Errorf("a link leads out: %q", texts(a))
		}
		if _, err := l.get(who, "link-out.md"); err == nil {
			t.Error("get follows a link")
		}
	}
}

// wantOdd checks that every file is in the index or listed, that files with the
// word marker are found, and the cost.
func (l *live) wantOdd(files, reasons map[string]string) {
	l.t.Helper()
	c := l.check()
	if len(c.Differing) != 0 {
		l.t.Errorf("these differ from the index: %+v", c.Differing)
	}
	skipped := map[string]string{}
	for _, s := range c.Skipped {
		if old, ok := skipped[s.Path]; ok {
			l.t.Errorf("%q is listed twice: %s, %s", s.Path, old, s.Reason)
		}
		if s.Reason == "" {
			l.t.Errorf("%q is listed without a reason", s.Path)
		}
		skipped[s.Path] = s.Reason
	}
	for name, want := range reasons {
		if got := skipped[name]; !strings.Contains(got, want) {
			l.t.Errorf("%q is skipped because %q, want %q", name, got, want)
		}
	}
	indexed, listed := 0, 0
	for name := range files {
		wire := strings.ToValidUTF8(name, "\ufffd") // as encoded in JSON
		_, isListed := skipped[wire]
		hidden := strings.HasPrefix(name, ".git/")
		markdown := strings.EqualFold(filepath.Ext(name), ".md")
		if name == ".md" {
			continue // a name without an extension
		}
		odd := filepath.Base(name)[0] == '.'
		switch {
		case !markdown || hidden:
			if isListed {
				l.t.Errorf("%q is listed, and is none of ours", name)
			}
		case odd:
			listed++
			if !isListed {
				l.t.Errorf("%q is not indexed, and not listed", name)
			}
		default:
			indexed++
			if isListed {
				l.t.Errorf("%q is not indexed: %s", name, skipped[wire])
			}
		}
	}
	s := l.mustStatus()
	for _, n := range []string{"real/in.md", "dir.md/in.md"} {
		if _, err := os.Stat(l.path(n)); err == nil {
			indexed++
		}
	}
	if c.Files != indexed || s.Files != indexed {
		l.t.Errorf("check says %d files, status %d, there are %d", c.Files, s.Files, indexed)
	}
	if s.SkippedFiles != len(c.Skipped) || !s.Healthy || s.Index.Pending != 0 {
		l.t.Errorf("status says %d skipped, check %d; healthy %v, pending %d", s.SkippedFiles, len(c.Skipped), s.Healthy, s.Index.Pending)
	}
	// Every file that contains marker is found.
	for name, text := range files {
		wire := strings.ToValidUTF8(name, "\ufffd")
		if _, isListed := skipped[wire]; isListed || !strings.Contains(text, "marker") || wire != name || name == ".md" ||
			!strings.EqualFold(filepath.Ext(name), ".md") || strings.HasPrefix(name, ".git/") {
			continue
		}
		a, err := l.get(owner, name)
		if err != nil || !strings.Contains(a.Text, "marker") || strings.HasPrefix(text, "- marker ") && len(text) < 100 && a.Text != text {
			l.t.Errorf("get %q: %.100q, %v", name, a.Text, err)
		}
		var found api.SearchAnswer
		l.must("search", owner.with(fields{"query": "marker", "limit": 100, "path": globOf(name), "include_archived": true, "sync": false}), &found)
		if found.Total == 0 {
			l.t.Errorf("nothing is found in %q", name)
		}
		for _, h := range found.Hits {
			if h.Path != name {
				l.t.Errorf("a hit in %q, asked for %q", h.Path, name)
			}
		}
	}
	l.wantUnsayable(files)
	// While the largest file is indexed, the heap may be twice what is live: up to
	// 200 MiB. How much of that is used depends on when the garbage collector runs.
	const limit = 512
	if peak := l.peak(); peak > limit && !raced() {
		l.t.Errorf("the daemon held %d MiB (now %d, of that %d of its own), want at most %d", peak, l.resident(), l.kilobytes("RssAnon")>>10, limit)
	}
	if text := l.log.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") {
		l.t.Error("the log has control characters of names in it")
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
