package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestRevisionGolden compares results with the archives in testdata/revise.
// Each contains files, each followed by revisions of it, with the lines that they
// change below them, indented. A revision consists of lines like
//
//	task "buy milk" done          the task whose text contains this
//	field summary "new"           a key of the frontmatter
//	attribute "milk" pin "true"   of the entry whose text contains this
//	remove "milk"
//	cut "milk" "oat"              the parts with "oat" of that entry
//	replace "milk" "- tea"
//	insert "milk" "- tea"         below it; "" is the top
//	append "A" "B" "- tea"        to the section A › B
//	section "A" "- tea"           a new section A at the end
//	counters
//	titles
func TestRevisionGolden(t *testing.T) {
	golden.Run(t, "revise", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		var d *Document
		var parse func([]byte) *Document
		for i, f := range a.Files {
			if f.Name != "edits" {
				parse = func(b []byte) *Document { return testLayout().Parse(f.Name, b, testMeta) }
				d = parse(golden.Decode(f.Data))
				continue
			}
			a.Files[i].Data = nil
			for _, script := range revisions.FindAllString(string(f.Data), -1) {
				result := cmp.Or(applyScript(t, d, script, parse), "unchanged\n")
				a.Files[i].Data = fmt.Appendf(a.Files[i].Data, "%s  %s\n", script, strings.ReplaceAll(strings.TrimSuffix(result, "\n"), "\n", "\n  "))
			}
		}
		return a
	})
}

// revisions matches the lines of a revision, which are not indented.
var revisions = regexp.MustCompile(`(?m)(^\S.*\n)+`)

// applyScript returns the lines that a revision of a document changes, with pictures.
func applyScript(t *testing.T, d *Document, script string, parse func([]byte) *Document) string {
	t.Helper()
	r := d.Revise()
	for line := range strings.Lines(script) {
		words := golden.Words(line)
		entry := func(s string) int {
			return slices.IndexFunc(d.Entries, func(e Entry) bool { return s != "" && strings.Contains(e.Text, s) })
		}
		switch op, args := words[0], words[1:]; op {
		case "task":
			i := entry(args[0])
			j := slices.IndexFunc(d.Entries[i].Tasks, func(t Task) bool { return strings.Contains(t.Text, args[0]) })
			r.SetTask(i, j, map[string]TaskState{"done": Done, "open": Open}[args[1]])
		case "field":
			r.SetField(args[0], args[1])
		case "attribute":
			r.SetAttribute(entry(args[0]), args[1], args[2])
		case "remove":
			r.Remove(entry(args[0]))
		case "cut":
			i := entry(args[0])
			parts := d.MatchingParts(&d.Entries[i], func(text string) bool { return strings.Contains(text, args[1]) })
			if parts == nil {
				return "only as a whole\n"
			}
			r.RemoveLines(i, parts)
		case "replace":
			r.Replace(entry(args[0]), verbatim(args[1]), testMeta.ModTime)
		case "insert":
			r.Insert(entry(args[0]), verbatim(args[1]))
		case "append":
			r.Append(args[:len(args)-1], verbatim(args[len(args)-1]))
		case "section":
			var puts []*Put
			for _, text := range args[1:] {
				puts = append(puts, verbatim(text))
			}
			r.AppendSection(args[0], puts...)
		case "counters":
			r.SetCounters()
		case "titles":
			r.SetTitles()
		default:
			t.Fatalf("no edit is called %q", op)
		}
	}
	out, err := r.Apply(parse)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if r.Empty() != bytes.Equal(out, d.Source) {
		t.Errorf("%s: Empty is %v", script, r.Empty())
	}
	return string(golden.Diff(golden.Encode(d.Source), golden.Encode(out)))
}

// TestRevisionErrors checks that invalid changes fail.
func TestRevisionErrors(t *testing.T) {
	l := testLayout()
	parse := func(b []byte) *Document { return l.Parse("2026-02-04/a.md", b, testMeta) }
	d := parse([]byte("- [ ] a\n- b <!-- visibility=private_only -->\n"))
	for what, c := range map[string]struct {
		d    *Document
		wish func(*Revision)
	}{
		"replaced by nothing": {d, func(r *Revision) { r.Replace(0, verbatim(""), testMeta.ModTime) }},
		"replaced and ticked": {d, func(r *Revision) { r.Replace(0, verbatim("- x"), testMeta.ModTime); r.SetTask(0, 0, Done) }},
		"below what goes":     {d, func(r *Revision) { r.Remove(0); r.Insert(0, verbatim("- x")) }},
		"too deep":            {d, func(r *Revision) { r.Append([]string{"1", "2", "3", "4", "5", "6"}, verbatim("- x")) }},
	} {
		r := c.d.Revise()
		c.wish(r)
		if out, err := r.Apply(parse); err == nil {
			t.Errorf("%s: %q", what, out)
		}
	}
	r := d.Revise()
	r.SetTask(0, 0, Done)
	r.SetTask(0, 0, Open)
	if out, err := r.Apply(parse); err != nil || !r.Empty() || !bytes.Equal(out, d.Source) {
		t.Errorf("there and back is %q, %v", out, err)
	}
}

