package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// oldDays returns an OldDays for the files of a tree before 2026-02-03.
func oldDays(tr *tree) *OldDays {
	return &OldDays{After: 90 * 24 * time.Hour, Root: Root{
		Files: tr, Paths: tr.paths, Layout: tr.layout, Parse: tr.parse, Mover: tr,
		Now: func() time.Time { return time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC) },
	}}
}

func TestOldDays(t *testing.T) {
	goldens(t, "testdata/olddays/*.txtar", func(t *testing.T, _ string, tr *tree) string {
		report, err := oldDays(tr).Run(t.Context())
		if err != nil || len(report.Left) > 0 {
			t.Fatal(report.Left, err)
		}
		var b strings.Builder
		for _, m := range report.Moved {
			fmt.Fprintf(&b, "%s: %s → %s\n", m.Day, m.From, m.To)
		}
		return b.String()
	})
}

// TestOldDaysMove checks that every reader sees the same entries before and
// after, and that an undo restores everything.
func TestOldDaysMove(t *testing.T) {
	for _, a := range archives(t, "testdata/olddays/*.txtar") {
		tr := newTree(a.Files[:len(a.Files)-1])
		before, seen := tr.String(), tr.seen(t)
		report, err := oldDays(tr).Run(t.Context())
		if err != nil || len(report.Left) > 0 || len(report.Moved) == 0 {
			t.Fatalf("report %+v, %v", report, err)
		}
		tr.group(t)
		if diff := cmp.Diff(seen, tr.seen(t)); diff != "" {
			t.Errorf("%s: what people read (-before +after):\n%s", a.name, diff)
		}
		if again, err := oldDays(tr).Run(t.Context()); err != nil || len(again.Moved) > 0 {
			t.Errorf("%s: again: %+v, %v", a.name, again, err)
		}
		tr.undo()
		if diff := cmp.Diff(before, tr.String()); diff != "" {
			t.Errorf("%s: undone (-before +after):\n%s", a.name, diff)
		}
	}
}

// TestOldDaysThatCannotBeRead checks that the day of an unreadable file stays,
// because the file may contain an open task.
func TestOldDaysThatCannotBeRead(t *testing.T) {
	tr := newTree([]txtar.File{{Name: "2026-01-01/a.md", Data: []byte("- one\n")}, {Name: "2026-01-02/b.md", Data: []byte("- two\n")}})
	days := oldDays(tr)
	days.Paths = func() []string { return append(tr.paths(), "2026-01-01/busy.md") }
	report, err := days.Run(t.Context())
	if err != nil || len(report.Moved) != 1 || report.Moved[0].From != "2026-01-02/b.md" {
		t.Errorf("report %+v, %v", report, err)
	}
}

// TestOldDaysKilled checks that a run killed at any move loses nothing and that
// the next run completes it.
func TestOldDaysKilled(t *testing.T) {
	for _, a := range archives(t, "testdata/olddays/*.txtar") {
		whole := newTree(a.Files[:len(a.Files)-1])
		seen := whole.seen(t)
		if _, err := oldDays(whole).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for k := range whole.writes {
			tr := newTree(a.Files[:len(a.Files)-1])
			tr.left = k
			report, err := oldDays(tr).Run(t.Context())
			if err != nil || len(report.Moved) != k || len(report.Left) != len(whole.writes)-k {
				t.Fatalf("killed at %d: %+v, %v", k, report, err)
			}
			if diff := cmp.Diff(seen, tr.seen(t)); diff != "" {
				t.Errorf("killed at %d, what people read (-before +after):\n%s", k, diff)
			}
			tr.left = -1
			if _, err := oldDays(tr).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.String(), tr.String()); diff != "" {
				t.Errorf("killed at %d, then finished (-want +got):\n%s", k, diff)
			}
		}
	}
}

