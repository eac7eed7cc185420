package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/letters"
)

func TestCheckText(t *testing.T) {
	for name, check := range map[string]func(string) error{"checktext": CheckText, "checkkey": CheckKey} {
		golden.Table(t, name, func(_ *testing.T, in []string) string {
			return golden.Result("valid", check(in[0]))
		})
	}
}

// FuzzOutsideText checks that any client-supplied text is exactly one entry at
// any position and contains no structure.
func FuzzOutsideText(f *testing.F) {
	for _, s := range append(seeds, "[ ] a", "[ ]\na", "[x]: b", "1. a", "12) ", "---", "= =", "| a |\n| - |", ":-", "a\n- b\n# c", "#", "+", "* * *", "_ _ _", "~~~", "`````", "<div>", "- [ ] x", "\\- a", "a\n\n\n    b", "|-|", "a\n|-|", "a ^b", "^b", "- ^b") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckText(s) != nil || lineOf(s) == "" {
			return
		}
		l := testLayout()
		const path = "2026-02-04/a.md"
		for text, block := range map[string]Block{lineOf(s): Paragraph, ListItem(s): Item} {
			src := "# Tasks\n\nabove\n\n" + text + "\n\nbelow\n"
			d := l.Parse(path, []byte(src), testMeta)
			if len(d.Entries) != 3 || len(d.Headings) != 1 || d.Entries[1].Block != block || d.Unsound {
				t.Fatalf("%q becomes %q", s, src)
			}
			e := &d.Entries[1]
			if len(e.Tasks) > 0 || len(e.Attributes) > 0 || e.Given || e.Partition != d.Entries[0].Partition {
				t.Fatalf("%q is read as %+v", text, e)
			}
			if got, want := len(strings.Split(text, "\n")), e.EndLine-e.Line+1; got != want {
				t.Fatalf("%q has %d lines, and is read as %d", text, got, want)
			}
		}
	})
}

// FuzzOutsideItem checks that the attributes after any client-supplied text are
// exactly those of its entry, and that the text does not change the entries
// around it.
func FuzzOutsideItem(f *testing.F) {
	for _, s := range append(seeds,
		"a <!A", "a <?b", "a <![CDATA[", "a <a title=\"", "a ` b", "a `` b ` c", "a \\", "a [b](", "a [b]: ", "a ![b", "a ^c", "a ^c\nb", "#t [[w", "~~a", "***", "a  ", "<", "<!", "<!-", "-", "--", "->", "a <b\nc>", "|a|\n|-|",
		"$a", "a\n\n\n- b", "a\u2028- b", "a\u0085# b", "\u200b- a", "\u202e- a", "\ufeff- a", "&lt;!-- id=x --&gt;", "&#60;!--", "a\\<!", "[^1]: a", "a [^1]", "+++", ":::", "(added 2026-02-05)", "2026-02-05: a", "✅ a", "[-] a",
		"**a**: b", "**a** b", "__a__: b", "a**", "*", "**", "https://a b", "<https://a", "a <private", "private> b", "a </private", "<PRIVATE\t", "< private>", "a {#id}", "a %% b %%", "\v- a", "\f# a", strings.Repeat("a ", 3000), strings.Repeat("[", 300), strings.Repeat("*a ", 300)) {
		f.Add("", s)
		f.Add(s, "b")
		f.Add("Title", s)
	}
	l := testLayout()
	f.Fuzz(func(t *testing.T, title, text string) {
		if CheckText(title) != nil || CheckText(text) != nil || lineOf(text) == "" {
			return
		}
		comment := newComment([]attribute{{"id", "k1"}, {"type", "decision"}, {"source", "a`\"'b"}})
		var forms []string
		for _, f := range (&Put{Form: FactForm, Title: letters.OneLine(title), Text: text}).forms() {
			forms = append(forms, f.with(comment, ""))
		}
		for _, above := range []string{"- above\n", "", "above\n\n"} {
			src := "# Key Facts\n\n" + above + forms[len(forms)-1] + "\n- below [x] <!-- id=k2 -->\n\n# Tasks\n\n- [ ] task\n"
			d := l.Parse("2026-02-04/a.md", []byte(src), testMeta)
			at := 0
			if above != "" {
				at = 1
			}
			if len(d.Entries) != at+3 || len(d.Headings) != 2 || d.Unsound || len(d.Hidden) > 0 {
				t.Fatalf("%q becomes %q, of %d entries", [2]string{title, text}, src, len(d.Entries))
			}
			e, below, task := &d.Entries[at], &d.Entries[at+1], &d.Entries[at+2]
			switch {
			case e.Block != Item, e.ID != "k1", !e.Given, e.Type != "decision", e.Source != "a`\"'b", len(e.Attributes) != 3, len(e.Tasks) > 0, e.Pin, e.Importance > 0,
				!slices.Equal(e.Sections, []string{"Key Facts"}):
				t.Fatalf("%q becomes %q, which is %+v", [2]string{title, text}, src, e)
			case below.ID != "k2", below.Partition.Visibility != PublicOK, below.Text != "- below [x]", len(task.Tasks) != 1, len(task.Links)+len(below.Links) > 0, below.Title != "":
				t.Fatalf("%q becomes %q, and what is below %+v", [2]string{title, text}, src, below)
			}
			for _, p := range d.Problems {
				if p.Code != nestingTooDeep {
					t.Fatalf("%q becomes %q, with a problem: %+v", [2]string{title, text}, src, p)
				}
			}
		}
	})
}

