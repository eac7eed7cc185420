package ops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// An arbitraryWrite is an operation that writes to a file with arbitrary content. All
// text that it writes contains the word zebra, which no such file contains.
type arbitraryWrite struct {
	name, path string
	subject    string   // of the caller; the owner if empty
	appends    bool     // the new content must start with the old one
	head       string   // fixed start of the file
	front      []string // keys of the frontmatter that it may change
	run        func(*testing.T, *Memory, Call) error
}

var completed = []string{"created_at", "updated_at", "summary", "tasks", "follow_ups", "session_id", "subject_id", "source", "channel"}

var arbitraryWrites = []arbitraryWrite{
	{name: "note", path: "memory/2026-02-05.md", appends: true, run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().note(t.Context(), c, &api.NoteRequest{Text: "zebra one", Topic: "zebra", Tags: []string{"zebra"}})
		return err
	}},
	{name: "capture", path: "memory/2026-02-05.md", appends: true, run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().capture(t.Context(), c, &api.CaptureRequest{Bullets: []string{"zebra one", "- zebra two"}, Visibility: "public_ok"})
		return err
	}},
	{name: "session", path: "2026-02-05/cli.md", front: completed, run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().session(t.Context(), c, &api.SessionRequest{Session: "cli", Draft: api.Draft{
			Summary: "zebra", Facts: []api.DraftItem{{Title: "zebra", Text: "zebra\nzebra too"}}, Tasks: []api.DraftTask{{Text: "zebra one"}, {Text: "zebra two", Done: true}},
			FollowUps: []api.DraftTask{{Text: "zebra three"}}, Links: []api.DraftLink{{Text: "zebra", Target: "zebra.md"}},
			Items: map[string][]api.DraftItem{"A": {{Text: "zebra four"}}},
		}})
		return err
	}},
	{name: "remember", path: "_longterms/owner/_index.md", front: completed, run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().remember(t.Context(), c, &api.RememberRequest{Title: "zebra", Text: "zebra\nlikes zebras", Explicit: true})
		return err
	}},
	{name: "remember", path: "MEMORY.md", run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().remember(t.Context(), c, &api.RememberRequest{Text: "zebra", Section: "A", Explicit: true})
		return err
	}},
	{name: "item_put", path: "_longterms/owner/fact.md", run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "zebra", Value: new("zebra\nzebra too")})
		return err
	}},
	{name: "item_put", path: "_longterms/acct_42/fact.md", subject: "acct:42", run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "zebra", Value: new(`{"zebra": [1, 2]}`), Visibility: "public_ok"})
		return err
	}},
	{name: "profile", path: "_longterms/owner/profile.md", run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().profile(t.Context(), c, &api.ProfileRequest{Name: "zebra", Text: "likes zebras", Basis: api.Basis{Evidence: []string{"https://example.com"}}})
		return err
	}},
	{name: "project", path: "_longterms/owner/project.md", run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().project(t.Context(), c, &api.ProjectRequest{Name: "zebra", Text: "likes zebras", Basis: api.Basis{Evidence: []string{"https://example.com"}, Visibility: "public_ok"}})
		return err
	}},
	{name: "note", path: "2026-02-05/acct_42.md", subject: "acct:42", head: "---\nsubject_id: acct:42\n---\n", appends: true, run: func(t *testing.T, m *Memory, c Call) error {
		_, err := m.adminOps().note(t.Context(), c, &api.NoteRequest{Text: "zebra one", Visibility: "public_ok"})
		return err
	}},
}

