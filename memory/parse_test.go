package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// testLayout returns a root in a time zone other than UTC, with user
// directories, whose daily notes and sessions are public.
func testLayout() *Layout {
	return &Layout{
		Location: time.FixedZone("CST", 8*60*60),
		Users:    func(dir string) bool { return dir == "alice" || strings.HasPrefix(dir, "user-") },
		Daily:    PublicOK, Sessions: PublicOK,
	}
}

var testMeta = Meta{ModTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

// TestParseGolden compares parsed files with the archives in testdata/parse.
// Each file is followed by a dump of its document.
func TestParseGolden(t *testing.T) {
	golden.Run(t, "parse", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			d := testLayout().Parse(f.Name, golden.Decode(f.Data), testMeta)
			out.Files = append(out.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(dumpDocument(d))})
		}
		return out
	})
}

// omitted are the fields that dump leaves out: positions, which checkLines checks, and words
// for people.
var omitted = map[string]bool{"Span": true, "Comment": true, "Box": true, "Heading": true, "Path": true, "Message": true, "Written": true}

// dump appends the fields of a struct that are not zero, with those of structs in it, and on
// lines of their own the elements of lists, but problems as CODE:LINE. It omits derived ids,
// see [TestDerivedIDs], and in entries the partition of the document.
func dump(b *strings.Builder, indent, name string, v reflect.Value, partition Partition) {
	b.WriteString(indent + name)
	var below strings.Builder
	dumpFields(b, &below, indent+"  ", v, partition)
	b.WriteByte('\n')
	b.WriteString(below.String())
}

func dumpFields(b, below *strings.Builder, indent string, v reflect.Value, partition Partition) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if !v.Type().Field(i).IsExported() || f.IsZero() || omitted[name] {
			continue
		}
		switch value := f.Interface().(type) {
		case Place, Front:
			b.WriteString(" " + name + ":")
			dumpFields(b, below, indent, f, partition)
		case []Problem:
			for _, p := range value {
				fmt.Fprintf(b, " %s:%d", p.Code, p.Line)
			}
		case []Heading, []Entry, []Field, []Task, []Link:
			for i := range f.Len() {
				dump(below, indent, f.Type().Elem().Name(), f.Index(i), partition)
			}
		case []byte:
		case time.Time:
			fmt.Fprintf(b, " %s=%s", name, value.Format(time.RFC3339Nano))
		case string:
			if name != "ID" || value[0] != '~' {
				fmt.Fprintf(b, " %s=%q", name, value)
			}
		default:
			if value != any(partition) {
				fmt.Fprintf(b, " %s=%v", name, value)
			}
		}
	}
}

func dumpDocument(d *Document) string {
	var b strings.Builder
	dump(&b, "", fmt.Sprintf("Document Partition=%v", d.Partition), reflect.ValueOf(*d), d.Partition)
	for i := range d.Entries {
		if key, value, ok := d.Entries[i].Item(); ok && d.Place.Kind == Items {
			fmt.Fprintf(&b, "value %q = %q\n", key, value)
		}
	}
	return b.String()
}

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

// TestParserPanics checks that a defect of a parser makes a file one private entry.
func TestParserPanics(t *testing.T) {
	real := markdown
	t.Cleanup(func() { markdown = real })
	markdown = panickingParser{real}
	const text = "---\nvisibility: public_ok\n---\n# A\n- [ ] b <!-- visibility=public_ok -->\n"
	d := testLayout().Parse("notes/a.md", []byte(text), testMeta)
	if len(d.Entries) != 1 || d.Entries[0].Partition.Visibility != PrivateOnly ||
		!d.Unsound || d.Problems[0].Code != markdownUnreadable {
		t.Errorf("entries %+v, problems %+v", d.Entries, d.Problems)
	}
}

type panickingParser struct{ parser.Parser }

func (panickingParser) Parse(gmtext.Reader, ...parser.ParseOption) ast.Node { panic("defect") }

