package memory

import (
	"bytes"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// seeds contains texts that have broken Markdown parsers, and every construct
// of the memory format.
var seeds = []string{
	"", "\n", "----\n:\nS\n:-\n,\n-", "- a\n  |b|\n  |-|\n  -\n", "\ufeff", "\ufeff- a", "\ufeff- a <!-- id=b -->\r\n", "\r", "\x00", "\xff", "a", "- ", "-\n\n\n  a", "#", "# \n", "a\n=", "a\n-\n", "> ", "```", "    a", "\ta", "-\ta\n\n\tb", "1.\n2)\n",
	"---\n", "---\n---", "---\na: b\n---\nx", "---\r\na: b\r\n...\r\nx", "\ufeff---\na: b\n---\n", "\n---\nsummary: x\n---\n", "---\na: |\n  b\n\n# c\nd: e\n---\n",
	"- [ ] a <!-- id=b -->\n  - [x] c", "<!-- a\n\nb", "<!-- visibility=private_only", "<private>\n\na\n\n</private>\n\nb", "`<private>`", "a\n<!-- id=x -->",
	GeneratedOpen + "\nx\n" + GeneratedClose + "\ny", "[Memory:A]\n- b\nc", "Long-term Memory (filtered)\nfact:\n  a = b\n", "|a|b|\n|-|-|\n|c\n\nd",
	"[a](b \"c\") [[d#e|f]] <http://g> #h\n\n[i]: j", "## 10:30 AM - a\nb (added 2026-02-05)\n\n## 待办与承诺\n- ✅ c\n- d", "***a** b_c_ ~~d~~ ^e",
	"* a\n *b\n  * c\n\n\n* \n\n  d", "- a\n\n      b\n   c\n> d\ne\n***\n_ _ _\n", "a\rb\r\nc\n\rd", "\f\n\v", "\u2028# a", "<a\n\n<div>\n- b\n</div>", "1234567890. a", "~~~ a ` b\n~~~~",
	"%%a%%\n- b %%c%% d\n\n%%\ne\n\n%%\n", "%%\n<private>\n%%\na\n</private>", "- %%\n  a\n  %%\n%% b\n\n- c %%\n", "%%<!--%%-->%%", "---\naliases: [a, b]\n---\n- ![[c/d#^e|f]]\n",
	"a\n§\nb\n- c\n §\t\n> d\n§\n\n§\n|e|\n|-|\n§\n    §\n```\n§\n```\n  - §\n§ f\n",
}

func FuzzParse(f *testing.F) {
	paths := []string{"2026-02-04/a.md", "MEMORY.md", "memory/2026-02-04.md", "_longterms/acct_42/fact.md", "x/y.md"}
	for i, s := range seeds {
		f.Add(paths[i%len(paths)], []byte(s))
	}
	f.Add("/a.md", []byte("[[//b]] [c](../d) [e](//f)"))
	f.Fuzz(func(t *testing.T, path string, src []byte) {
		l := testLayout()
		kept := bytes.Clone(src)
		d := l.Parse(path, src, testMeta)
		if !bytes.Equal(kept, src) || !bytes.Equal(d.Source, src) {
			t.Fatal("the source was modified")
		}
		for _, p := range d.Problems {
			if p.Code == markdownUnreadable {
				t.Fatal("the Markdown parser fails")
			}
		}
		checkPlace(t, path, d.Place)
		checkLines(t, d)
		checkEntries(t, d)
		for _, s := range []Scope{{}, {Subject: "owner"}, {Subject: "owner", Context: Private}, {Subject: "acct:42", Context: Private}} {
			checkShown(t, d, s)
		}
		again := l.Parse(path, src, testMeta)
		if diff := cmp.Diff(d, again, cmp.AllowUnexported(Document{}, Entry{}, Task{}, Link{}, privateRanges{}, lineRange{}, lines{})); diff != "" {
			t.Fatalf("parsed differently:\n%s", diff)
		}
		unsettled := l.Parse(path, src, Meta{Unstable: true})
		for i := range unsettled.Entries {
			if unsettled.Entries[i].Partition.Visibility == PublicOK {
				t.Fatalf("line %d is public in a file that is being written", unsettled.Entries[i].Line)
			}
		}
	})
}

func checkPlace(t *testing.T, path string, p Place) {
	t.Helper()
	if p.Path != path {
		t.Fatalf("place of %q has path %q", path, p.Path)
	}
	if p.Visibility == PrivateOnly && p.Owner == "" {
		t.Fatalf("%q is private but nobody's", path)
	}
	if p.Day != "" && !IsDay(p.Day) || p.Kind == Items && !isNamespace(p.Namespace) || p.Kind > Archive {
		t.Fatalf("%q has the place %+v", path, p)
	}
}

// checkLines checks that every line of the body that is not blank is in exactly
// one entry, or is a heading, hidden, or a rule. Entries must consist of whole
// lines.
func checkLines(t *testing.T, d *Document) {
	t.Helper()
	n := d.lines.count()
	seen := make([]int, n+1)
	mark := func(from, to int, span Span) {
		if from < 1 || to < from || to > n {
			t.Fatalf("lines %d to %d of %d", from, to, n)
		}
		if want := d.lines.span(from, to); span != want {
			t.Fatalf("lines %d to %d are the bytes %v, not %v", from, to, want, span)
		}
		for line := from; line <= to; line++ {
			seen[line]++
		}
	}
	if d.Front.Span.End > 0 {
		mark(1, d.lines.at(d.Front.Span.End-1), Span{0, d.Front.Span.End})
	} else if d.Front.Present && d.Problems[0].Code == "frontmatter_unclosed" {
		seen[1]++
	}
	last := 0
	for _, e := range d.Entries {
		mark(e.Line, e.EndLine, e.Span)
		if e.Line <= last {
			t.Fatalf("the entry at line %d comes after one that ends at %d", e.Line, last)
		}
		last = e.EndLine
		if s := d.lines.span(e.EndLine, e.EndLine); isBlankText(d.Source[s.Start:s.End]) {
			t.Fatalf("the entry at line %d ends with a blank line", e.Line)
		}
	}
	for _, h := range d.Headings {
		mark(h.Line, h.EndLine, d.lines.span(h.Line, h.EndLine))
		if text := strings.TrimLeft(d.line(h.Line), " "); h.EndLine > h.Line && strings.HasPrefix(text, "# ") {
			t.Fatalf("the heading at line %d ends at %d", h.Line, h.EndLine)
		}
	}
	for _, s := range d.Hidden {
		from, to := d.lines.at(s.Start), d.lines.at(s.End-1)
		for line := from; line <= to; line++ {
			if seen[line] == 0 { // hidden lines may be inside an entry
				seen[line]++
			}
		}
		if s != d.lines.span(from, to) {
			t.Fatalf("%v is hidden, which is not whole lines", s)
		}
	}
	for line := 1; line <= n; line++ {
		text := strings.Trim(d.line(line), " \t\ufeff")
		switch {
		case seen[line] > 1:
			t.Fatalf("line %d is in %d places", line, seen[line])
		case seen[line] == 0 && text != "" && !isRule(text):
			t.Fatalf("line %d %q is nowhere", line, text)
		}
	}
}

func isRule(s string) bool {
	s = strings.NewReplacer(" ", "", "\t", "").Replace(s)
	return s == separator || len(s) >= 3 && strings.Trim(s, s[:1]) == "" && strings.Contains("-*_", s[:1])
}

func checkEntries(t *testing.T, d *Document) {
	t.Helper()
	ids := map[string]bool{}
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.ID == "" || ids[e.ID] {
			t.Fatalf("line %d has the id %q, which is empty or taken", e.Line, e.ID)
		}
		ids[e.ID] = true
		if e.Partition.Visibility == PrivateOnly && e.Partition.Owner == "" {
			t.Fatalf("line %d is private but nobody's", e.Line)
		}
		for _, s := range append([]string{e.Text, e.Norm, e.Title}, e.Sections...) {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r") {
				t.Fatalf("line %d shows %q", e.Line, s)
			}
		}
		if !slices.IsSorted(e.Tags) || !slices.Contains(EntryTypes, e.Type) || e.Added != "" && !IsDay(e.Added) {
			t.Fatalf("line %d: tags %q type %q added %q", e.Line, e.Tags, e.Type, e.Added)
		}
		if e.Heading >= len(d.Headings) || e.Heading >= 0 && d.Headings[e.Heading].Line >= e.Line {
			t.Fatalf("line %d is below heading %d", e.Line, e.Heading)
		}
		for j, task := range e.Tasks {
			box := string(d.Source[task.Box.Start:task.Box.End])
			if task.Box.Start < e.Span.Start || task.Box.End > e.Span.End || task.Parent >= j || task.Line < e.Line || task.Line > e.EndLine {
				t.Fatalf("line %d has the task %+v", e.Line, task)
			}
			if box != "" && (box == " ") != (task.State == Open) {
				t.Fatalf("line %d: the box %q is %v", task.Line, box, task.State)
			}
		}
		for _, link := range e.Links {
			for _, p := range link.Paths {
				if strings.HasPrefix(p, "/") || p == ".." || strings.HasPrefix(p, "../") {
					t.Fatalf("line %d links out of the root: %q", e.Line, p)
				}
			}
		}
		e.Item()
	}
}