// FuzzOutsideHeading checks that any client-supplied topic is a heading and
// nothing else, and does not hide text below it.
func FuzzOutsideHeading(f *testing.F) {
	for _, s := range append(seeds, "a #", "a ##", "#", "# #", "a \\#", "a {#b}", "a `", "a <!A", "a <private", "[Memory:x]", "a\n=", "**", "10:30 AM", "Tasks", "a ^b", "a\\", "<div>", "- [ ] a", "a  #  #") {
		f.Add(s)
	}
	l := testLayout()
	f.Fuzz(func(t *testing.T, s string) {
		if CheckText(s) != nil || headingText(s) == "" {
			return
		}
		for _, above := range []string{"", "## 9:00 AM\n\nabove\n\n"} {
			src := above + "## " + (*Document)(nil).ClockHeading(testMeta.ModTime, s) + "\n\nbelow <!-- id=k1 visibility=public_ok -->\n"
			d := l.Parse("memory/2026-02-04.md", []byte(src), testMeta)
			n := 1
			if above != "" {
				n = 2
			}
			if len(d.Headings) != n || len(d.Entries) != n || d.Unsound || len(d.Problems) > 0 || len(d.Hidden) > 0 {
				t.Fatalf("%q becomes %q", s, src)
			}
			h, e := d.Headings[n-1], d.Entries[n-1]
			if h.Level != 2 || h.Line != h.EndLine || e.Heading != n-1 || e.ID != "k1" || e.Partition.Visibility != PublicOK || e.Text != "below" || e.Time.Hour() != 4 {
				t.Fatalf("%q becomes %q, which is %+v above %+v", s, src, h, e)
			}
		}
	})
}

// formOf returns the first form of a text that parses to one entry with this
// content and with an attribute, between other blocks.
func formOf(text string, item bool) (string, bool) {
	l := testLayout()
	p := &Put{Text: text, Attributes: map[string]string{"source": "cli"}}
	if item {
		p.Form = BulletForm
	}
	if l.Fit("memory/2026-02-04.md", p) != nil {
		return "", false
	}
	form := string(p.alone.Source)
	source := "# Day\n\n## 10:00\n- above\n\n## 10:01\n" + form + "\n\n## 10:02\nbelow\n"
	d := l.Parse("memory/2026-02-04.md", []byte(source), testMeta)
	form = strings.TrimRight(strings.TrimSuffix(form, "<!-- source=cli -->"), " \n")
	return form, len(d.Entries) == 3 && d.Entries[1].Source == "cli" && d.Entries[1].Content() == TrimText(text)
}

// TestWriteForms checks that texts come back from their blocks byte for byte.
func TestWriteForms(t *testing.T) {
	golden.Table(t, "writeforms", func(t *testing.T, in []string) string {
		form, ok := formOf(in[0], false)
		if _, item := formOf(in[0], true); !ok || !item {
			t.Errorf("%q does not come back, or not from an item", in[0])
		}
		return form
	})
}

