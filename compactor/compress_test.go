package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// newCompress returns a Compress for the files of a tree before 2026-02-03.
func newCompress(tr *tree) *Compress {
	return &Compress{Root: Root{
		Files: tr, Disk: tr, Writer: tr, Parse: tr.parse, Paths: tr.paths, Layout: tr.layout,
		Now: func() time.Time { return time.Date(2026, 2, 5, 3, 0, 0, 0, time.UTC) },
	}}
}

// movesOf lists the files that a plan moves, and those that stay.
func movesOf(plan *api.CompressPlan) (text string) {
	for _, f := range plan.Files {
		text += fmt.Sprintf("%s → %s\n", f.From, f.To)
	}
	for _, s := range plan.Stay {
		text += fmt.Sprintf("%s stays: %s\n", s.Path, s.Reason)
	}
	return text
}

func TestCompressGolden(t *testing.T) {
	golden.Run(t, "compress", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		tr := newTree(a.Files)
		before := maps.Clone(tr.files)
		report, err := newCompress(tr).Run(t.Context(), 0, false)
		if err != nil || len(report.Left) > 0 || report.Applied != len(report.Plan.Files) {
			t.Fatalf("report %+v, %v", report, err)
		}
		tr.group(t)
		result := movesOf(&report.Plan)
		for _, path := range slices.Sorted(maps.Keys(tr.files)) {
			moved := slices.ContainsFunc(report.Plan.Files, func(f api.Compressed) bool { return f.To == path && tr.files[path] == before[f.From] })
			if tr.files[path] != before[path] && !moved {
				result += fmt.Sprintf("\n=== %s\n%s", path, tr.files[path])
			}
		}
		return withResult(a, result)
	})
}

// texts counts the entries of a tree, except those in summaries.
func (tr *tree) texts() map[string]int {
	count := map[string]int{}
	for _, path := range tr.paths() {
		doc, _ := tr.Load(path)
		for _, e := range doc.Entries {
			if !strings.Contains(strings.ToLower(strings.Join(e.Sections, "/")), "summaries") && e.Block != memory.EmptyHeading {
				count[fmt.Sprint(e.Partition, e.Time, e.Type, e.Tags, e.Text)]++
			}
		}
	}
	return count
}

func TestCompressLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in one goroutine, in which the race detector finds nothing")
	}
	for _, a := range golden.Archives(t, "compress") {
		whole := newTree(a.Files)
		before, texts := whole.String(), whole.texts()
		if _, err := newCompress(whole).Run(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts, whole.texts()); diff != "" {
			t.Errorf("%s: texts (-before +after):\n%s", a.Name, diff)
		}
		done := whole.String()
		again, err := newCompress(whole).Run(t.Context(), 0, false)
		if err != nil || again.Applied > 0 || len(again.Plan.Files) > 0 {
			t.Errorf("%s: again: %+v, %v", a.Name, again, err)
		}
		writes := len(whole.writes)
		whole.undo()
		if diff := cmp.Diff(before, whole.String()); diff != "" {
			t.Errorf("%s: undone (-before +after):\n%s", a.Name, diff)
		}

		for k := range writes { // killed at each write
			tr := newTree(a.Files)
			tr.left = k
			if report, err := newCompress(tr).Run(t.Context(), 0, false); err != nil || len(report.Left) == 0 {
				t.Fatalf("killed at %d: %+v, %v", k, report, err)
			}
			left := tr.texts()
			for text, n := range texts {
				if left[text] < n {
					t.Errorf("killed at %d, lost: %s", k, text)
				}
			}
			tr.left = -1
			if report, err := newCompress(tr).Run(t.Context(), 0, false); err != nil || len(report.Left) > 0 {
				t.Fatalf("after it was killed at %d: %+v, %v", k, report, err)
			}
			if diff := cmp.Diff(done, tr.String()); diff != "" {
				t.Errorf("killed at %d, then finished (-want +got):\n%s", k, diff)
			}
		}
	}
}