// checkShown checks the invariants of a view: unreadable lines are not visible,
// line numbers convert in both directions, and the totals match.
func checkShown(t *testing.T, d *Document, s Scope) {
	t.Helper()
	var dirs Directories
	v, err := dirs.View(s)
	if err != nil {
		t.Fatal(err)
	}
	shown := d.Shown(v)
	if shown.Complete && len(shown.Lines) != d.lines.count() {
		t.Fatalf("%d lines are shown of %d", len(shown.Lines), d.lines.count())
	}
	for i := range shown.Lines {
		if got := shown.Line(shown.Source(i + 1)); got != i+1 {
			t.Fatalf("line %d is shown as %d", i+1, got)
		}
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		for line := e.Line; line <= e.EndLine; line++ {
			if visible := shown.Line(line) != 0; visible != v.Readable(e.Partition) {
				t.Fatalf("line %d is shown to %+v: %v", line, s, visible)
			}
		}
	}
	if !shown.Complete && !shown.Empty() && strings.TrimLeft(shown.Lines[0], " \t") == "" && v.Readable(d.Own) == false {
		t.Fatal("a blank line is left at the top")
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range append(seeds, "Ａ１！　b", "ﬁ", "İ", "é", "한글", "Привет", "“x”—y…", "ẞ") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fast, ok := foldFast(nil, s)
		if slow := foldSlow(s); ok && string(fast) != slow {
			t.Fatalf("Fold(%q) is %q, and %q when normalised in general", s, fast, slow)
		}
		if utf8.ValidString(s) && Fold(Fold(s)) != Fold(s) {
			t.Fatalf("Fold(%q) is %q, and that folds to %q", s, Fold(s), Fold(Fold(s)))
		}
		stripEmphasis(s)
		taskNorm(taskText(s))
	})
}

