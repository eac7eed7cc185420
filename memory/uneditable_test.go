package memory

import (
	"strings"
	"testing"
)

// TestUneditable checks that files of forms that are read but never changed show their entries,
// hide them if a mark anywhere asks for that, and refuse every change with the file, the
// reason and a remedy.
func TestUneditable(t *testing.T) {
	const nested = "- a\n- b\n- [ ] c\n"
	deep := strings.Repeat("- ", maxDepth) + "d\n"
	const (
		ending    = "Save the file with the line endings LF or CRLF"
		misplaced = "remove the space above it"
		indent    = "Indent them less"
	)
	for _, test := range []struct {
		name, source string
		entries      int
		public       bool
		reason       string
	}{
		{"CR", "- a\r- b\r- [ ] c\r", 3, true, ending},
		{"one CR", "- a\n- b\r- [ ] c\n", 3, true, ending},
		{"CR at the end", "- a\r\n- b\r\n- [ ] c\r", 3, true, ending},
		{"CR CR LF", "- a\r\r\n- b\r\r\n- [ ] c\r\r\n", 3, true, ending},
		{"CR in a line", "- a\n- 10%\r    20%\n- [ ] c\n", 3, true, ending},
		{"attribute below CR", "- a\r- b <!-- visibility=private_only -->\r- [ ] c\r", 3, false, ending},
		{"tag below CR", "- a\n- b\r<private>\r- [ ] c\n</private>\n", 3, false, ending},
		{"frontmatter with CR", "---\rvisibility: private_only\r---\r- a\r- b\r- [ ] c\r", 3, false, ending},
		{"deep list", nested + deep, 4, false, indent},
		{"deep quote", nested + strings.Repeat("> ", maxDepth+9) + "d\n", 4, false, indent},
		{"deep mix", nested + strings.Repeat("> 1. ", maxDepth/2) + "d\n", 4, false, indent},
		{"deep mark", nested + deep[:len(deep)-2] + "- d <!-- visibility=private_only -->\n", 4, false, indent},
		{"frontmatter below a line", "\n---\nvisibility: private_only\n---\n" + nested, 3, false, misplaced},
		{"frontmatter below spaces", "  \r\n\t\r\n---\r\nsummary: x\r\n---\r\n- a\r\n- b\r\n- [ ] c\r\n", 3, false, misplaced},
		{"indented frontmatter", "  ---\n  x: y\nvisibility: private_only\n---\n" + nested, 3, false, misplaced},
		{"frontmatter below a mark", "\ufeff\n---\nsubject_id: x\n---\n" + nested, 3, false, misplaced},
		{"unclosed frontmatter", "\n---\nvisibility: private_only\n\n" + nested, 4, false, misplaced},
	} {
		t.Run(test.name, func(t *testing.T) {
			parse := func(b []byte) *Document { return testLayout().Parse("2026-02-04/a.md", b, testMeta) }
			d := parse([]byte(test.source))
			if len(d.Entries) != test.entries || (d.Partition.Visibility == PublicOK) != test.public {
				t.Fatalf("read as %v, %+v", d.Partition, d.Entries)
			}
			task := 0
			for len(d.Entries[task].Tasks) == 0 {
				task++
			}
			put := &Put{Form: FactForm, Text: "new"}
			for name, change := range map[string]func(*Revision){
				"tick":      func(r *Revision) { r.SetTask(task, 0, Done) },
				"field":     func(r *Revision) { r.SetField("summary", "new") },
				"attribute": func(r *Revision) { r.SetAttribute(0, "id", "new") },
				"remove":    func(r *Revision) { r.Remove(0) },
				"lines":     func(r *Revision) { r.RemoveLines(0, [][2]int{{d.Entries[0].Line, d.Entries[0].Line}}) },
				"replace":   func(r *Revision) { r.Replace(0, put, testMeta.ModTime) },
				"insert":    func(r *Revision) { r.Insert(0, put) },
				"append":    func(r *Revision) { r.Append([]string{"Tasks"}, put) },
			} {
				r := d.Revise()
				change(r)
				out, err := r.Apply(parse)
				checkRefusal(t, name, out, err, "edit 2026-02-04/a.md: ", test.reason)
			}
			out, err := d.Rewrite(d.OwnView(), "new\n", parse)
			checkRefusal(t, "rewrite", out, err, ErrUnwritable.Error(), test.reason)
			if s, err := d.Split(func(_ string, b []byte) *Document { return parse(b) }); s != nil {
				t.Errorf("split into %+v, %v", s, err)
			}
			ours := strings.Replace(test.source, "- a", "- A", 1)
			m := testLayout().MergeVersions("2026-02-04/a.md", []byte(test.source), []byte(ours), []byte(test.source+"- e\n"))
			if out, err := m.Text(KeepOurs); err == nil {
				t.Errorf("merged as %q", out)
			}
			// A change of a sound file must not make it such a file.
			if test.public || test.reason == indent {
				sound := parse([]byte("- a\n"))
				r := sound.Revise()
				r.AppendVerbatim(nil, strings.TrimPrefix(test.source, "- a"))
				if out, err := r.Apply(parse); err == nil {
					t.Errorf("writes %q", out)
				}
			}
		})
	}
}

func checkRefusal(t *testing.T, change string, out []byte, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: writes %q", change, out)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, without %q", change, err, part)
		}
	}
}