// TestCompressShowsNobodyMore checks that no reader gains access through moved
// files or summaries.
func TestCompressShowsNobodyMore(t *testing.T) {
	tr := treeOf(t, "compress", "days")
	tr.files["2026-01-01/secrets.md"] = "- public until here\n- #project:x canary one. <!-- visibility=private_only -->\n<private>\ncanary two.\n</private>\n"
	if _, err := newCompress(tr).Run(t.Context(), 0, false); err != nil {
		t.Fatal(err)
	}
	for who := range strings.SplitSeq(tr.seen(t), "\n\n") {
		heading, _, _ := strings.Cut(who, "\n")
		sees := strings.Count(who, "canary")
		if want := map[bool]int{true: 3}[heading == `"owner" in private:`]; sees != want {
			t.Errorf("%s sees %d of them, not %d", heading, sees, want)
		}
	}
}

// TestCompressHidesContact checks that summaries look the same to other readers
// whether or not the private frontmatter of a session names a contact.
func TestCompressHidesContact(t *testing.T) {
	var seen []string
	for _, contact := range []string{"", "contact_id: tg:@alice\n"} {
		tr := newTree([]txtar.File{{Name: "2026-01-01/cli.md", Data: []byte("---\nvisibility: private_only\n" + contact + "---\n" +
			"- Rent is 900. #project:shop\n")}, {Name: "2026-01-01/cli.public.md", Data: []byte("- The demo is on Friday. #project:shop\n")}})
		if report, err := newCompress(tr).Run(t.Context(), 0, false); err != nil || report.Applied != 2 {
			t.Fatalf("%+v, %v", report, err)
		}
		others := slices.DeleteFunc(strings.Split(tr.seen(t), "\n\n"),
			func(who string) bool { return strings.Contains(who, `"owner" in private:`) })
		seen = append(seen, strings.Join(others, "\n\n"))
	}
	diff := cmp.Diff(seen[0], seen[1])
	if diff != "" || strings.Count(seen[0], "The demo is on Friday.") < 2 || strings.Contains(seen[0], "900") {
		t.Errorf("other readers see\n%s\n(-without +with a contact):\n%s", seen[0], diff)
	}
}