// arbitraryFiles holds contents that people may have written. The generator joins
// one or more of them.
var arbitraryFiles = []string{
	"", "\n", "x", "---\n", "---\n---\n", "---\n---", "\n---\na: b\n---\n", "----\na: b\n----\n", "---\na: b\n...\n- x\n", "---\n- a\n- b\n---\n", "---\njust words\n---\n",
	"---\n{\"a\": 1, \"tasks\": \"0/9\"}\n---\n- x\n", "+++\na = 1\n+++\n", "---\na: 1\na: 2\n---\n", "---\na: &x [1]\nb: *x\n---\n", "---\na: [\n---\n", " ---\na: b\n---\n",
	"---\nsummary: |\n  a\n\n  b\n# c\ntasks: '1/2' # c\n---\n\n# T\n", "---\nsummary: >-\n  a\nupdated_at: [2026]\n---\n- x\n", "---\nsummary: \"a\n  b\"\nfollow_ups:\n---\n- x\n", "---\nvisibility: private_only\n---\n# A\n- x\n",
	"---\nsession_id: cli\ntags: [a, b]\n---\n\n# A\n\n## Tasks\n\n- [ ] a\n", "---\nupdated_at: {a: b}\nsummary: {a: [b]}\n---\n- x\n", "---\nsubject_id: acct:42\n---\n- x\n", "---\nsubject_id: owner\n---\n- **k**: v\n",
	"Setext\n===\n\nA\n---\n- x\n", "A\n-\n", "- A\n  ---\n- b\n", "text\n***\n", "|a|b|\n|-|-|\n|c|d|\n", "|a|\n|-|\n|c|\n- x\n|e|\n", "```\n- a\n", "~~~ md\n## A\n~~~\n- x\n", "````\n```\n# A\n````", "- a\n\n  ```\n  - b\n",
	"<!-- a\n- b\n", "<!-- a -->\n- b <!-- id=b -->\n<!-- c\n\nd -->\n", "<private>\n- a\n", "<private>\n- a\n</private>\n- b\n", "- a <private>b</private>\n", "# A\n<private>\n## A\n- x\n</private>\n", memory.GeneratedOpen + "\n- a\n" + memory.GeneratedClose + "\n", memory.GeneratedOpen + "\n- a\n",
	"# A\n## A\n- a\n# A\n- b\n## A\n- c\n", "- # A\n- ## Tasks\n  - [ ] b\n", "> # A\n> - b\n>\n> ## Tasks\n", "<div>\n- a\n</div>\n", "<div>\n\n- a\n", "<pre>\n# A\n\n- a\n", "<script>\n- a\n", "<?php\n- a\n", "<a>\n- b\n",
	"[a]: /x\n", "- [a]\n\n[a]: /x\n  'title'\n", "[zoo]: <x>\n[a]: /y \"t\n", "- a[^1]\n\n[^1]: note\n", "[^1]: note\n    more\n\n    - x\n", "- a ^anchor\n", "1. a\n2. b\n", "1) a\n", "9. a\n10. b\n", "* a\n+ b\n- c\n", "- a\n\n- b\n", "-\ta\n\t- b\n", "- \n-\n", "-\n\n  a\n",
	"    code\n", "\tcode\n", "a\n    lazy\n", "- a\nlazy\n", "> a\nlazy\n", "a  \n", "a\\\n", "a\n\n\n\n", "---", "- - - a\n", "* * *\n", "===\n", "#\n", "## \n", "####### a\n", "# A #\n", "#A\n", "## Tasks\n", "## Tasks\n\n## Follow Ups\n", "## Key Facts\n***\nfoot\n", "# A\n- x\n\n---\n\nfoot\n",
	"- **k**: v <!-- id=a visibility=public_ok -->\n", "- **k**: v <!-- visibility=private_only -->\n", "## A <!-- visibility=private_only -->\n- x\n", "- 中文\u2028b\n", "\u0085a\n", "a\fb\vc\n", "a\x00b\n", "a\u00a0\n\u200b\n", "\ufeffa\n", "- [x] a\n  - [ ] b\n    - [x] c\n", "- [ ]\n", "[Memory:x]\n", "&amp; &#10;\n",
	"# A\n\n" + strings.Repeat("- x\n", 30), strings.Repeat("> ", 60) + "a\n", strings.Repeat("- ", 60) + "a\n", strings.Repeat("[", 500) + "\n", strings.Repeat("# A\n", 9),
	"## 10:30 AM - a\n\n- b\n", "# 2026-02-05\n\n## 10:30 AM - a\n\nb\n\n## 22:30 - c\n\nd\n", "---\ntasks: 0/0\nfollow_ups: 1/1\nsummary:\nsession_id: \"cli\"\n---\n\n# 2026-02-05 Short-Term Memory\n\n## Temporary Facts\n\n- **zoo**: a\n\n## Tasks\n\n- [ ] a\n\n## Related Links\n- [a](b)\n",
}