// TestGeneratedNotes checks the same with 500 generated notes.
func TestGeneratedNotes(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 2))
	words := strings.Fields("the proxy renews its certificate every night `x := 1` **bold** #tag 证书 每晚 更新 https://example.com/a?b=c [[link]] C++ a_b *c* <b> & \\ 100% ~x")
	line := func() string {
		var list []string
		for range 1 + random.IntN(12) {
			list = append(list, words[random.IntN(len(words))])
		}
		return strings.Join(list, " ")
	}
	block := func() string {
		switch random.IntN(9) {
		case 0:
			return "```sh\n" + line() + "\n\n  " + line() + "\n```"
		case 1:
			return "- " + line() + "\n- " + line() + "\n  - " + line()
		case 2:
			return "1. " + line() + "\n2. " + line()
		case 3:
			return "| a | b |\n|---|---|\n| " + fmt.Sprint(random.IntN(100)) + " | " + words[random.IntN(4)] + " |"
		case 4:
			return "> " + line() + "\n> " + line()
		case 5:
			return strings.Repeat(line()+" ", 30)
		case 6:
			return "## " + line()
		case 7:
			return line() + "\n" + line()
		}
		return line()
	}
	for i := range 500 {
		var blocks []string
		for range 1 + random.IntN(4) {
			blocks = append(blocks, block())
		}
		text := strings.Join(blocks, "\n\n")
		if _, ok := formOf(text, false); !ok {
			t.Errorf("note %d does not come back:\n%s", i, text)
		}
		for _, title := range []string{"", "Proxy"} {
			want := TrimText(text)
			if title != "" && !strings.Contains(want, "\n") {
				want = "**" + title + "**: " + want
			}
			for _, marker := range []string{"-", "*", "12."} {
				p := &Put{Form: FactForm, Title: title, Text: text, Date: "2026-02-05", Attributes: map[string]string{"source": "cli"}}
				if err := testLayout().Fit("MEMORY.md", p); err != nil {
					t.Fatal(err)
				}
				form := string(p.alone.Source)
				form = strings.ReplaceAll(marker+strings.TrimPrefix(form, "-"), "\n", "\n"+strings.Repeat(" ", len(marker)-1))
				d := testLayout().Parse("MEMORY.md", []byte("# Facts\n\n"+form+"\n\n- below\n"), testMeta)
				if len(d.Entries) != 2 || d.Entries[0].Remembered() != want ||
					d.Entries[0].Added != "2026-02-05" || d.Entries[0].Source != "cli" || title != "" && d.Entries[0].Title != title {
					t.Fatalf("fact %d does not come back:\n%s\n%q", i, form, d.Entries[0].Remembered())
				}
			}
		}
	}
}

// TestItemText checks the written form of items.
func TestItemText(t *testing.T) {
	golden.Table(t, "itemtexts", func(t *testing.T, in []string) string {
		p := &Put{Form: ValueForm, Title: in[0], Text: in[1],
			Attributes: map[string]string{"id": "k3f9", "visibility": "private_only", "confidence": "", "source": "msg:42 a"}}
		switch err := new(Layout).Fit("_longterms/owner/fact.md", p); {
		case errors.Is(err, ErrText):
			return "error: " + err.Error()
		case err != nil:
			t.Fatal(err)
		}
		return string(p.alone.Source)
	})
}

// TestReplace checks that a replaced entry keeps its box, its comments, its time of creation and
// the attributes that are not given, but not its evidence, and that another request with the
// same text changes nothing.
func TestReplace(t *testing.T) {
	l, now := testLayout(), testMeta.ModTime
	parse := func(src []byte) *Document { return l.Parse("_longterms/owner/fact.md", src, testMeta) }
	for _, c := range []struct {
		before string
		p      Put
		want   string
	}{
		{"- [x] **a**: 1 <!-- pin Id=a1 Source=x%20y confidence=0.5 mine=2 created=2026-01-01T00:00:00Z evidence=old.md -->\n", Put{Form: ValueForm, Title: "a", Text: "2", Attributes: map[string]string{"source": "z", "confidence": "", "created": "2026-02-02T00:00:00Z"}},
			"- [x] **a**: 2 <!-- id=a1 source=z created=2026-01-01T00:00:00Z pin=true mine=2 -->\n"},
		{"* **a**: 1 ^b1\n  <!-- keep me -->\n", Put{Form: ValueForm, Title: "a", Text: "x\ny", Attributes: map[string]string{"source": "z"}},
			"* **a**: <!-- source=z -->\n  ```\n  x\n  y\n  ```\n  <!-- keep me -->\n"},
		{"- **a**: 1 (added 2026-01-05) <!-- updated=2026-01-05T00:00:00Z evidence=old.md -->\n  <!-- keep -->\n  <!-- both -->\n", Put{Form: FactForm, Title: "a", Text: "2", Date: "2026-02-05", Evidence: []string{"new.md"}},
			"- **a**: 2 (added 2026-02-05) <!-- evidence=new.md updated=" + Timestamp(now) + " -->\n  <!-- keep -->\n  <!-- both -->\n"},
		{"1. a\n2. **b** <!-- keep --> <!-- source=s evidence=old.md -->\n", Put{Form: FactForm, Title: "a", Text: "- x\n- `y` (added 2026-01-05)", Date: "2026-02-05"},
			"1. a\n2. **a**:\n   - x\n   - `y` (added 2026-01-05)\n   <!-- keep -->\n   <!-- source=s -->\n"},
		{"- a ^b1\n", *verbatim("- b\n  - c"), "- b ^b1\n  - c\n"},
		{"- a <!-- id=x evidence=old.md -->\n  - c <!-- keep -->\n", *verbatim("- b\n  c"), "- b <!-- id=x -->\n  c\n  <!-- keep -->\n"},
	} {
		src := c.before
		for range 2 {
			d := parse([]byte(src))
			r := d.Revise()
			r.Replace(len(d.Entries)-1, &c.p, now)
			out, err := r.Apply(parse)
			if diff := cmp.Diff(c.want, string(out)); diff != "" || err != nil {
				t.Errorf("%q (-want +got): %v\n%s", src, err, diff)
				break
			}
			src = c.want
		}
	}
}