// TestCompressKeepsApart checks that a model does not get texts of different authors,
// contacts or readers together, and that its summaries belong to the same files,
// readers and authors as those of the rules, which TestCompressGolden checks.
func TestCompressKeepsApart(t *testing.T) {
	joined := map[string]bool{"Alice moves in March": true, "All may know that she sings": true, "Another message": true}
	var summaries [2]map[string][]string // by path
	for i := range summaries {
		tr := treeOf(t, "compress", "people")
		c := newCompress(tr)
		if i == 1 {
			c.Summarizer = &Summarizer{
				MaySend: func(memory.Visibility, string) bool { return true }, CheckText: func(string) error { return nil },
				Summarize: func(_ context.Context, notes []string, _ func(string) error) (string, error) {
					if text := strings.Join(notes, " "); len(notes) > 1 && !joined[strings.Trim(notes[0], "- .")] && !strings.Contains(text, "message") {
						t.Errorf("the model gets %q", notes)
					}
					return strings.TrimPrefix(strings.Join(notes, " "), "- "), nil
				},
			}
		}
		if _, err := c.Run(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		summaries[i] = map[string][]string{}
		for _, path := range tr.paths() {
			doc, _ := tr.Load(path)
			for _, e := range doc.Entries {
				if e.IsSummary() {
					summaries[i][path] = append(summaries[i][path], fmt.Sprint(e.Title, e.Partition, e.Source, e.By))
				}
			}
		}
	}
	if diff := cmp.Diff(summaries[0], summaries[1]); diff != "" || len(summaries[0]) < 6 {
		t.Errorf("summaries (-rules +model):\n%s", diff)
	}
}

func TestCompressMeanwhile(t *testing.T) {
	cli := "2026-01-01/cli.md"
	for _, test := range []struct{ name, at, path, text, want string }{
		{"a person writes more before it is summed up", "_longterms/owner/profile.public.md", cli, "- #project:atlas is done <!-- type=decision -->\n", "the file changed during the run"},
		{"a task is opened before it moves", cli, cli, "- [ ] open\n", "the file changed during the run"},
		{"the file no longer exists", cli, cli, "", "the file changed during the run"},
		{"the summary becomes another's", "_longterms/acct_42/profile.public.md", "_longterms/acct_42/profile.public.md", "---\nsubject_id: acct_42\nvisibility: public_ok\n---\n", "profile.public.md belongs to another subject"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := treeOf(t, "compress", "days")
			tr.before = func(c vault.Change) error {
				if c.Path == test.at {
					if test.text == "" {
						delete(tr.files, test.path)
					} else {
						tr.files[test.path] += test.text
					}
				}
				return nil
			}
			c := newCompress(tr)
			c.Files = treeOf(t, "compress", "days") // the earlier state
			report, err := c.Run(t.Context(), 0, false)
			if err != nil || len(report.Left) != 1 || !strings.Contains(report.Left[0].Reason, test.want) {
				t.Errorf("left %+v, %v", report.Left, err)
			}
			for path, text := range tr.files {
				if summed := strings.Contains(text, "evidence=2026-01-01/cli.md"); summed && strings.HasPrefix(test.at, "_longterms/owner/") {
					t.Errorf("%s says what it was:\n%s", path, text)
				}
			}
			if test.text != "" && !strings.HasSuffix(tr.files[test.path], test.text) {
				t.Errorf("what was written is not there: %s", tr.files[test.path])
			}
		})
	}
	t.Run("writing is disabled", func(t *testing.T) {
		tr := treeOf(t, "compress", "days")
		tr.before = func(vault.Change) error { return fmt.Errorf("write: %w", vault.ErrOff) }
		c := newCompress(tr)
		if report, err := c.Run(t.Context(), 0, false); !errors.Is(err, vault.ErrOff) || report.Applied > 0 || len(tr.writes) > 0 {
			t.Errorf("report %+v, %v", report, err)
		}
	})
}

func TestSentences(t *testing.T) {
	golden.Table(t, "sentences", func(_ *testing.T, in []string) string {
		doc := new(memory.Layout).Parse("2026-01-01/x.md", []byte(in[0]+"\n"), memory.Meta{})
		var got []string
		for _, s := range sentencesOf(doc, 0) {
			got = append(got, s.text)
		}
		return strings.Join(got, " | ")
	})
}

// TestEvidence checks which callers can name a piece of evidence. The error for a piece that a
// caller may not read is that for a missing one.
func TestEvidence(t *testing.T) {
	tr := newTree(nil)
	tr.files = map[string]string{
		"2026-01-01/cli.md":                                  "- public <!-- id=a -->\n",
		"2026-01-01/cli.private.md":                          "---\nvisibility: private_only\n---\n- private <!-- id=b -->\n",
		"_longterms/owner/_archive/2025-12-31/old.md":        "- archived <!-- id=c -->\n",
		"_longterms/owner/_archive/2025-12-31/2025-12-31.md": "- a note\n",
		"_longterms/acct_42/_archive/2025-12-30/theirs.md":   "---\nsubject_id: acct:42\n---\n- theirs\n",
		"_longterms/acct_42/_index.md":                       "---\nsubject_id: acct:42\n---\n- theirs, in private\n",
		"empty.md":                                           "",
	}
	var dirs memory.Directories
	golden.Table(t, "evidence", func(t *testing.T, in []string) string {
		context, _ := memory.ParseContext(in[1])
		view, err := dirs.View(memory.Scope{Subject: in[0], Context: context})
		if err != nil {
			t.Fatal(err)
		}
		return golden.Result("valid", (&Evidence{Files: tr, Layout: tr.layout, View: view}).Check(in[2:]))
	})
}

