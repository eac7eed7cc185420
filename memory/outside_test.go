package memory

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckText(t *testing.T) {
	for _, bad := range []string{"a <!-- id=b -->", "a -->", "a\n<private>\nb", "a </PRIVATE >", "a <private", "a </private x", "a <private\n>", "a <private\u00a0>", "[Memory:LongTerm:\nSummary]", "x memwatchd:generated", "[Memory:LongTerm:Summary]\n- a", " Long-term Memory (filtered) ", "a\x00", "\x1b[31m", "\xff", "a\x7f",
		"a %%b%% c", "%%\na\n%%", "a\n%% b\n%%"} {
		if CheckText(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"", "a < b", "a\n\tb\r\nc", "<privateer>", "see [Memory: of things] there", "a - b --", "喝茶 😀",
		"%%d and %%s", "%% a", "`%%a%%`", "```mermaid\n%% a\ngraph\n%% b\n```", "100%% a%%"} {
		if err := CheckText(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// FuzzOutsideText checks that any client-supplied text is exactly one entry at
// any position and contains no structure.
func FuzzOutsideText(f *testing.F) {
	for _, s := range append(seeds, "[ ] a", "[ ]\na", "[x]: b", "1. a", "12) ", "---", "= =", "| a |\n| - |", ":-", "a\n- b\n# c", "#", "+", "* * *", "_ _ _", "~~~", "`````", "<div>", "- [ ] x", "\\- a", "a\n\n\n    b", "|-|", "a\n|-|", "a ^b", "^b", "- ^b") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckText(s) != nil || Line(s) == "" {
			return
		}
		l := testLayout()
		const path = "2026-02-04/a.md"
		for text, block := range map[string]Block{Line(s): Paragraph, ListItem(s): Item} {
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
		if CheckText(title) != nil || CheckText(text) != nil || Line(text) == "" {
			return
		}
		comment := newComment([]Attribute{{"id", "k1"}, {"visibility", "private_only"}, {"source", "a`\"'b"}})
		forms := DatedForms(title, text, "", comment)
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
			case e.Block != Item, e.ID != "k1", !e.Given, e.Partition.Visibility != PrivateOnly, e.Source != "a`\"'b", len(e.Attributes) != 3, len(e.Tasks) > 0, e.Pin, e.Importance > 0,
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
		if CheckText(s) != nil || HeadingText(s) == "" {
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

// TestLineUnbroken checks that a line break after wide punctuation is removed
// without a space, because the wide glyph includes the space.
func TestLineUnbroken(t *testing.T) {
	for text, want := range map[string]string{
		"one,\ntwo":         "one, two",
		"坐地铁，\n在南站下车":       "坐地铁，在南站下车",
		"结束。 \r\n\r\n Rust": "结束。Rust",
		"（一）\r（二）":          "（一）（二）",
		"买牛奶\n买鸡蛋":          "买牛奶 买鸡蛋",
		"它说， 好":             "它说， 好",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) is %q, want %q", text, got, want)
		}
	}
}
