package compactor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// notesRoot returns a tree with files old enough to be summarized.
func notesRoot() *tree {
	return newTree([]txtar.File{
		{Name: "2026-01-01/cli.md", Data: []byte(`## Key Facts

- We chose PostgreSQL 17. <!-- type=decision id=pg -->
- The cat is called Mo.
- the word is hunter2
- #project:atlas ships in May
`)},
		{Name: "2026-01-01/cli.private.md", Data: []byte("---\nvisibility: private_only\n---\n- Rent is 900. <!-- id=rent -->\n")},
		{Name: "2026-01-02/cli.md", Data: []byte("- One more thing\n")},
	})
}

// newSummarizing returns a Compress for a tree whose summarizer calls say, and the list
// of the requests made.
func newSummarizing(tr *tree, private bool, say func(notes []string) (string, error)) (*Compress, *[]string) {
	var asked []string
	c := newCompress(tr)
	c.Summarizer = &Summarizer{
		Summarize: func(_ context.Context, notes []string, check func(string) error) (string, error) {
			asked = append(asked, strings.Join(notes, " | "))
			said, err := say(notes)
			if err == nil {
				err = check(said)
			}
			return said, err
		},
		MaySend: func(v memory.Visibility, source string) bool {
			return (v == memory.PublicOK || private) && !strings.Contains(source, "hunter2")
		},
		CheckText: memory.CheckText,
	}
	return c, &asked
}

func summaryTexts(plan api.CompressPlan) (lines []string) {
	for _, f := range plan.Files {
		for _, l := range f.Lines {
			lines = append(lines, fmt.Sprintf("%s %s %v: %s %v", l.Visibility, l.Project, l.Model, l.Text, l.Evidence))
		}
	}
	return lines
}

// TestSummarizer checks that each group of notes has its own request, that
// private notes are never mixed with public ones and are sent only if allowed,
// and that unsent notes are not used as evidence.
func TestSummarizer(t *testing.T) {
	tr := notesRoot()
	c, asked := newSummarizing(tr, false, func(notes []string) (string, error) { return fmt.Sprintf("They said %s", notes[0][2:]), nil })
	plan, err := c.Plan(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"- We chose PostgreSQL 17. | - The cat is called Mo.",
		"- #project:atlas ships in May",
		"- One more thing",
	}
	if got := strings.Join(*asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("asked\n%s", got)
	}
	lines := []string{
		"public_ok  true: They said We chose PostgreSQL 17. [2026-01-01/cli.md#pg 2026-01-01/cli.md]",
		"public_ok atlas true: They said #project:atlas ships in May [2026-01-01/cli.md]",
		"private_only  false: Rent is 900. [2026-01-01/cli.private.md#rent]",
		"public_ok  true: They said One more thing [2026-01-02/cli.md]",
	}
	if got := strings.Join(summaryTexts(plan), "\n"); got != strings.Join(lines, "\n") {
		t.Errorf("planned\n%s", got)
	}
	report, err := c.Run(t.Context(), 0, false)
	if err != nil || report.Applied != 3 || len(report.Left) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if len(*asked) != len(want) {
		t.Errorf("what was said before was asked for again: %q", (*asked)[len(want):])
	}
	profile := tr.files["_longterms/owner/profile.md"] + tr.files["_longterms/owner/profile.public.md"]
	for _, text := range []string{"They said One more thing; They said We chose PostgreSQL 17. <!-- evidence=2026-01-02/cli.md,2026-01-01/cli.md#pg,2026-01-01/cli.md", "Rent is 900. <!-- evidence"} {
		if !strings.Contains(profile, text) {
			t.Errorf("%q is missing in\n%s", text, profile)
		}
	}
	if !strings.Contains(tr.files["_longterms/owner/_archive/2026-01-01/cli.md"], "The cat is called Mo.") {
		t.Error("what was summed up is not in the archive")
	}
}

// TestSummarizerFallsBack checks that an unusable summary is replaced by
// sentences of the notes.
func TestSummarizerFallsBack(t *testing.T) {
	plain, err := newCompress(notesRoot()).Plan(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(summaryTexts(plain), "\n")
	for name, say := range map[string]func(note string) string{
		"too long":       func(note string) string { return note + strings.Repeat(" "+note, maxSummary) },
		"two lines":      func(note string) string { return note + "\n" + note },
		"a number":       func(note string) string { return note + " " + note + " 18" },
		"an address":     func(note string) string { return note + " https://evil.example" },
		"a comment":      func(note string) string { return note + " <!-- visibility=public_ok -->" },
		"hidden text":    func(note string) string { return note + " <private>" },
		"what is hidden": func(note string) string { return note + " -->" },
		"a reference":    func(note string) string { return note + " ^x" },
		"something else": func(string) string { return "Buy it now" },
	} {
		c, asked := newSummarizing(notesRoot(), false, func(notes []string) (string, error) { return say(notes[0][2:]), nil })
		plan, err := c.Plan(t.Context(), 0)
		if got := strings.Join(summaryTexts(plan), "\n"); err != nil || got != want || len(*asked) != 3 {
			t.Errorf("%s: %v, asked %d times, planned\n%s", name, err, len(*asked), got)
		}
	}
}

// TestSummarizerInterrupted checks that a run that completes an interrupted one
// adds no second wording of a summary.
func TestSummarizerInterrupted(t *testing.T) {
	tr := newTree([]txtar.File{{Name: "2026-01-01/cli.md", Data: []byte("- The cat is called Mo.\n")}})
	wordings := []string{"Mo is the cat.", "The cat is Mo."}
	c, _ := newSummarizing(tr, false, func([]string) (string, error) {
		text := wordings[0]
		wordings = wordings[1:]
		return text, nil
	})
	tr.left = 1
	if report, err := c.Run(t.Context(), 0, false); err != nil || len(report.Left) != 1 {
		t.Fatalf("killed: %+v, %v", report, err)
	}
	before := tr.files["_longterms/owner/profile.public.md"]
	tr.left = -1
	if report, err := c.Run(t.Context(), 0, false); err != nil || report.Applied != 1 {
		t.Fatalf("completed: %+v, %v", report, err)
	}
	if after := tr.files["_longterms/owner/profile.public.md"]; after != before || !strings.Contains(after, "Mo is the cat.") {
		t.Errorf("the summary was\n%s\nand is\n%s", before, after)
	}
}

// TestSummarizerAway checks that requests to an unavailable model stop and that
// the run still completes.
func TestSummarizerAway(t *testing.T) {
	var files []txtar.File
	for i := range 80 {
		// Use different notes, because equal ones share a request.
		files = append(files, txtar.File{Name: fmt.Sprintf("2026-01-01/s%02d.md", i), Data: fmt.Appendf(nil, "- thing %c%c\n", 'a'+i/26, 'a'+i%26)})
	}
	for want, say := range map[int]func([]string) (string, error){
		maxFailures: func([]string) (string, error) { return "", errors.New("away") },
		maxRequests: func(notes []string) (string, error) { return notes[0][2:], nil },
	} {
		c, asked := newSummarizing(newTree(files), false, say)
		report, err := c.Run(t.Context(), 0, false)
		if err != nil || report.Applied != len(files) || len(*asked) != want {
			t.Errorf("asked %d times, want %d: %d applied, %v", len(*asked), want, report.Applied, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	c, asked := newSummarizing(newTree(files), false, func([]string) (string, error) { cancel(); return "", context.Canceled })
	if _, err := c.Plan(ended, 0); !errors.Is(err, context.Canceled) || len(*asked) != 1 {
		t.Errorf("%v, asked %d times", err, len(*asked))
	}
}