// textFragments are fragments smaller than a line.
var textFragments = strings.Split("\n,\n,\n, ,  ,    ,\t,- ,-,* ,1. ,2) ,> ,#,# ,## ,a,b c,|,|-|,:-,---,***,===,```,~~~,<div>,</div>,<!--,-->,<!-- x -->,<private>,</private>,[ ] ,[x] ,[,](,),`,``,**,_,\\,\r,^a,#t ,<?,?>,<pre>,</pre>", ",")

// arbitraryFile returns a generated file, with variations that editors and other
// programs introduce.
func arbitraryFile(r *rand.Rand) string {
	text := arbitraryFiles[r.IntN(len(arbitraryFiles))]
	if r.IntN(3) == 0 { // unrealistic content
		for range 1 + r.IntN(12) {
			text += textFragments[r.IntN(len(textFragments))]
		}
	}
	for r.IntN(3) > 0 {
		text += []string{"", "\n", "\n\n"}[r.IntN(3)] + arbitraryFiles[r.IntN(len(arbitraryFiles))]
	}
	switch r.IntN(8) {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = "\ufeff" + text
	case 2:
		text = strings.TrimRight(text, "\n")
	case 3:
		text = strings.Replace(text, "\n", "\r\n", 1+r.IntN(3))
	case 4:
		text = strings.ReplaceAll(text, "\n", "\r")
	}
	return text
}

func TestTheirFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	n := uint64(600)
	for i := range arbitraryWrites {
		op := &arbitraryWrites[i]
		t.Run(fmt.Sprint(op.name, " ", strings.ReplaceAll(op.path, "/", " ")), func(t *testing.T) {
			t.Parallel()
			done := 0
			d := readOpsCase(t, &txtar.Archive{}).disk(t)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(d.dir, op.path)), 0o700); err != nil {
				t.Fatal(err)
			}
			for seed := range n / uint64(len(arbitraryWrites)) {
				text := arbitraryFile(rand.New(rand.NewPCG(seed, uint64(i))))
				text = op.head + text
				if op.runOn(t, d, text) {
					done++
				}
			}
			t.Logf("%d of %d were written", done, n/uint64(len(arbitraryWrites)))
		})
	}
}

// runOn runs the operation on a file and reports whether the file was written.
func (op *arbitraryWrite) runOn(t *testing.T, d *diskCase, text string) (done bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, op.path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	who := "owner"
	if op.subject != "" {
		who = op.subject
	}
	c := d.callAs(t, who, "private")
	start := time.Now()
	err := op.run(t, d.memory, c)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%s took %v on %.200q", op.name, took, text)
	}
	source := d.read(t, op.path)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %s: %s\n%.3000q\n=>\n%.3000q", op.name, op.path, fmt.Sprintf(format, args...), text, source)
	}
	if err != nil {
		e := asError(err)
		if !slices.Contains([]api.Code{api.Conflict, api.Invalid, api.Busy, api.SubjectConflict, api.Limit, api.TooLarge}, e.Code) || e.Message == "" {
			fail("is refused with %s %v", e.Code, err)
		}
		if source != text {
			fail("is refused, and written to: %v", err)
		}
		return false
	}
	if source == text {
		if op.name != "session" && !strings.HasPrefix(op.path, "2026") { // these may use another file
			fail("nothing is written, and nobody is told")
		}
		return false
	}
	if op.appends && !strings.HasPrefix(source, text) && strings.TrimSpace(text) != "" { // a blank file gets new initial content
		fail("what was there is not there as it was")
	}
	op.checkPreserved(t, d, text, source, fail)
	undoer := &vault.Undoer{Writer: d.memory.Writer}
	last := d.memory.Writer.Journal.List(time.Time{}, op.path, 1)
	if _, err := undoer.Undo(t.Context(), last[0].ID, false); err != nil {
		fail("cannot be undone: %v", err)
	}
	if got := d.read(t, op.path); got != text {
		fail("is undone to %.2000q", got)
	}
	return true
}