// FuzzNames checks that the names of directories and files are safe on every
// file system, have no special meaning, are stable, and differ for ids that
// differ in more than a colon.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"acct:42", "ext:telegram:1", "memory", "users", "2026-02-04", ".git", "..", "张三", "a/b", "user-memory", strings.Repeat("x", 256), "x.sync-conflict-1", "a_conflict-20260101"} {
		f.Add(s, "other")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if ValidSubject(a) != nil || ValidSubject(b) != nil {
			t.Skip()
		}
		const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
		colons := strings.NewReplacer(":", "_")
		for _, name := range []struct {
			of  func(string) string
			dir bool
		}{{SubjectDir, true}, {UserDir, true}, {SessionFile, false}} {
			got := name.of(a)
			if got == "" || len(got) > 240 || strings.Trim(got, allowed) != "" || isHiddenName(got) || name.dir && isReserved(got) {
				t.Fatalf("%q has the name %q", a, got)
			}
			if !name.dir && (new(Layout).Skip(got) != "" || new(Layout).Skip("2026-02-04/"+got) != "") {
				t.Fatalf("the file %q of session %q is never read: %s", got, a, new(Layout).Skip(got))
			}
			if name.of(a) != got {
				t.Fatal("the name changes")
			}
			if strings.Trim(a, allowed+":") == "" && strings.Trim(b, allowed+":") == "" && colons.Replace(a) != colons.Replace(b) &&
				!isReserved(a) && !isReserved(b) && !isHiddenName(a) && !isHiddenName(b) && len(a) < maxName && len(b) < maxName && got == name.of(b) {
				t.Fatalf("%q and %q share the name %q", a, b, got)
			}
		}
	})
}

