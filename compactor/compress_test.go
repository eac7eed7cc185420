package compactor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// newCompress returns a Compress for the files of a tree before 2026-02-03.
func newCompress(tr *tree) *Compress {
	return &Compress{Root: Root{
		Files: tr, Disk: tr, Writer: tr, Mover: tr, Parse: tr.parse, Paths: tr.paths, Layout: tr.layout,
		Now: func() time.Time { return time.Date(2026, 2, 5, 3, 0, 0, 0, time.UTC) },
	}}
}

func TestCompressGolden(t *testing.T) {
	golden(t, "compress", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		tr := newTree(a.Files)
		before := maps.Clone(tr.files)
		report, err := newCompress(tr).Run(t.Context(), 0, false)
		if err != nil || len(report.Left) > 0 || report.Applied != len(report.Plan.Files) {
			t.Fatalf("report %+v, %v", report, err)
		}
		tr.group(t)
		var b strings.Builder
		for _, f := range report.Plan.Files {
			fmt.Fprintf(&b, "%s → %s\n", f.From, f.To)
		}
		for _, s := range report.Plan.Stay {
			fmt.Fprintf(&b, "%s stays: %s\n", s.Path, s.Reason)
		}
		for _, path := range slices.Sorted(maps.Keys(tr.files)) {
			moved := slices.ContainsFunc(report.Plan.Files, func(f Compressed) bool { return f.To == path && tr.files[path] == before[f.From] })
			if tr.files[path] != before[path] && !moved {
				fmt.Fprintf(&b, "\n=== %s\n%s", path, tr.files[path])
			}
		}
		return withResult(a, b.String())
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
	for _, a := range archives(t, "compress") {
		whole := newTree(a.Files)
		before, texts := whole.String(), whole.texts()
		if _, err := newCompress(whole).Run(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts, whole.texts()); diff != "" {
			t.Errorf("%s: texts (-before +after):\n%s", a.name, diff)
		}
		done := whole.String()
		again, err := newCompress(whole).Run(t.Context(), 0, false)
		if err != nil || again.Applied > 0 || len(again.Plan.Files) > 0 {
			t.Errorf("%s: again: %+v, %v", a.name, again, err)
		}
		writes := len(whole.writes)
		whole.undo()
		if diff := cmp.Diff(before, whole.String()); diff != "" {
			t.Errorf("%s: undone (-before +after):\n%s", a.name, diff)
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
	tr.files["2026-01-01/secrets.md"] = "- public\n- #project:x canary one. <!-- visibility=private_only -->\n<private>\ncanary two.\n</private>\n"
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
			"- The demo is on Friday. #project:shop <!-- visibility=public_ok -->\n- Rent is 900. #project:shop\n")}})
		if report, err := newCompress(tr).Run(t.Context(), 0, false); err != nil || report.Applied != 1 {
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
		{"a person writes more before it is summed up", "_longterms/owner/profile.md", cli, "- #project:atlas is done <!-- type=decision -->\n", "the file changed during the run"},
		{"a task is opened before it moves", cli, cli, "- [ ] open\n", "the file changed during the run"},
		{"the file no longer exists", cli, cli, "", "the file changed during the run"},
		{"the summary becomes another's", "_longterms/acct_42/profile.md", "_longterms/acct_42/profile.md", "---\nsubject_id: acct_42\n---\n", "profile.md belongs to another subject"},
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
				if summed := strings.Contains(text, "evidence=2026-01-01/cli.md"); summed && test.at == "_longterms/owner/profile.md" {
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
	long := strings.Repeat("word ", 60)
	for text, want := range map[string][]string{
		"- One. Two! Three? four":                 {"One.", "Two!", "Three? four"},
		"- e.g. this, i.e. that. 3.14 is pi.":     {"e.g. this, i.e. that.", "3.14 is pi."},
		"一句。两句！三句？四":                              {"一句。", "两句！", "三句？", "四"},
		"- a\n  continued\n  - nested\n  - [x] b": {"a continued", "nested", "b"},
		"1. numbered\n2. next":                    {"numbered"}, // the second line is another entry
		"> quoted\n> text":                        {"quoted text"},
		"- with `code`. Without.":                 {"Without."},
		"- has\n  ```\n  code\n  ```\n  more":     {"has", "more"},
		"- ...":                                   nil,
		"```\ncode\n```":                          nil,
		"- " + long:                               {strings.TrimSpace(strings.Repeat("word ", 47)) + "…"},
		"- " + strings.Repeat("字", 300):           {strings.Repeat("字", 239) + "…"},
		"- **Title**: text #tag":                  {"**Title**: text #tag"},
	} {
		doc := (&memory.Layout{}).Parse("2026-01-01/x.md", []byte(text+"\n"), memory.Meta{})
		var got []string
		for _, s := range sentencesOf(doc, 0) {
			got = append(got, s.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEvidence(t *testing.T) {
	tr := newTree(nil)
	tr.files = map[string]string{
		"2026-01-01/cli.md":                                  "- public <!-- id=a -->\n- private <!-- id=b visibility=private_only -->\n",
		"_longterms/owner/_archive/2025-12-31/old.md":        "- archived <!-- id=c -->\n",
		"_longterms/owner/_archive/2025-12-31/2025-12-31.md": "- a note\n",
		"_longterms/acct_42/_archive/2025-12-30/theirs.md":   "---\nsubject_id: acct:42\n---\n- theirs\n",
		"_longterms/acct_42/_index.md":                       "---\nsubject_id: acct:42\n---\n- theirs, in private\n",
		"empty.md":                                           "",
	}
	var dirs memory.Directories
	check := func(subject string, c memory.Context, pieces ...string) error {
		view, err := dirs.View(memory.Scope{Subject: subject, Context: c})
		if err != nil {
			t.Fatal(err)
		}
		return (&Evidence{Files: tr, Layout: tr.layout, View: view}).Check(pieces)
	}
	if err := check("owner", memory.Private); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("none: %v", err)
	}
	for _, good := range []struct {
		subject string
		context memory.Context
		piece   string
	}{
		{"owner", memory.Private, "2026-01-01/cli.md"},
		{"owner", memory.Private, "2026-01-01/cli.md#a"},
		{"owner", memory.Private, "2026-01-01/cli.md#b"},
		{"owner", memory.Private, "2025-12-31/old.md"},
		{"owner", memory.Private, "memory/2025-12-31/old.md#c"},
		{"owner", memory.Private, "memory/2025-12-31.md"},
		{"owner", memory.Private, "https://example.com/a#b"},
		{"", memory.Public, "2026-01-01/cli.md#a"},
		{"acct:42", memory.Private, "2025-12-30/theirs.md"},
		{"acct:42", memory.Private, "_longterms/acct_42/_index.md"},
	} {
		if err := check(good.subject, good.context, good.piece); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	missing := check("owner", memory.Public, "2026-01-01/none.md").Error()
	for _, bad := range []struct {
		subject string
		context memory.Context
		piece   string
	}{
		{"owner", memory.Public, "2026-01-01/cli.md#b"},
		{"owner", memory.Private, "2026-01-01/cli.md#c"},
		{"owner", memory.Private, "2026-01-01/cli.md#"},
		{"owner", memory.Private, "../etc/passwd"},
		{"owner", memory.Private, ""},
		{"owner", memory.Private, "_longterms/acct_42/_index.md"},
		{"acct:42", memory.Public, "_longterms/acct_42/_index.md"},
		{"owner", memory.Private, "2025-12-30/theirs.md"},
		{"", memory.Public, "memory/2025-12-31.md"},
		{"owner", memory.Private, "https://"},
		{"owner", memory.Private, "://x"},
	} {
		err := check(bad.subject, bad.context, "2026-01-01/cli.md#a", bad.piece)
		if err == nil {
			t.Errorf("%+v is evidence", bad)
		} else if want := strings.ReplaceAll(missing, "2026-01-01/none.md", bad.piece); err.Error() != want && !strings.Contains(bad.piece, "://") {
			t.Errorf("%+v: %v, not %s", bad, err, want)
		}
	}
}

// TestCutoffInHours checks that a file of the day of the cutoff is summarized if
// all its entries have times before the cutoff.
func TestCutoffInHours(t *testing.T) {
	const day = "2026-02-03" // the cutoff is 2026-02-03 03:00
	for text, want := range map[string]bool{
		"# " + day + "\n\n## 1:00 AM - Tea\n\nGreen.\n":                               true,
		"# " + day + "\n\n## 1:00 AM - Tea\n\nGreen.\n\n## 3:30 AM - Tea\n\nBlack.\n": false,
		"Green.\n": false,
		"- Green. <!-- updated=2026-02-03T02:59:00Z -->\n": true,
		"- Green. <!-- updated=2026-02-03T03:00:00Z -->\n": false,
		"- Green. <!-- updated=2026-02-05T02:00:00Z -->\n": false,
	} {
		plan, err := newCompress(newTree([]txtar.File{{Name: "memory/" + day + ".md", Data: []byte(text)}})).Plan(t.Context(), 48*time.Hour)
		if err != nil || (len(plan.Files) == 1) != want {
			t.Errorf("%q: %+v, %v, want %v", text, plan, err, want)
		}
	}
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
