package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestItemText checks the written form of items.
func TestItemText(t *testing.T) {
	at := []Attribute{{"id", "k3f9"}, {"visibility", "private_only"}, {"confidence", ""}, {"source", "msg:42 a"}}
	const comment = " <!-- id=k3f9 visibility=private_only source=msg:42%20a -->"
	for _, c := range []struct{ key, value, want string }{
		{"timezone", "Asia/Shanghai", "- **timezone**: Asia/Shanghai" + comment},
		{"empty", "", "- **empty**:" + comment},
		{"a * b_c_ #1 C# [x] `y` <z> \\d", "v", `- **a \* b_c\_ \#1 C# \[x\] \` + "`y\\`" + ` \<z> \\d**: v` + comment},
		{"city:", ": x", "- **city:**: : x" + comment},
		{"城市：", "北京", "- **城市：**: 北京" + comment},
		{"n", "- [ ] # 1. > x", "- **n**: - [ ] # 1. > x" + comment},
		{"json", `{"a": [1]}`, "- **json**:" + comment + "\n  ```json\n  {\"a\": [1]}\n  ```"},
		{"text", `"a"`, `- **text**: "a"` + comment},
		{"lines", "a\n\n  ```\n b\n", "- **lines**:" + comment + "\n  ````\n  a\n\n    ```\n   b\n\n  ````"},
		{"blank", " x ", "- **blank**:" + comment + "\n  ```\n   x \n  ```"},
		{"anchor", "x ^a1", "- **anchor**:" + comment + "\n  ```\n  x ^a1\n  ```"},
	} {
		got, err := (&Document{}).ItemText(-1, c.key, c.value, at)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q = %q (-want +got): %v\n%s", c.key, c.value, err, diff)
		}
	}
	for value, want := range map[string]string{
		"a\r\nb": `"a\r\nb"`, "a\rb": `"a\rb"`, "x <!-- y -->": `"x \u003c!-- y --\u003e"`, "-->": `"--\u003e"`, "<private>": `"\u003cprivate\u003e"`,
		"see <private stuff": `"see \u003cprivate stuff"`, "memwatchd:generated": `"memwatchd:generated"`, "# a\r\n- [ ] **b** `c` #d": "\"# a\\r\\n- [ ] **b** `c` #d\"",
	} {
		want = "- **k**: " + want + strings.Replace(comment, " -->", " encoding=json -->", 1)
		if got, err := (&Document{}).ItemText(-1, "k", value, at); got != want || err != nil {
			t.Errorf("%q is written as %q, want %q, %v", value, got, want, err)
		}
	}
	for value, says := range map[string]string{"a\n[Memory:X]\nb": "injected", "\x00": "control character", "\xff": "UTF-8"} {
		if got, err := (&Document{}).ItemText(-1, "k", value, at); !errors.Is(err, ErrText) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is written as %q, %v", value, got, err)
		}
	}
}

// TestItemTextKeeps checks that a new value keeps the item's box and the
// attributes that are not given.
func TestItemTextKeeps(t *testing.T) {
	src := "- [x] **a**: 1 <!-- pin Id=a1 Source=x%20y confidence=0.5 mine=2 -->\n* **b**: 1 ^b1\n"
	d := testLayout().Parse("_longterms/owner/fact.md", []byte(src), testMeta)
	for i, want := range []string{
		"- [x] **a**: 2 <!-- pin Id=a1 Source=z mine=2 visibility=public_ok -->",
		"- **b**: 2 <!-- source=z visibility=public_ok -->",
	} {
		key, value, ok := d.Entries[i].Item()
		if !ok || value != "1" {
			t.Errorf("%d is read as %q = %q", i, key, value)
		}
		got, err := d.ItemText(i, key, "2", []Attribute{{"source", "z"}, {"confidence", ""}, {"visibility", "public_ok"}})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q (-want +got): %v\n%s", key, err, diff)
		}
	}
}

func TestCheckKey(t *testing.T) {
	for _, bad := range []string{"", " a", "a ", "a\nb", "a\tb", "a\u2028b", "a\u0085b", "a -->", "<private>", "\xff", strings.Repeat("a", MaxKey+1)} {
		if CheckKey(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"a", "a b", "**", ":", "：", "_", "\\", "- [ ] x", "喝茶 😀", strings.Repeat("a", MaxKey)} {
		if err := CheckKey(good); err != nil {
			t.Errorf("%q: %v", good, err)
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
			text, err := d.ItemText(i, key, value, []Attribute{{"id", "new1"}, {"source", source}})
			if err != nil {
				t.Fatalf("%q = %q: %v", key, value, err)
			}
			r := d.Revise()
			if i >= 0 {
				r.Replace(i, text)
			} else {
				r.Insert(d.ItemInsertionPoint(PrivateOnly), text)
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