// TestOneDate checks that a fact gets a date only if its text has none.
func TestOneDate(t *testing.T) {
	for _, text := range []string{"a", "a (added 2026-01-05)", "2026-01-05: a", "a\nb", "- a\n- b (added 2026-01-05)", "a (added 2026-01-05)\nb", "```\na\n```\n\n(added 2026-01-05)", "```\na (added 2026-01-05)", "a ^b", "(added 2026-01-05)", "# a\n(added 2026-01-05)", "- [ ] a\n- b (added 2026-01-05)"} {
		for _, title := range []string{"", "T", "a*b `c`"} {
			p := &Put{Form: FactForm, Title: title, Text: text, Date: "2026-02-05"}
			if err := testLayout().Fit("MEMORY.md", p); err != nil {
				t.Errorf("%q %q: %v", title, text, err)
				continue
			}
			got := string(p.alone.Source)
			own := strings.Contains(text, "2026-01-05") && (title == "" || !strings.HasPrefix(text, "2026") && !strings.HasPrefix(text, "a (added 2026-01-05)\n"))
			if days := strings.Count(got, "2026-0"); own && days != 1 || own == strings.Contains(got, "2026-02-05") || p.Entry().Added == "" {
				t.Errorf("%q %q becomes %q", title, text, got)
			}
		}
	}
}

// FuzzItemText checks that an item is read with the same key and value as
// written, at any insertion point, with any text around it and any previous
// value.
func FuzzItemText(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i+7)%len(seeds)], byte(i))
	}
	for i, s := range []string{"*", "**", "***", "\\", "\\\\", "a\\", "_a_", "a:", ":", "：", "[", "]]", "[[", "[a](", "#a", "`", "``", "^a", "a ^b", "[ ] a", "(added 2026-02-05)", "{}", "[1]", "~~~", "```\n~~~", "\n", " ", "\t", "a\n", "&amp;", "<a", "<private ", "]]>", "[a](<b", "\u0085", "a\r\nb\r", "<!-- a -->", "<private>\na</private>", "-->\r\n<!--"} {
		f.Add(s, s, byte(i))
		f.Add("k", s, byte(i))
	}
	f.Fuzz(func(t *testing.T, key, value string, n byte) {
		key = strings.TrimSpace(key)
		if CheckKey(key) != nil || CheckValue(value) != nil {
			return
		}
		const path = "_longterms/owner/fact.md"
		parse := func(src []byte) *Document { return testLayout().Parse(path, src, testMeta) }
		src := []string{
			"", "---\nsubject_id: owner\n---\n", "- **a**: b <!-- id=a -->\n", "text\n\n- **a**: b\n\n# H\n\n- **c**: d\n", "* **a**: b\r\n\r\n* **x**: y",
			"1. **a**: b\n2. **x**: y\n", "# H\n- **a**: b\n", "> quote", "```\ncode", "| a |\n| - |",
		}[int(n)%10]
		put := func(d *Document, i int, value string, source string) *Document {
			p := &Put{Form: ValueForm, Title: key, Text: value, Attributes: map[string]string{"id": "new1", "source": source}}
			if err := testLayout().Fit(path, p); err != nil {
				t.Fatalf("%q = %q: %v", key, value, err)
			}
			r := d.Revise()
			if i >= 0 {
				r.Replace(i, p, testMeta.ModTime)
			} else {
				r.Insert(d.ItemInsertionPoint(), p)
			}
			out, err := r.Apply(parse)
			if err != nil && strings.HasPrefix(src, "```") {
				t.Skip() // the code block extends to the end of the file
			}
			if err != nil {
				t.Fatalf("%q = %q in %q: %v", key, value, d.Source, err)
			}
			d = parse(out)
			for i := range d.Entries {
				e := &d.Entries[i]
				if e.ID != "new1" {
					continue
				}
				if k, v, ok := e.Item(); !ok || k != key || v != value || e.Title != key || e.Source != source {
					t.Fatalf("%q = %q is read as %q = %q (title %q, source %q) in\n%s", key, value, k, v, e.Title, e.Source, out)
				}
				return d
			}
			t.Fatalf("%q = %q is not there:\n%s", key, value, out)
			return nil
		}
		d := put(parse([]byte(src)), -1, value, "s")
		at := 0
		for d.Entries[at].ID != "new1" {
			at++
		}
		d = put(d, at, fmt.Sprintf("%s%d", strings.ToUpper(strings.TrimSpace(strings.ToValidUTF8(value, ""))), n), value)
		put(d, at, value, "]] ) ` <>")
	})
}