func FuzzParse(f *testing.F) {
	paths := []string{"2026-02-04/a.md", "MEMORY.md", "memory/2026-02-04.md", "_longterms/acct_42/fact.md", "x/y.md"}
	for i, s := range seeds {
		f.Add(paths[i%len(paths)], []byte(s))
	}
	f.Add("/a.md", []byte("[[//b]] [c](../d) [e](//f)"))
	f.Add("2026-02-04/a.md", []byte("- [ ] one ſtart: 2026-02-04\n- [ ] two [ſcheduled:: 2026-02-04] @ſtart(x)\n"))
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
		if diff := cmp.Diff(d, again, cmp.AllowUnexported(Document{}, Heading{}, Entry{}, Task{}, Link{}, marks{}, privateMark{}, lineRange{}, lines{})); diff != "" {
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
	if p.Visibility == PrivateOnly && p.Owner == "" && p.Kind != Session && p.Kind != Archive {
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
		if e.Partition.Visibility == PrivateOnly && e.Partition.Owner == "" || letters.FoldCase(e.Norm) != e.Norm {
			t.Fatalf("line %d is private but nobody's, or %q is not folded", e.Line, e.Norm)
		}
		for _, s := range slices.Concat([]string{e.Text, e.Norm, e.Title}, e.Sections, e.Tags) {
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

// checkShown checks that a view reads all of the document or nothing, and that each entry
// has the readers of the document.
func checkShown(t *testing.T, d *Document, s Scope) {
	t.Helper()
	v := viewOf(t, s)
	shown := d.Shown(v)
	if v.Readable(d.Partition) == shown.Empty() || !shown.Empty() && len(shown.Lines) != d.lines.count() {
		t.Fatalf("%+v sees %d lines of %d", s, len(shown.Lines), d.lines.count())
	}
	for i := range d.Entries {
		if d.Entries[i].Partition != d.Partition {
			t.Fatalf("line %d is in %+v", d.Entries[i].Line, d.Entries[i].Partition)
		}
	}
	if d.Partition.Visibility == PublicOK && d.InPrivate() {
		t.Fatal("a file with a <private> tag is public")
	}
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
			if got == "" || len(got) > 240 || strings.Trim(got, allowed) != "" || isHiddenName(got) || name.dir && (isReserved(got) || !isSafeName(got)) {
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
						!strings.HasSuffix("/"+letters.FoldCase(name), "/"+strings.TrimPrefix(l.Name, "/")) {
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

// TestTooManyBlocks checks that a file with too many blocks has its remaining
// lines in one last entry. That entry is private, because the lines were not
// searched for marks.
func TestTooManyBlocks(t *testing.T) {
	for name, text := range map[string]string{
		"items":      strings.Repeat("- a\n", 1<<18),
		"paragraphs": strings.Repeat("a\n\n", 1<<18),
		"headings":   strings.Repeat("#\n", 1<<18),
		"rules":      strings.Repeat("***\n", 1<<18),
		"nested":     strings.Repeat(strings.Repeat("1. ", 50)+"\n", 8<<10),
		"quotes":     strings.Repeat("> a\n\n", 1<<18),
		"html":       strings.Repeat("<!-- a -->\n", 1<<18),
	} {
		d := new(Layout).Parse("2026-02-04/s.md", []byte(text+"\nlast <!-- visibility=private_only -->\n"), Meta{})
		checkLines(t, d)
		if len(d.Problems) == 0 || d.Problems[len(d.Problems)-1].Code != tooManyBlocks {
			t.Errorf("%s: the problems are %+v", name, d.Problems)
		}
		if n := len(d.Entries); n > 0 && d.Entries[n-1].Partition.Visibility != PrivateOnly && d.Entries[n-1].EndLine == d.lines.count() {
			t.Errorf("%s: what was not read is public", name)
		}
	}
}

// TestDerivedIDs pins the derived ids. Links, evidence and use counts contain
// them, so a different derivation is a change of format.
func TestDerivedIDs(t *testing.T) {
	const src = "# A\n\n- **Tea**: green\n- **tea**: GREEN\n\n## B\n\n- **Tea**: green\n- **Tea**: green <!-- visibility=private_only -->\n- **Tea**: green <!-- visibility=private_only -->\n"
	ids := func(path, src string) (out []string) {
		for _, e := range new(Layout).Parse(path, []byte(src), Meta{}).Entries {
			out = append(out, e.ID)
		}
		return out
	}
	want := []string{"~wacscebusi", "~iogkbznmag", "~tzraw2pnca", "~diy2bu2hty", "~teoiuzpkwm"}
	got := ids("2026-02-04/s.md", src)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	// Ids do not depend on case, width, white space, emphasis or boxes.
	if again := ids("2026-02-04/s.md", strings.NewReplacer("- **Tea**: green", "* [x]  ＴＥＡ:\tgreen").Replace(src)); !cmp.Equal(got, again) {
		t.Errorf("ids of the same text written differently: %q, want %q", again, got)
	}
	// Ids of public entries do not depend on private entries.
	public := ids("2026-02-04/s.md", strings.ReplaceAll(src, "- **Tea**: green <!-- visibility=private_only -->\n", ""))
	if !cmp.Equal(got[:3], public) {
		t.Errorf("ids without the private entries: %q, want %q", public, got[:3])
	}
	if other := ids("2026-02-05/s.md", src); other[0] == got[0] {
		t.Errorf("another file has the same id %s", other[0])
	}
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
		"link titles":         rep(`[a](b (\)`),
		"angle links":         rep("[a](<b"),
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

func TestComment(t *testing.T) {
	for _, c := range []struct {
		attributes map[string]string
		evidence   []string
		want       string
	}{
		{nil, nil, ""},
		{map[string]string{"source": "", "evidence": "not me"}, nil, ""},
		{
			map[string]string{
				"updated": "2026-02-05T12:00:00Z", "zeal": "1", "supersedes": "x", "color": "blue", "id": "k3", "created": "c",
				"source": "msg:42, the first", "confidence": "0.9", "visibility": "private_only", "importance": "1", "type": "fact", "pin": "true",
			},
			[]string{"2026-02-04/cli.md#~ab", "https://example.com/?a=1,2&b=%20", "a -- b.md", "dash-", "\u3000全角.md"},
			"<!-- id=k3 type=fact importance=1 visibility=private_only confidence=0.9 evidence=2026-02-04/cli.md#~ab," +
				"https://example.com/?a=1%2C2&b=%2520,a%20%2D%2D%20b.md,dash%2D,%E3%80%80全角.md" +
				" source=msg:42,%20the%20first created=c updated=2026-02-05T12:00:00Z pin=true supersedes=x color=blue zeal=1 -->",
		},
	} {
		got := commentOf(c.attributes, c.evidence)
		if got != c.want {
			t.Errorf("the comment is\n%s\nnot\n%s", got, c.want)
		}
		if got == "" {
			continue
		}
		e := new(Layout).Parse("2026-02-05/a.md", []byte("- a "+got+"\n"), Meta{}).Entries[0]
		for key, value := range c.attributes {
			if e.Attributes[key] != value {
				t.Errorf("%s is read as %q", key, e.Attributes[key])
			}
		}
		if !slices.Equal(e.Evidence, c.evidence) {
			t.Errorf("the evidence is read as %q", e.Evidence)
		}
	}
}

// TestWorstFiles checks that parsing, editing and merging unusual files take time in
// proportion to their length. The limit is a hundred times the usual time, and
// still too short for quadratic work.
func TestWorstFiles(t *testing.T) {
	within := func(name string, do func()) {
		start := time.Now()
		do()
		if took := time.Since(start); took > 30*time.Second*raceFactor {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	for name, text := range worstCases() {
		within(name, func() { new(Layout).Parse("2026-02-04/x.md", []byte(text), Meta{}) })
	}
	many := func(unit string) string { return strings.Repeat(unit, 150_000/len(unit)) }
	var tags strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&tags, "- tag%d\n", i)
	}
	parse := func(source []byte) *Document { return testLayout().Parse("2026-02-04/a.md", source, testMeta) }
	for name, text := range map[string]string{
		"headings":              many("# H\n\ntext\n"),
		"nested":                many("# A\n## B\n### C\n#### D\n- x\n"),
		"private spans":         many("<private>a</private>\n\n- x\n"),
		"private blocks":        many("<private>\n\na\n\n</private>\n\n- x\n"),
		"tags in code":          many("- `<private>` x\n"),
		"tasks below an item":   "- " + strings.Repeat("word ", 20_000) + "\n" + strings.Repeat("  - [ ] a\n", 10_000),
		"equal tasks":           "- x\n" + many("  - [ ] a\n"),
		"comments":              many("a<!--b-->\n"),
		"hidden lines":          many("%%a%%\n\n- x\n\n"),
		"attributes":            many("- x <!-- type=fact -->\n"),
		"tags of the file":      "---\ntags:\n" + tags.String() + "---\n" + many("# H\n\ntext\n"),
		"brackets in a comment": "a %%" + many("<") + "%% and %%" + many("<") + "%%\n",
	} {
		within(name, func() {
			d := parse([]byte(text))
			for _, change := range []func(*Revision){
				func(r *Revision) { r.AppendSection("10:30 AM", verbatim("- added")) },
				func(r *Revision) { r.Append([]string{"Tasks"}, verbatim("- [ ] added")) },
			} {
				r := d.Revise()
				change(r)
				if _, err := r.Apply(parse); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for i := range d.Entries {
				for task := range d.Entries[i].Tasks {
					d.Entries[i].TaskID(task)
				}
			}
			if lines := d.Prose(d.OwnView()); len(lines) == 0 {
				t.Errorf("%s: no prose", name)
			}
		})
	}
	for name, unit := range map[string]string{"paragraphs": "text of %s\n\n", "titles": "- **%[1]s title**: %[1]s\n"} {
		version := func(word string) []byte { return []byte(strings.Repeat(fmt.Sprintf(unit, word), 400_000/len(unit))) }
		within(name, func() {
			if m := testLayout().MergeVersions("notes/a.md", version("a"), version("b"), version("c")); m.Whole {
				t.Errorf("%s: no merge", name)
			}
		})
	}
}

// The form of credentials that the mask of these tests detects, and an example.
var (
	credentialRE = regexp.MustCompile(`tok_[A-Za-z0-9_.=+/~:-]{8,}`)
	credential   = "tok_s3Cret-Value.9Z"
)

func maskTokens(source []byte) []byte {
	found := credentialRE.FindAllIndex(source, -1)
	if found == nil {
		return source
	}
	out := bytes.Clone(source)
	for _, loc := range found {
		for i := loc[0]; i < loc[1]; i++ {
			if c := out[i] | 0x20; c >= 'a' && c <= 'z' || out[i] >= '0' && out[i] <= '9' {
				out[i] = 'x'
			}
		}
	}
	return out
}

func maskingLayout() *Layout {
	l := testLayout()
	l.Mask = maskTokens
	return l
}

// FuzzMask checks that a document does not contain a credential from any
// position in its source, and that masking does not change the structure of the
// document.
func FuzzMask(f *testing.F) {
	for i, s := range seeds {
		f.Add("2026-02-04/a.md", []byte(s), uint(3*i), "s3Cret-Value.9Z", true)
		f.Add("MEMORY.md", []byte(s), uint(i), "00000000", false)
	}
	f.Add("a.md", []byte("---\na: \nb: \"\"\n---\n"), uint(7), "0123_~~==", true)
	f.Fuzz(func(t *testing.T, path string, src []byte, at uint, secret string, again bool) {
		secret = credentialRE.FindString("tok_" + secret)
		n := int(at % uint(len(src)+1))
		if secret == "" || bytes.Contains(src, []byte(secret)) || bytes.Contains(src, []byte("xxx")) {
			return
		}
		src = slices.Concat(src[:n], []byte(secret), src[n:])
		if again {
			src = slices.Concat(src, []byte("\n\n- "+secret+"\n"))
		}
		open, masked := testLayout().Parse(path, src, testMeta), maskingLayout().Parse(path, src, testMeta)
		if !bytes.Equal(masked.Source, src) || !masked.Masked() || open.Masked() {
			t.Fatal("the source is not what it was, or not told as masked")
		}
		checkMasked(t, masked, secret)
		sameShape(t, open, masked)
	})
}

// checkMasked fails if a document contains a credential outside the values that
// determine its subject.
func checkMasked(t *testing.T, d *Document, secret string) {
	t.Helper()
	said := *d
	said.Source, said.Place, said.Claim = nil, Place{}, ""
	said.Front.SubjectID, said.Front.SessionID, said.Front.ContactID = "", "", ""
	for _, f := range said.Front.Fields {
		if strings.Contains(f.Key, secret) {
			return
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(d.Shown(d.OwnView()).Lines, "\n")
	if strings.Contains(string(text), secret) || strings.Contains(lines, secret) {
		t.Fatalf("%q is told:\n%s\n%s", secret, text, lines)
	}
}

// viewOf returns the view of a scope, without claims of directories.
func viewOf(t testing.TB, s Scope) View {
	t.Helper()
	v, err := new(Directories).View(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sameShape fails if two documents differ in structure, readers or positions of
// edits.
func sameShape(t *testing.T, a, b *Document) {
	t.Helper()
	switch {
	case len(a.Entries) != len(b.Entries), len(a.Headings) != len(b.Headings), !slices.Equal(a.Hidden, b.Hidden),
		a.Partition != b.Partition, a.Unsound != b.Unsound, a.Front.Span != b.Front.Span, a.Front.Broken != b.Front.Broken:
		t.Fatalf("%q is read otherwise", a.Source)
	}
	for i := range a.Entries {
		e, m := &a.Entries[i], &b.Entries[i]
		switch {
		case e.Line != m.Line, e.EndLine != m.EndLine, e.Span != m.Span, e.Block != m.Block, e.Heading != m.Heading,
			e.Partition != m.Partition, e.Comment != m.Comment, len(e.Text) != len(m.Text), (e.Title == "") != (m.Title == ""),
			e.Type != m.Type, len(e.Tasks) != len(m.Tasks), len(e.Links) != len(m.Links), e.Masked:
			t.Fatalf("%q: entry %d is read otherwise:\n%+v\n%+v", a.Source, i, e, m)
		case m.Masked != credentialRE.Match(b.Source[m.Span.Start:m.Span.End]):
			t.Fatalf("%q: entry %d: masked is %v", a.Source, i, m.Masked)
		}
		for j := range e.Tasks {
			if e.Tasks[j].Box != m.Tasks[j].Box || e.Tasks[j].State != m.Tasks[j].State {
				t.Fatalf("%q: entry %d has other tasks", a.Source, i)
			}
		}
	}
}

// TestWritesKeepMasked checks that changes to a file keep the masked text
// beside them.
func TestWritesKeepMasked(t *testing.T) {
	l := maskingLayout()
	const path = "_longterms/acct_42/_index.md"
	src := "---\nsummary: 'see " + credential + "' # mine\ntasks: 0/9\n---\n# Tasks\n- [ ] rotate " + credential + " <!-- id=a source=" + credential + " -->\n- [ ] b\n\n# Notes\n- **" + credential + "**: c\n- d\n"
	parse := func(b []byte) *Document { return l.Parse(path, b, testMeta) }
	for name, test := range map[string]struct {
		change func(*Document, *Revision)
		want   string
	}{
		"task":      {func(d *Document, r *Revision) { r.SetTask(0, 0, Done) }, strings.Replace(src, "[ ] rotate", "[x] rotate", 1)},
		"attribute": {func(d *Document, r *Revision) { r.SetAttribute(0, "pin", "1") }, strings.Replace(src, " -->", " pin=1 -->", 1)},
		"counters":  {func(d *Document, r *Revision) { r.SetCounters() }, strings.Replace(src, "0/9", "0/2", 1)},
		"append":    {func(d *Document, r *Revision) { r.Append([]string{"Notes"}, verbatim("- e")) }, src + "- e\n"},
		"remove":    {func(d *Document, r *Revision) { r.Remove(1) }, strings.Replace(src, "- [ ] b\n", "", 1)},
		"field":     {func(d *Document, r *Revision) { r.SetField("summary", d.Front.Summary); r.SetTask(1, 0, Done) }, strings.Replace(src, "[ ] b", "[x] b", 1)},
	} {
		d := parse([]byte(src))
		r := d.Revise()
		test.change(d, r)
		got, err := r.Apply(parse)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestRewriteKeepsMasked checks that Rewrite keeps masked text, removes its
// line as a whole, or fails if it is ambiguous which of several lines is
// removed.
func TestRewriteKeepsMasked(t *testing.T) {
	parse := func(b []byte) *Document { return maskingLayout().Parse("MEMORY.md", b, testMeta) }
	d := parse([]byte("# A\n- " + credential + "\n- b\n- " + credential[:len(credential)-1] + "8\n- for c: " + credential + "\n- d\n"))
	shown := d.Shown(d.OwnView()).Text()
	golden.Table(t, "maskedrewrites", func(t *testing.T, in []string) string {
		if !strings.Contains(shown, in[0]) {
			t.Errorf("%q is not in %q", in[0], shown)
		}
		got, err := d.Rewrite(d.OwnView(), strings.Replace(shown, in[0], in[1], 1), parse)
		if err != nil && !errors.Is(err, ErrMasked) {
			t.Error(err)
		}
		return golden.Result(got, err)
	})
}
