package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
)

// TestEverySortOfNameIsKnown checks that each sort of name in a parameter tag
// can be completed.
func TestEverySortOfNameIsKnown(t *testing.T) {
	known := []string{"path", "subject", "session", "section", "tag"}
	for sort := range nameSources {
		known = append(known, sort)
	}
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			if p.Complete != "" && !slices.Contains(known, p.Complete) {
				t.Errorf("%s of %s names a %q, of which nobody knows what that is", p.Name, op.Name, p.Complete)
			}
		}
	}
}

// defaultBreaks are the default word-break characters of bash.
const defaultBreaks = " \t\n\"'><=;|&(:"

func TestBashWords(t *testing.T) {
	for _, c := range []struct {
		line  string
		words string
		text  string
		head  int
		quote byte
	}{
		{`memwatchd get not`, "memwatchd|get", "not", 0, 0},
		{`memwatchd get `, "memwatchd|get", "", 0, 0},
		{`memwatchd  get  a\ b c\ `, "memwatchd|get|a b", "c ", 0, 0},
		{`memwatchd get 'a b' 'c "d`, "memwatchd|get|a b", `c "d`, 0, '\''},
		{`memwatchd get "a\"b\c" "d\$e`, `memwatchd|get|a"b\c`, "d$e", 0, '"'},
		{`memwatchd get ab'c d`, "memwatchd|get", "abc d", 2, '\''},
		{`memwatchd get 'a'b`, "memwatchd|get", "ab", 0, 0},
		{`memwatchd '' x`, "memwatchd|", "x", 0, 0},
		{`memwatchd --subject acct:4`, "memwatchd|--subject", "acct:4", 5, 0},
		{`memwatchd --subject acct\:4`, "memwatchd|--subject", "acct:4", 0, 0},
		{`memwatchd --subject 'acct:4`, "memwatchd|--subject", "acct:4", 0, '\''},
		{`memwatchd --subject=acct:4`, "memwatchd", "--subject=acct:4", 15, 0},
		{`memwatchd get 引:用`, "memwatchd|get", "引:用", 4, 0},
		{`memwatchd get 2>err x`, "memwatchd|get|2", "x", 0, 0},
		{`memwatchd get x\`, "memwatchd|get", `x\`, 0, 0},
	} {
		words, last := parseBash(c.line, defaultBreaks)
		if got := strings.Join(words, "|"); got != c.words || last.text != c.text || last.head != c.head || last.quote != c.quote || last.file {
			t.Errorf("%s: %q and %+v", c.line, got, last)
		}
	}
	if _, last := parseBash("memwatchd get x > f", defaultBreaks); !last.file {
		t.Error("what is redirected to is taken for an argument")
	}
}

func TestBashReplies(t *testing.T) {
	list := []candidate{{"notes/a b.md", ""}, {"notes/it's", ""}, {"hm!!rm $(x)`y`", ""}, {"acct:42", "somebody"}, {"acct:43", "somebody else, of whom much could be said"}}
	for _, c := range []struct {
		typed   string
		columns int
		want    []string
	}{
		{"notes/a", 80, []string{`notes/a\ b.md`}},
		{"'notes/i", 80, []string{`notes/it'\''s`}},
		{"hm", 80, []string{"hm\\!\\!rm\\ \\$\\(x\\)\\`y\\`"}},
		{"'hm", 80, []string{"hm!!rm $(x)`y`"}},
		{`"hm`, 80, []string{"hm\"'!'\"\"'!'\"rm \\$(x)\\`y\\`"}},
		{"acct:42", 80, []string{"42"}},
		{"acct:", 80, []string{"42  (somebody)", "43  (somebody else, of whom much could be said)"}},
		{"acct:", 24, []string{"42  (somebody)", "43  (somebody else, o…)"}},
		{"acct:", 0, []string{"42", "43"}},
		{"NOTES/A", 80, []string{`notes/a\ b.md`}},
		{"t's", 80, nil},
		{`t\'s`, 80, []string{`notes/it\'s`}},
		{"x:A", 80, nil},
	} {
		_, last := parseBash("memwatchd x "+c.typed, defaultBreaks)
		if diff := cmp.Diff(c.want, last.buildReplies(list, c.columns)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.typed, diff)
		}
	}
}

// FuzzBashQuoting checks that a completion inserted into a partial word, with
// any quoting, gives the chosen name.
func FuzzBashQuoting(f *testing.F) {
	for _, s := range []string{"a b", "it's", `"q"`, "$(x)`y`", "acct:42", "引用 注", "~#!&|;<>*?[]{}^\\", "=a=b"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, text string, typed int) {
		if strings.ContainsAny(text, "\n\t") || strings.HasPrefix(text, "-") || text == "" {
			return // not a completion: shells get no line breaks or tabs, and no flags
		}
		typed = min(max(typed, 0), len(text))
		for _, quote := range []string{"", "'", `"`} {
			w := bashWord{}
			if quote != "" {
				w.quote = quote[0]
			}
			raw := quote + w.quoteText(text[:typed])
			words, last := parseBash("memwatchd get "+raw, defaultBreaks)
			if last.text != text[:typed] || len(words) != 2 {
				t.Fatalf("%s is read as %q", raw, last.text)
			}
			replies := last.buildReplies([]candidate{{text: text}}, 80)
			if len(replies) != 1 {
				t.Fatalf("%s may be %q", raw, replies)
			}
			// Bash replaces the rest of the word and closes the quotation.
			kept, _ := retainedPrefix(raw, last)
			_, done := parseBash("memwatchd get "+kept+replies[0]+string(bytes.Trim([]byte{last.quote}, "\x00")), defaultBreaks)
			if done.text != text || done.quote != 0 {
				t.Fatalf("%s becomes %s, which is %q and not %q", raw, kept+replies[0], done.text, text)
			}
		}
	})
}

// retainedPrefix returns the part of a word that bash keeps: the longest prefix whose
// unquoted text is the head.
func retainedPrefix(raw string, w bashWord) (kept string, ok bool) {
	for i := len(raw); i >= 0; i-- {
		_, part := parseBash("memwatchd get "+raw[:i], defaultBreaks)
		if len(part.text) == w.head && part.head == w.head && part.quote == w.quote {
			return raw[:i], true
		}
	}
	return "", false
}
