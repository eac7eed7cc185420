package ops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// TestForgetInTheirFiles erases a text from generated files. Afterwards the
// entries with the text must be gone, every other line must be unchanged and in
// order, and the text must remain only in the places that the answer lists.
// Otherwise the file must be unchanged and the answer must contain the reason.
func TestForgetInTheirFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	n := uint64(400)
	for i, path := range []string{"MEMORY.md", "2026-02-05/cli.md", "_longterms/owner/_index.md", "memory/2026-02-05.md"} {
		t.Run(strings.ReplaceAll(path, "/", " "), func(t *testing.T) {
			t.Parallel()
			d, c := newForgetCase(t, nil)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(d.dir, path)), 0o700); err != nil {
				t.Fatal(err)
			}
			done := 0
			for seed := range n / 4 {
				r := rand.New(rand.NewPCG(seed, 100+uint64(i)))
				lines := endedLine.FindAllString(arbitraryFile(r), -1)
				for range 1 + r.IntN(3) {
					at := r.IntN(len(lines) + 1)
					line := []string{"- zebra\n", "zebra\n", "  zebra\n", "\n- [ ] zebra\n", "- a <!-- id=z source=zebra -->\n", "## zebra\n", "<!-- zebra -->\n", "> zebra\n", "    - zebra\r\n", "|zebra|\n"}[r.IntN(10)]
					lines = slices.Insert(lines, at, line)
				}
				if forgetIn(t, d, c, path, strings.Join(lines, "")) {
					done++
				}
			}
			t.Logf("of %d of %d it is forgotten", done, n/4)
		})
	}
}

func forgetIn(t *testing.T, d *diskCase, c Call, path, text string) (done bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	was := d.parseAt(path, text)
	if err := d.memory.Index.Apply(t.Context(), []index.Update{{Path: path, Doc: was}}); err != nil {
		t.Fatal(err)
	}
	listed, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{Match: "zebra"})
	if err != nil {
		t.Fatalf("%v\n%q", err, text)
	}
	var ids []string
	for _, e := range listed.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return false
	}
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: listed.Token})
	source := d.read(t, path)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\n%.3000q\n=>\n%.3000q", path, fmt.Sprintf(format, args...), text, source)
	}
	if err != nil || a.Problem != "" {
		fail("is %+v, %v", a, err)
		return false
	}
	if len(a.Failed) > 0 {
		if source != text || len(a.Removed) > 0 || a.Failed[0].Reason == "" || !strings.HasPrefix(a.Failed[0].Reason, "edit "+path+": ") {
			fail("is refused: %+v", a)
		}
		return false
	}
	is := d.parseAt(path, source)
	gone := map[int]bool{} // lines that may disappear
	for _, e := range listed.Entries {
		for line := e.Line; e.ID != "" && line <= e.EndLine; line++ {
			gone[line] = true
		}
	}
	var old []memory.Entry
	cut := map[string]bool{} // ids of entries that lose lines
	for _, e := range was.Entries {
		rest := "" // text that remains
		for line := e.Line; line <= e.EndLine; line++ {
			cut[e.ID] = cut[e.ID] || gone[line]
			if !gone[line] {
				rest += was.SourceLines(line, line)
			}
		}
		if !cut[e.ID] || strings.Trim(commentRE().ReplaceAllString(rest, ""), " \t>") != "" {
			if e.Block != memory.EmptyHeading {
				old = append(old, e)
			}
			continue
		}
		for line := e.Line; line <= e.EndLine; line++ {
			gone[line] = true
		}
	}
	for line := range len(endedLine.FindAllString(text[:was.Front.Span.End], -1)) {
		gone[line+1] = true
	}
	for _, f := range was.Front.Fields {
		if now, _ := is.Front.Field(f.Key); !slices.Contains([]string{"summary", "tasks", "follow_ups"}, f.Key) && fmt.Sprint(now.Value) != fmt.Sprint(f.Value) {
			fail("%s of the frontmatter was %v and is %v", f.Key, f.Value, now.Value)
		}
	}
	for _, h := range was.Headings { // headings without public content below
		for line := h.Line; line <= h.EndLine; line++ {
			gone[line] = true
		}
	}
	filled := func(lines []string) []string {
		return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	}
	lines := func(text string) (list []string) {
		for _, line := range endedLine.FindAllString(strings.TrimPrefix(text, "\ufeff"), -1) {
			list = append(list, strings.TrimRight(line, "\r\n"))
		}
		return list
	}
	var stay []string
	for i, line := range lines(text) {
		if !gone[i+1] {
			stay = append(stay, line)
		}
	}
	kept := filled(lines(source[is.Front.Span.End:]))
	commented := func(list, others []string) { // the comment of an entry can move to another line
		for i, line := range list {
			if j := slices.IndexFunc(others, func(o string) bool { return line != "" && strings.HasPrefix(o, line+" <!-- ") }); j >= 0 && !slices.Contains(others, line) {
				list[i] = others[j]
			}
		}
	}
	before := lines(text)
	commented(before, kept)
	commented(stay, lines(source))
	if line, ok := within(filled(stay), filled(lines(source))); !ok {
		fail("%q is lost", line)
	}
	if line, ok := within(kept, filled(before)); !ok {
		fail("%q is new", line)
	}
	next := slices.DeleteFunc(slices.Clone(is.Entries), func(e memory.Entry) bool { return e.Block == memory.EmptyHeading })
	if is.Unsound || len(next) != len(old) {
		fail("%d entries were to stay, %d have", len(old), len(next))
		return false
	}
	for i := range old {
		a, b := &old[i], &next[i]
		if a.Text != b.Text && !cut[a.ID] || a.Partition != b.Partition || a.Block != b.Block || !slices.Equal(a.Sections, b.Sections) || a.Given && a.ID != b.ID {
			fail("the entry %+v is %+v", *a, *b)
		}
	}
	for _, e := range a.Entries {
		at := slices.IndexFunc(is.Entries, func(now memory.Entry) bool { return path+"#"+now.ID == e.ID })
		if e.ID != "" && (at < 0 || is.Entries[at].Block != memory.EmptyHeading) { // the heading of a removed entry stays
			fail("%+v is still there", e)
		}
	}
	if strings.Contains(source, "zebra") != (len(a.Entries) > 0) {
		fail("it is left in %d places, says the answer", len(a.Entries))
	}
	if d.journalContains(t, "zebra") {
		fail("the journal has it")
	}
	return true
}

// within reports whether lines occur among others in order. If not, it returns
// the first missing line.
func within(lines, others []string) (missing string, ok bool) {
	for _, line := range lines {
		at := slices.Index(others, line)
		if at < 0 {
			return line, false
		}
		others = others[at+1:]
	}
	return "", true
}