func FuzzIdentities(f *testing.F) {
	f.Add([]byte("links:\n  telegram:1: acct:42\n"))
	f.Add([]byte("links: {a:b: c}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		ids, err := ParseIdentities(src)
		if err != nil {
			return
		}
		for _, link := range ids.Links() {
			subject, aliases := ids.Resolve(link.Key)
			if subject != link.Subject || !slices.Contains(aliases, ExternalSubject(link.Key)) || ValidSubject(subject) != nil {
				t.Fatalf("%+v resolves to %q %q", link, subject, aliases)
			}
		}
	})
}

// TestLawsOnRealFiles checks the invariants on real notes.
func TestLawsOnRealFiles(t *testing.T) {
	for _, dir := range []string{"odd", "til", "memorybank-en", "memorybank-zh"} {
		t.Run(dir, func(t *testing.T) {
			for path, src := range loadCorpus(t, dir) {
				start := time.Now()
				d := testLayout().Parse(path, src, testMeta)
				if took := time.Since(start); took > 20*time.Second*raceFactor {
					t.Errorf("%s took %v", path, took)
				}
				checkLines(t, d)
				checkEntries(t, d)
				checkShown(t, d, Scope{})
			}
		})
	}
}

// fuzzTokens contains fragments of Markdown. Random combinations produce blocks
// that users do not write and parsers do not expect.
var fuzzTokens = strings.Split("\n,\n,\n, ,  ,    ,\t,- ,-,* ,+ ,1. ,2) ,> ,#,# ,## ,a,b c,|,|-|,|a|,:-,---,***,===,```,~~~,<div>,</div>,<!--,-->,<!-- x -->,<!-- id=a -->,"+
	"<private>,</private>,[ ] ,[x] ,[,](,),`,``,**,_,\\,\r\n,\r,\ufeff,\x00,\xff,^a,#t ,[[,]],"+GeneratedOpen+"\n,"+GeneratedClose+"\n,[Memory:x]\n,<?,?>,<pre>,</pre>,<a>,é,中,§,\n§\n,(added 2026-01-01)", ",")

func TestLawsOnRandomFiles(t *testing.T) {
	paths := []string{"2026-02-04/a.md", "MEMORY.md"}
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(fuzzTokens[r.IntN(len(fuzzTokens))])
		}
		d := testLayout().Parse(paths[seed%2], []byte(b.String()), testMeta)
		checkLines(t, d)
		checkEntries(t, d)
		checkShown(t, d, Scope{})
		checkShown(t, d, Scope{Subject: "owner", Context: Private})
	}
}

// FuzzLinkName checks the files that a link finds: a link to the name of a file finds
// that file, and every file that is found ends with the name and has its key.
func FuzzLinkName(f *testing.F) {
	f.Add("a/b/Note.md", "a/x.md", "b/note")
	f.Add("Ä.markdown", "x.md", "./../a\u0308")
	f.Add("v1.2.md", "", "//a/.//b#c|d")
	f.Fuzz(func(t *testing.T, file, from, target string) {
		d := new(Layout).Parse(from, []byte("- [["+target+"]] [x](<"+target+">)\n"), Meta{})
		for i := range d.Entries {
			for _, l := range d.Entries[i].Links {
				for _, to := range l.FindNamed(from, []string{file, from}) {
					found := new(Layout).Parse(to, nil, Meta{})
					name, _ := CutMarkdown(to)
					if found.Place.Copy == "" && !slices.Contains(found.NameKeys(), NameKey(l.Name)) ||
						!strings.HasSuffix("/"+Fold(name), "/"+strings.TrimPrefix(l.Name, "/")) {
						t.Errorf("%q with the name %q finds %q", l.Target, l.Name, to)
					}
				}
			}
		}
		if name, md := CutMarkdown(file); md && isBelowRoot(file) && file == path.Clean(file) {
			l := Link{Name: linkName("", file)}
			if l.Name != "" && !slices.Contains(l.FindNamed(from, []string{from, file}), file) {
				t.Errorf("the name %q of %q does not find it", l.Name, name)
			}
		}
	})
}