func FuzzRevise(f *testing.F) {
	paths := []string{"2026-02-04/a.md", "MEMORY.md", "memory/2026-02-04.md", "_longterms/acct_42/fact.md"}
	for i, s := range seeds {
		f.Add(paths[i%len(paths)], []byte(s), uint64(i))
	}
	for i, s := range []string{
		"- a\nlazy\n\n  - b\n   lazy\n- c\n", "Setext\n===\n- a\n---\n- b\n\nSetext\n- a\n  ---\n", "-\ta\n\t- b\n\t\t- [ ] c\n", "[a]: /x\n  'title'\n- [a]\n\n[b]: /y\n",
		"<div>\n- a\n</div>\n- b\n\n<!-- c -->\n- d\n<!--\n- e\n-->\n- f\n", "|a|b|\n|-|-|\n|c|d|\n- e\n|f|\n", "- a\n<!-- -->\n- b\n\n<!-- x -->\n\n- c\n",
		"# A\r- a\r- [ ] b\r\r## Tasks\r- [x] c", "\ufeff# A\n- a\n- [ ] b", "- a\u2028b\n- c\u0085d\n", "## 待办与承诺\n- ✅ a\n- b\n  - ✅ c\n- ✅\n## 待办与承诺\n- d\n",
		"# A\n## A\n- a\n# A\n- b\n## A\n- c\n", "1. a\n   1. b\n10) c\n1) d\n", "> - a\n> - [ ] b\n- c\n> d\n", "- ```\n  a\n- b\n```\n- c\n", "* a\n\n    code\n\n* * *\n- - - b\n",
		"- [ ] a <!-- id=x -->\n  <!-- y -->\n  - [ ] b <!-- id=z\n  -->\n", "- a\n\n\n- b\n\n\n\n", "a  \nb\\\n- [ ] c\n", "- [ ]\n- [ ] \n- [x]\ta\n- [ ]b\n",
		"a: b\nc = d <!-- id=x -->\r\n  e\n\n> - f\n>   g\n>   - h\n> - i\n\n- j\n  - [ ] k\n\n    l\n  - m\n\n|n|\n|-|\n|o|\np\n",
		"a\n§\n- b\n- c\n\n§\n# A\n§\nd\n§\n§\ne\n",
	} {
		f.Add(paths[i%len(paths)], []byte(s), uint64(i))
		f.Add(paths[(i+1)%len(paths)], []byte(s), uint64(i+100))
	}
	f.Fuzz(func(t *testing.T, path string, src []byte, seed uint64) {
		reviseAtRandom(t, path, src, rand.New(rand.NewPCG(seed, 11)))
	})
}

func TestRevisionLawsOnRandomFiles(t *testing.T) {
	paths := []string{"2026-02-04/a.md", "MEMORY.md"}
	n, done := uint64(12_000), 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 13))
		var b strings.Builder
		if r.IntN(4) == 0 {
			b.WriteString([]string{"---\ntasks: 1/9\nsummary: >\n  a\n\n---\n", "\ufeff---\r\nfollow_ups: 0/0\r\n...\r\n", "---\nvisibility: private_only\n---\n"}[r.IntN(3)])
		}
		if seed%2 == 0 {
			b.WriteString(joinChunks("", randomDocument(r, PublicOK)))
		} else {
			for range 1 + r.IntN(14) {
				b.WriteString(fuzzTokens[r.IntN(len(fuzzTokens))])
			}
		}
		if reviseAtRandom(t, paths[r.IntN(2)], []byte(b.String()), r) {
			done++
		}
	}
	t.Logf("%d of %d revisions were made", done, n)
	if done < int(n)/4 {
		t.Error("too few revisions can be made")
	}
}