// TestLinksFollowOldDays checks that links resolve to moved files, and from
// moved files to others.
func TestLinksFollowOldDays(t *testing.T) {
	tr := treeOf(t, "testdata/olddays/days.txtar")
	if _, err := oldDays(tr).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"MEMORY.md":                                    "_longterms/owner/_archive/2026-01-01/cli.md _longterms/owner/_archive/2026-01-01/2026-01-01.md",
		"_longterms/owner/profile.md":                  "", // the session belongs to acct:42 and its link does not
		"_longterms/acct_42/_index.md":                 "_longterms/acct_42/_archive/2026-01-01/work.md",
		"_longterms/owner/_archive/2026-01-01/chat.md": "_longterms/owner/_archive/2026-01-01/cli.md",
		"_longterms/owner/_archive/2026-02-02/last.md": "2026-02-03/first.md",
	} {
		switch from {
		case "_longterms/acct_42/_index.md":
			tr.files[from] = "- [work](memory/2026-01-01/work.md)\n"
		case "_longterms/owner/_archive/2026-02-02/last.md":
			tr.files[from] = "- [next](../2026-02-03/first.md)\n"
		}
		doc, err := tr.Load(from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range doc.Entries {
			for _, l := range e.Links {
				for _, p := range l.Paths {
					if _, ok := tr.files[p]; ok {
						got = append(got, p)
						break
					}
				}
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("links of %s (-want +got):\n%s", from, diff)
		}
	}
}

func TestOldDaysMeanwhile(t *testing.T) {
	t.Run("a task is opened", func(t *testing.T) {
		tr := treeOf(t, "testdata/olddays/days.txtar")
		tr.before = func(path string) {
			if path == "2026-01-01/cli.md" {
				tr.files[path] += "- [ ] open\n"
			}
		}
		report, err := oldDays(tr).Run(t.Context())
		if err != nil || len(report.Left) != 1 || report.Left[0].Path != "2026-01-01/cli.md" || !strings.Contains(report.Left[0].Reason, "open task") {
			t.Errorf("left %+v, %v", report.Left, err)
		}
	})
	t.Run("it becomes another's", func(t *testing.T) {
		tr := treeOf(t, "testdata/olddays/days.txtar")
		tr.before = func(path string) {
			if path == "2026-01-01/cli.md" {
				tr.files[path] = "---\nsubject_id: acct:7\n---\n- x\n"
			}
		}
		report, err := oldDays(tr).Run(t.Context())
		if err != nil || len(report.Left) != 1 || !strings.Contains(report.Left[0].Reason, "the file changed during the run") {
			t.Errorf("left %+v, %v", report.Left, err)
		}
	})
	t.Run("writing is disabled", func(t *testing.T) {
		tr := treeOf(t, "testdata/olddays/days.txtar")
		o := oldDays(tr)
		o.Mover = offMover{}
		if report, err := o.Run(t.Context()); !errors.Is(err, vault.ErrOff) {
			t.Errorf("report %+v, %v", report, err)
		}
	})
	t.Run("it is told to stop", func(t *testing.T) {
		tr := treeOf(t, "testdata/olddays/days.txtar")
		ctx, cancel := context.WithCancel(t.Context())
		tr.before = func(string) {
			if len(tr.writes) == 1 {
				cancel()
			}
		}
		if report, err := oldDays(tr).Run(ctx); !errors.Is(err, context.Canceled) || len(tr.writes) != 2 {
			t.Errorf("report %+v, %v; %d writes", report, err, len(tr.writes))
		}
	})
}

type offMover struct{}

func (offMover) Move(context.Context, string, string, vault.Change) (vault.Written, error) {
	return vault.Written{}, fmt.Errorf("move: %w", vault.ErrOff)
}

func TestSameReaders(t *testing.T) {
	tr := newTree(nil)
	at := func(path string) *memory.Document {
		return tr.layout.Parse(path, []byte("- said\n- in private <!-- visibility=private_only -->\n"), memory.Meta{})
	}
	session := at("2026-01-01/x.md")
	for path, want := range map[string]bool{
		"_longterms/owner/_archive/2026-01-01/x.md":          true,
		"_longterms/owner/_archive/2026-01-01/2026-01-01.md": false,
		"_longterms/acct_42/_archive/2026-01-01/x.md":        false,
		"_longterms/owner/_archive/x.md":                     false,
	} {
		if got := sameReaders(session, at(path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestDaysByFormatStay checks that daily notes in the format of an Obsidian vault are
// neither archived nor summarized.
func TestDaysByFormatStay(t *testing.T) {
	format, err := memory.ParseDayFormat("Journal", "")
	if err != nil {
		t.Fatal(err)
	}
	l := &memory.Layout{Days: format}
	docs := []*memory.Document{
		l.Parse("Journal/2026-01-01.md", []byte("- decided\n- [ ] open\n"), memory.Meta{}),
		l.Parse("memory/2026-01-01.md", []byte("- decided\n"), memory.Meta{}),
	}
	none := func(string) bool { return false }
	if days := daysOf(docs, func(*memory.Document) bool { return true }); len(days) != 1 || days[0].Place.Path != "memory/2026-01-01.md" {
		t.Errorf("%+v", days)
	}
	summaries := PlanCompress(docs, CompressTerms{Before: "2026-02-01", Layout: l, Contested: none,
		Archive: none})
	if len(summaries.Stay) > 0 || len(summaries.Files) != 1 || summaries.Files[0].From != "memory/2026-01-01.md" {
		t.Errorf("%+v", summaries)
	}
}

// TestMaintenanceLogs checks that a night logs the files that it could not archive.
func TestMaintenanceLogs(t *testing.T) {
	tr := treeOf(t, "testdata/olddays/days.txtar")
	days, log := oldDays(tr), &strings.Builder{}
	days.Disk, days.Writer = tr, tr
	tr.left = 0 // all writes fail
	m := &Maintenance{
		Host:      &Host{Name: "desk", Disk: tr, Writer: tr, Now: days.Now},
		Compactor: &Compactor{Root: days.Root, Logger: slog.New(slog.DiscardHandler)},
		Days:      days, Logger: slog.New(slog.NewTextHandler(log, nil)), Enabled: true,
		Counters: func(context.Context) error { return nil },
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	moves, err := days.plan(t.Context())
	if err != nil || len(moves) == 0 {
		t.Fatal(moves, err)
	}
	for _, move := range moves {
		if !strings.Contains(log.String(), "path="+move.From) {
			t.Errorf("the log lacks %s:\n%s", move.From, log)
		}
	}
}