// TestCutoffInHours checks that a file of the day of the cutoff is summarized if
// all its entries have times before the cutoff, 2026-02-03 03:00.
func TestCutoffInHours(t *testing.T) {
	golden.Table(t, "cutoffs", func(t *testing.T, in []string) string {
		plan, err := newCompress(newTree([]txtar.File{{Name: "memory/2026-02-03.md", Data: []byte(in[0])}})).Plan(t.Context(), 48*time.Hour)
		if err != nil {
			t.Error(err)
		}
		if len(plan.Files) == 0 {
			return "stays"
		}
		return plan.Files[0].To
	})
}

// TestCurrentSummary checks that compressing day after day keeps one summary of a
// project and one profile, the newest sentences first, within limits, and leaves
// what people wrote.
func TestCurrentSummary(t *testing.T) {
	const project, profile = "_longterms/owner/project.md", "_longterms/owner/profile.md"
	files := []txtar.File{{Name: project, Data: []byte("## Summaries\n\n- **atlas**: Written by hand. <!-- id=a1 visibility=private_only evidence=notes/a.md -->\n")}}
	for day := range 30 {
		files = append(files, txtar.File{Name: fmt.Sprintf("2026-01-%02d/cli.md", day+1), Data: fmt.Appendf(nil,
			"---\nvisibility: private_only\n---\n- Atlas made step %d, which was long and tedious work for everybody. #project:atlas\n- The weather of day %d.\n", day+1, day+1)})
	}
	tr := newTree(files)
	if report, err := newCompress(tr).Run(t.Context(), 0, false); err != nil || report.Applied != 30 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, path := range []string{project, profile} {
		doc, _ := tr.Load(path)
		var current []memory.Entry
		for _, e := range doc.Entries {
			if _, _, ok := cutDay(e.Title); e.IsSummary() && ok {
				current = append(current, e)
			}
		}
		if len(current) != 1 || len(current[0].Evidence) != 30 || !strings.HasSuffix(current[0].Title, " until 2026-01-30") || len(current[0].Text) > maxCurrent+100 {
			t.Errorf("%s has %d current summaries:\n%s", path, len(current), tr.files[path])
		}
	}
	text := tr.files[project]
	if at, before := strings.Index(text, "step 30,"), strings.Index(text, "step 29,"); at < 0 || before < at || strings.Contains(text, "step 1,") {
		t.Errorf("the newest sentences are not first:\n%s", text)
	}
	if !strings.Contains(text, "- **atlas**: Written by hand. <!-- id=a1 ") {
		t.Errorf("the summary of a person was changed:\n%s", text)
	}
}

// TestDaysByFormatStay checks that daily notes in the format of an Obsidian vault are
// neither archived nor summarized.
func TestDaysByFormatStay(t *testing.T) {
	format, err := dates.ParseFormat("Journal", "")
	if err != nil {
		t.Fatal(err)
	}
	tr := newTree([]txtar.File{{Name: "Journal/2026-01-01.md", Data: []byte("- decided\n- [ ] open\n")},
		{Name: "memory/2026-01-01.md", Data: []byte("- decided\n")}})
	tr.layout = &memory.Layout{Days: format.Day}
	plan, err := newCompress(tr).Plan(t.Context(), 0)
	if err != nil || len(plan.Stay) > 0 || len(plan.Files) != 1 || plan.Files[0].From != "memory/2026-01-01.md" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestMaintenanceLogs checks that a night logs the files that it could not archive.
func TestMaintenanceLogs(t *testing.T) {
	tr := treeOf(t, "compress", "days")
	days, log := newCompress(tr), &strings.Builder{}
	tr.left = 0 // all writes fail
	m := &Maintenance{
		Host:      &Host{Name: "desk", Disk: tr, Writer: tr, Now: days.Now},
		Compactor: &Compactor{Root: days.Root, Logger: slog.New(slog.DiscardHandler)},
		Compress:  days, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Counters: func(context.Context) error { return nil },
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := days.Plan(t.Context(), 0)
	if err != nil || len(plan.Files) == 0 {
		t.Fatal(plan, err)
	}
	for _, f := range plan.Files {
		if !strings.Contains(log.String(), f.From) {
			t.Errorf("the log lacks %s:\n%s", f.From, log)
		}
	}
}