// reviseAtRandom applies one random change that the document allows and checks
// the invariants. It is independent of the checks in Revision.
func reviseAtRandom(t *testing.T, path string, src []byte, r *rand.Rand) (done bool) {
	t.Helper()
	l := testLayout()
	parse := func(b []byte) *Document { return l.Parse(path, b, testMeta) }
	d := parse(src)
	if out, err := d.Revise().Apply(parse); err != nil || !bytes.Equal(out, src) {
		t.Fatalf("an empty revision of %q gives %q, %v", src, out, err)
	}
	rev := d.Revise()
	var added string
	entry := -1
	if len(d.Entries) > 0 {
		entry = r.IntN(len(d.Entries))
	}
	var cut [][2]int
	op := r.IntN(8)
	switch {
	case op == 0 || entry < 0:
		added = []string{"- added", "- [ ] added\n  more", "added", "```\nadded\n```", "> added"}[r.IntN(5)]
		rev.Append([][]string{nil, {"Tasks"}, {"A", "B"}}[r.IntN(3)], verbatim(added))
	case op == 1:
		rev.Remove(entry)
	case op == 2:
		added = "- added"
		rev.Insert(entry, verbatim(added))
	case op == 3:
		rev.SetAttribute(entry, "source", "x y")
	case op == 4:
		rev.SetField("summary", []string{"new", "a: b", "x\ny", ""}[r.IntN(4)])
	case op == 5 && len(d.Entries[entry].Tasks) > 0:
		task := r.IntN(len(d.Entries[entry].Tasks))
		rev.SetTask(entry, task, 1-d.Entries[entry].Tasks[task].State)
	case op == 7:
		line := -1
		cut = d.MatchingParts(&d.Entries[entry], func(string) bool { line++; return line > 0 && r.IntN(2) == 0 })
		if cut == nil {
			return false
		}
		rev.RemoveLines(entry, cut)
	default:
		op = 6
		added = "- [x] added"
		rev.Replace(entry, verbatim(added), testMeta.ModTime)
	}
	out, err := rev.Apply(parse)
	if d.Unsound && !rev.Empty() && err == nil {
		t.Fatalf("%q is unsound, and edited to %q", src, out)
	}
	if err != nil {
		return false
	}
	next := parse(out)
	fail := func(what string) {
		t.Helper()
		t.Fatalf("%s %s: %+v\n%q\n=>\n%q", path, what, *rev, src, out)
	}
	if next.Unsound || !utf8.Valid(out) {
		fail("is damaged")
	}
	if !bytes.Contains(bytes.ReplaceAll(src, []byte("\r\n"), nil), []byte("\n")) && bytes.Contains(src, []byte("\r\n")) && bytes.Contains(bytes.ReplaceAll(out, []byte("\r\n"), nil), []byte("\n")) {
		fail("has line endings of another sort")
	}
	if bytes.HasPrefix(src, bom) != bytes.HasPrefix(out, bom) {
		fail("loses its mark")
	}
	// Public lines must have been public before, or be part of the change.
	was, is := d.Shown(View{}), next.Shown(View{})
	for _, line := range is.Lines {
		if op == 7 {
			line, _, _ = strings.Cut(line, " <!--") // an attribute comment can move
		}
		if !slices.ContainsFunc(was.Lines, func(w string) bool { return w == line || op == 7 && strings.HasPrefix(w, line) }) && op != 3 && op != 4 && op != 5 &&
			!strings.Contains(line, "added") && !strings.Contains(line, "```") && !strings.Contains(line, "more") && strings.Trim(line, " \t#AB§") != "" && !strings.Contains(line, "Tasks") &&
			!(op == 6 && strings.HasPrefix(strings.TrimSpace(line), "<!--") && bytes.Contains(src, []byte(strings.TrimSpace(line)))) {
			fail("shows everybody " + line)
		}
	}
	// All lines must still exist, except those of the changed entry.
	if op != 3 && op != 4 && op != 5 {
		at := 0
		for line := 1; line <= d.lines.count(); line++ {
			e := -1
			for i := range d.Entries {
				if d.Entries[i].Line <= line && line <= d.Entries[i].EndLine {
					e = i
				}
			}
			isCut := slices.ContainsFunc(cut, func(c [2]int) bool { return c[0] <= line && line <= c[1] })
			if e == entry && (op == 1 || op == 6) || isCut || d.blankLine(line) || op == 1 && d.isSeparator(line) {
				continue
			}
			found := at
			for found < next.lines.count() && next.line(found+1) != d.line(line) && (op != 7 || !strings.HasPrefix(next.line(found+1), d.line(line)+" <!--")) {
				found++
			}
			switch heading := op == 1 && d.headingAt(line); {
			case heading: // may be gone, while an equal one below stays
			case found < next.lines.count():
				at = found + 1
			default:
				fail("has lost " + d.line(line))
			}
		}
	}
	return !rev.Empty()
}

// TestRewriteKeepsBytes checks that unchanged lines keep their bytes and that
// new lines take the line endings of the file.
func TestRewriteKeepsBytes(t *testing.T) {
	parse := func(b []byte) *Document { return testLayout().Parse("MEMORY.md", b, testMeta) }
	golden.Table(t, "rewrites", func(t *testing.T, in []string) string {
		d := parse([]byte(in[0]))
		got, err := d.Rewrite(d.OwnView(), in[1], parse)
		switch {
		case errors.Is(err, ErrText), errors.Is(err, ErrUnwritable):
			return "error: " + err.Error()
		case err != nil:
			t.Error(err)
		}
		return string(got)
	})
}