// read returns the content of a file.
func (d *diskCase) read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkPreserved compares a file with its old content. Every line must be present, in
// order and with its ending, except fields that may change. New lines must
// contain zebra or be headings. Every old entry must have the same text and the
// same readers.
func (op *arbitraryWrite) checkPreserved(t *testing.T, d *diskCase, text, source string, fail func(string, ...any)) {
	t.Helper()
	was, is := d.parseAt(op.path, text), d.parseAt(op.path, source)
	if is.Unsound {
		fail("is not sound any more: %s", is.WhyUnsound())
	}
	for _, f := range was.Front.Fields {
		if now, _ := is.Front.Field(f.Key); !slices.Contains(op.front, f.Key) && fmt.Sprint(now.Value) != fmt.Sprint(f.Value) {
			fail("%s of the frontmatter was %v and is %v", f.Key, f.Value, now.Value)
		}
	}
	for _, f := range is.Front.Fields {
		if _, ok := was.Front.Field(f.Key); !ok && !slices.Contains(op.front, f.Key) {
			fail("%s of the frontmatter is new", f.Key)
		}
	}
	body := func(doc *memory.Document) []string {
		return slices.DeleteFunc(endedLine.FindAllString(strings.TrimPrefix(string(doc.Source[doc.Front.Span.End:]), "\ufeff"), -1), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	rest := body(is)
	ended := regexp.MustCompile(`[\r\n]$`)
	for i, line := range body(was) {
		at := slices.Index(rest, line)
		if at < 0 && !ended.MatchString(line) { // it was the last line
			at = slices.IndexFunc(rest, func(s string) bool { return strings.TrimRight(s, "\r\n") == line })
		}
		if at < 0 {
			fail("line %d of the text is lost: %q", i, line)
			return
		}
		for _, fresh := range rest[:at] {
			op.checkNewLine(fresh, fail)
		}
		rest = rest[at+1:]
	}
	for _, fresh := range rest {
		op.checkNewLine(fresh, fail)
	}
	var next []memory.Entry
	for _, e := range is.Entries {
		if !strings.Contains(e.Text+fmt.Sprint(e.Sections), "zebra") {
			next = append(next, e)
		}
	}
	var old []memory.Entry
	for _, e := range was.Entries {
		if e.Block != memory.EmptyHeading {
			old = append(old, e)
		}
	}
	next = slices.DeleteFunc(next, func(e memory.Entry) bool { return e.Block == memory.EmptyHeading })
	if len(next) != len(old) {
		fail("%d entries were there, and %d are", len(old), len(next))
		return
	}
	for i := range old {
		a, b := &old[i], &next[i]
		if a.Text != b.Text || a.Partition != b.Partition || a.Block != b.Block || !slices.Equal(a.Sections, b.Sections) || a.ID != b.ID && a.Given || len(a.Tasks) != len(b.Tasks) {
			fail("the entry %+v is %+v", *a, *b)
		}
	}
}

var endedLine = regexp.MustCompile(`[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$`)

func (op *arbitraryWrite) checkNewLine(line string, fail func(string, ...any)) {
	line = strings.TrimSpace(line)
	isDate := strings.HasPrefix(line, "(added ") // below several lines
	if !isDate && !strings.Contains(line, "zebra") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "```") {
		fail("the line %q is new", line)
	}
}

func (d *diskCase) parseAt(path, text string) *memory.Document {
	return d.parse(vault.File{Path: path, Data: []byte(text)})
}
