package compactor

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// oldDays returns a Compress that archives the files of a tree before 2026-02-03.
func oldDays(tr *tree) *Compress {
	c := newCompress(tr)
	c.Plain = true
	return c
}

func TestOldDays(t *testing.T) {
	golden.Run(t, "olddays", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		report, err := oldDays(newTree(a.Files)).Run(t.Context(), 0, false)
		if err != nil || len(report.Left) > 0 {
			t.Fatal(report.Left, err)
		}
		return withResult(a, movesOf(&report.Plan))
	})
}

// TestOldDaysMove checks that every reader sees the same entries before and
// after, and that an undo restores everything.
func TestOldDaysMove(t *testing.T) {
	for _, a := range golden.Archives(t, "olddays") {
		tr := newTree(a.Files)
		before, seen := tr.String(), tr.seen(t)
		report, err := oldDays(tr).Run(t.Context(), 0, false)
		if err != nil || len(report.Left) > 0 || report.Applied == 0 {
			t.Fatalf("report %+v, %v", report, err)
		}
		tr.group(t)
		if diff := cmp.Diff(seen, tr.seen(t)); diff != "" {
			t.Errorf("%s: what people read (-before +after):\n%s", a.Name, diff)
		}
		if again, err := oldDays(tr).Run(t.Context(), 0, false); err != nil || again.Applied > 0 {
			t.Errorf("%s: again: %+v, %v", a.Name, again, err)
		}
		tr.undo()
		if diff := cmp.Diff(before, tr.String()); diff != "" {
			t.Errorf("%s: undone (-before +after):\n%s", a.Name, diff)
		}
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
	tr := treeOf(t, "olddays", "days")
	days, log := oldDays(tr), &strings.Builder{}
	tr.left = 0 // all writes fail
	m := &Maintenance{
		Host:      &Host{Name: "desk", Disk: tr, Writer: tr, Now: days.Now},
		Compactor: &Compactor{Root: days.Root, Logger: slog.New(slog.DiscardHandler)},
		Archives:  []*Compress{days}, Logger: slog.New(slog.NewTextHandler(log, nil)), Enabled: true,
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
		if !strings.Contains(log.String(), "path="+f.From) {
			t.Errorf("the log lacks %s:\n%s", f.From, log)
		}
	}
}
