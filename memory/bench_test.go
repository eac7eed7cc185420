package memory

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shared is the directory in which a checkout may have real Markdown for tests.
const shared = "../../shared/data"

// loadCorpus returns the files below a directory of real data, by path. It skips
// the test if there are none.
func loadCorpus(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	root := filepath.Join(shared, dir)
	if _, err := os.Stat(root); err != nil {
		tb.Skipf("no data to run on: %v", err)
	}
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = b
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func benchmarkParse(b *testing.B, files map[string][]byte) {
	size := 0
	for _, src := range files {
		size += len(src)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var l Layout
	for b.Loop() {
		for path, src := range files {
			l.Parse(path, src, Meta{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(files)), "µs/file")
}

func BenchmarkParseTIL(b *testing.B)     { benchmarkParse(b, loadCorpus(b, "til")) }
func BenchmarkParseEnglish(b *testing.B) { benchmarkParse(b, loadCorpus(b, "memorybank-en")) }
func BenchmarkParseChinese(b *testing.B) { benchmarkParse(b, loadCorpus(b, "memorybank-zh")) }

// BenchmarkParseSession parses a session's file of about 3 KB in the form of
// the template.
func BenchmarkParseSession(b *testing.B) {
	var s strings.Builder
	s.WriteString("---\ncreated_at: 2026-02-04T12:34:56Z\nupdated_at: 2026-02-04T12:34:56Z\nsummary: \"Discussed the layout.\"\ntasks: \"1/3\"\nfollow_ups: \"0/1\"\nsession_id: s_1\nsource: cli\n---\n\n# 2026-02-04\n\n## Session Summary\n")
	for range 20 {
		s.WriteString("1. **Layout**: we agreed on [the layout](2026-02-03/cli.md) for `memory/` with #project:atlas\n   - Users: alice\n   - Result: done <!-- source=cli -->\n")
	}
	s.WriteString("\n## Tasks\n- [ ] Write the parser\n- [x] Read the rules\n")
	benchmarkParse(b, map[string][]byte{"2026-02-04/cli.md": []byte(s.String())})
}

// worstCases returns texts whose cost in a naive parser is far out of proportion to
// their size.
func worstCases() map[string]string {
	n := 1 << 18
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"nested lists":        strings.Repeat("- ", 5000) + "\n" + strings.Repeat("\n", n),
		"nested lists, lines": strings.Repeat("- ", 500) + "x\n" + strings.Repeat(strings.Repeat(" ", 300)+"x\n", n/300),
		"nested quotes":       strings.Repeat(strings.Repeat("> ", 500)+"x\n", n/1000),
		"lazy quotes":         strings.Repeat("> ", 5000) + "x\n" + rep("x\n"),
		"brackets":            rep("["),
		"bracket pairs":       rep("[]("),
		"link openers":        rep("[a]("),
		"wiki openers":        rep("[[a"),
		"backtick runs":       backticks(n),
		"emphasis":            rep("*a_ "),
		"angles":              rep("<"),
		"html lines":          rep("<a \n"),
		"html blocks":         rep("<div x>\n\n"),
		"html one line":       "<a " + rep("x "),
		"comments":            rep("<!-- a -->"),
		"open comments":       "a " + rep("<!-- "),
		"attribute comments":  rep("- a <!-- id=x importance=9 -->\n"),
		"private tags":        rep("a <private>\n"),
		"definitions":         rep("[a]: b\n"),
		"headings":            rep("# a\n"),
		"setext":              rep("a\n-\n"),
		"table columns":       strings.Repeat("|a", 20000) + "\n" + strings.Repeat("|-", 20000) + "\n" + rep("|\n"),
		"table rows":          rep("|-|\n"),
		"tags":                rep("#a "),
		"one tag":             "#" + rep("a"),
		"equal items":         rep("- a\n"),
		"empty items":         rep("-\n"),
		"ordered":             rep("1. \n"),
		"tabs":                rep("\t"),
		"tabs in items":       rep("-\t\t"),
		"spaces":              rep(" "),
		"carriage returns":    rep("\r"),
		"escapes":             rep("\\"),
		"generated":           rep(GeneratedOpen + "\n"),
		"injected":            rep("[Memory:A]\n- x\n"),
		"anchors":             rep("a ^b\n\n"),
		"added":               rep("- (added 2026-01-01)\n"),
		"frontmatter open":    "---\n" + rep("a: b\n"),
		"frontmatter":         "---\n" + rep("a: b\n") + "---\n",
		"frontmatter deep":    "---\na: " + strings.Repeat("[", 60000) + "\n---\n",
		"zalgo":               "a" + rep("\u0301"),
		"fences":              rep("```\n~~~\n"),
		"tasks":               rep("- [ ] a\n"),
		"marks":               rep("- [ ] a 📅 2026-01-01 🔁 every\n"),
		"paths":               "- " + rep("[a](../"+strings.Repeat("../", 50)+"x)"),
	}
}

func backticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("`", i) + " ")
	}
	return b.String()
}

// TestParseWorstCases checks that the time of parsing is in proportion to the
// size of the text: a quarter of a megabyte of the worst text takes a fraction
// of a second.
func TestParseWorstCases(t *testing.T) {
	var l Layout
	const limit = 10 * time.Second * raceFactor
	for name, text := range worstCases() {
		took := limit + 1
		for tries := 5; took > limit && tries > 0; tries-- { // other programs may use the CPU
			start := time.Now()
			l.Parse("2026-02-04/x.md", []byte(text), Meta{})
			took = min(took, time.Since(start))
		}
		t.Logf("%8.1f ms  %s", float64(took.Microseconds())/1000, name)
		if took > limit {
			t.Errorf("%s: parsing %d bytes took more than %v", name, len(text), limit)
		}
	}
}
