package memory

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestRevisionGolden compares results with the archives in testdata/revise.
// Each contains files, each followed by revisions and their results. A revision
// consists of lines like
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
//
// The pictures for invisible bytes are those of testdata/parse.
func TestRevisionGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/revise/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var d *Document
			var parse func([]byte) *Document
			for i := 0; i < len(a.Files); i++ {
				f := a.Files[i]
				if f.Name != "edit" && f.Name != "→" {
					parse = func(b []byte) *Document { return testLayout().Parse(f.Name, b, testMeta) }
					d = parse(decodePicture(f.Data))
					continue
				}
				got := applyScript(t, d, string(f.Data), parse)
				i++
				if i == len(a.Files) || a.Files[i].Name != "→" {
					a.Files = slices.Insert(a.Files, i, txtar.File{Name: "→"})
				}
				if *update {
					a.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(a.Files[i].Data), got); diff != "" {
					t.Errorf("%s, %s(-want +got):\n%s", d.Place.Path, f.Data, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// applyScript returns the result of a revision of a document, with pictures.
func applyScript(t *testing.T, d *Document, script string, parse func([]byte) *Document) string {
	t.Helper()
	r := d.Revise()
	for line := range strings.Lines(script) {
		words := splitWords(t, line)
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
			r.Replace(entry(args[0]), args[1])
		case "insert":
			r.Insert(entry(args[0]), args[1])
		case "append":
			r.Append(args[:len(args)-1], args[len(args)-1])
		case "section":
			r.AppendSection(args[0], args[1:]...)
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
	return encodePicture(out)
}

func splitWords(t *testing.T, line string) (words []string) {
	t.Helper()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, _ := strconv.Unquote(quoted)
			words, line = append(words, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		words, line = append(words, word), rest
	}
	if len(words) == 0 {
		t.Fatal("an empty line in an edit")
	}
	return words
}

// encodePicture is the inverse of unpicture.
func encodePicture(b []byte) string {
	s := strings.NewReplacer("\r\n", "␍␊\n", "\r", "␍\n", "\x00", "␀", "\xff", "⌧").Replace(string(b))
	if !bytes.HasSuffix(b, []byte("\n")) && !strings.HasSuffix(s, "␍\n") {
		s += "␤\n"
	}
	return s
}

// TestRevisionErrors checks that a revision of an excerpt fails, and that
// invalid changes fail.
func TestRevisionErrors(t *testing.T) {
	l := testLayout()
	parse := func(b []byte) *Document { return l.Parse("2026-02-04/a.md", b, testMeta) }
	d := parse([]byte("- [ ] a\n- b <!-- visibility=private_only -->\n"))
	for what, c := range map[string]struct {
		d    *Document
		wish func(*Revision)
	}{
		"an excerpt":             {d.Excerpt(), func(r *Revision) { r.SetTask(0, 0, Done) }},
		"no such entry":          {d, func(r *Revision) { r.Remove(2) }},
		"no such task":           {d, func(r *Revision) { r.SetTask(1, 0, Done) }},
		"no such entry to go on": {d, func(r *Revision) { r.Insert(7, "- x") }},
		"replaced by nothing":    {d, func(r *Revision) { r.Replace(0, "") }},
		"replaced and ticked":    {d, func(r *Revision) { r.Replace(0, "- x"); r.SetTask(0, 0, Done) }},
		"below what goes":        {d, func(r *Revision) { r.Remove(0); r.Insert(0, "- x") }},
		"no value":               {d, func(r *Revision) { r.SetAttribute(0, "id", "\xff") }},
		"too deep":               {d, func(r *Revision) { r.Append([]string{"1", "2", "3", "4", "5", "6"}, "- x") }},
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

// TestCountersTellOfNoPrivateTasks checks that a public counter does not count
// private tasks. Otherwise it would reveal them when a box is ticked.
func TestCountersTellOfNoPrivateTasks(t *testing.T) {
	const body = "## Tasks\n- [x] a\n- [ ] b <!-- visibility=private_only -->\n- [ ] c\n"
	for front, want := range map[string]string{
		"tasks: 0/9\n":                           "tasks: 1/2\n",
		"visibility: private_only\ntasks: 0/9\n": "visibility: private_only\ntasks: 1/3\n",
	} {
		l := testLayout()
		parse := func(b []byte) *Document { return l.Parse("2026-02-04/a.md", b, testMeta) }
		rev := parse([]byte("---\n" + front + "---\n" + body)).Revise()
		rev.SetCounters()
		out, err := rev.Apply(parse)
		if err != nil {
			t.Fatal(err)
		}
		if want := "---\n" + want + "---\n" + body; string(out) != want {
			t.Errorf("the file is %q, want %q", out, want)
		}
		for _, p := range parse(out).Problems {
			if p.Code == CounterWrong {
				t.Errorf("%q: %s", out, p.Message)
			}
		}
	}
}
