package memory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// writtenForm returns the first form of a text that parses to one entry with this
// content and with an attribute, between other blocks.
func writtenForm(text string, item bool) (string, bool) {
	l := testLayout()
	for _, form := range WriteForms(text, item) {
		space := " "
		if strings.Contains(form, "\n") {
			space = "\n  "
		}
		source := "# Day\n\n## 10:00\n- above\n\n## 10:01\n" + form + space + "<!-- source=cli -->\n\n## 10:02\nbelow\n"
		d := l.Parse("memory/2026-02-04.md", []byte(source), testMeta)
		if len(d.Entries) == 3 && d.Entries[1].Source == "cli" && d.Entries[1].Content() == TrimText(text) {
			return form, true
		}
	}
	return "", false
}

// TestWriteForms checks that texts come back from their blocks byte for byte.
func TestWriteForms(t *testing.T) {
	for _, text := range []string{
		"a note", "two  spaces\tand a tab", "# not a heading", "1. not a list", `\# a backslash`, `1\. a backslash`, "- a dash",
		"[ ] not a task", `\[ ] a backslash`, "a ^anchor", `a \^anchor`, "---", "===", "| a |", "    indented", "#tag",
		"one\ntwo", "one\n\ntwo", "[ ] one\ntwo", `\[ ] one` + "\ntwo", "- one\n- two", "1. one\n2. two", "---\ntwo",
		"# one\ntwo", "one\n---\ntwo", "```\none\n```", "```go\nfunc f() {\n\treturn\n}\n```", "~~~\n\n\n~~~\ntwo",
		"    indented\n    code\n\ntext", "one\n\n    code", "| a | b |\n|---|---|\n| 1 | 2 |", "> quoted\n> twice",
		"one  \ntwo", "one\\\ntwo", "- [ ] one\n- [x] two", "一二三\n四五六", "one\r\ntwo\r\n", "\n\n  one\n two\n", "\tone\ntwo",
		"```\n<!-- visibility=public_ok -->\n```", "- one\n  - two\n    - three\n- four", "one\n\n\n\ntwo",
	} {
		if form, ok := writtenForm(text, false); !ok {
			t.Errorf("%q does not come back from any of %q", text, WriteForms(text, false))
		} else if !strings.Contains(TrimText(text), "\n") && strings.HasPrefix(form, "-\n") && !strings.HasPrefix(text, `\`) && !strings.HasPrefix(text, `1\`) && text != `a \^anchor` {
			t.Errorf("%q becomes %q", text, form)
		}
		if _, ok := writtenForm(text, true); !ok {
			t.Errorf("%q does not come back from an item", text)
		}
	}
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
		if _, ok := writtenForm(text, false); !ok {
			t.Errorf("note %d does not come back:\n%s", i, text)
		}
		for _, title := range []string{"", "Proxy"} {
			want := TrimText(text)
			if title != "" && !strings.Contains(want, "\n") {
				want = "**" + title + "**: " + want
			}
			for _, marker := range []string{"-", "*", "12."} {
				form := DatedForms(title, text, "2026-02-05", "<!-- source=cli -->")[0]
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
