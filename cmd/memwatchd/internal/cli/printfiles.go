package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printFileList shows files with the date and the number of their entries, or their
// totals.
func (p *Printer) printFileList(a *api.FilesAnswer) {
	var paths []string
	for _, f := range a.Files {
		paths = append(paths, f.Path)
		if !p.output.files {
			date := textIf(!f.Time.IsZero(), f.Time.In(p.location).Format(time.DateOnly))
			p.printf("%s %6d  %s\n", p.Style(term.AsMuted, fmt.Sprintf("%-10s", date)), f.Entries, p.paintPlace(f.Path, 0))
		}
	}
	if p.output.files {
		p.printFiles(paths)
	}
	if len(a.Kinds)+len(a.Months) > 0 {
		p.printTotals("kind", append(a.Kinds, api.FileTotals{
			Of: "total", Files: a.Total.Files, Entries: a.Total.Entries, Words: a.Total.Words}))
		p.println("")
		p.printTotals("month", a.Months)
	}
	if a.Total.Files == 0 {
		p.addEmptyHint("no files")
	}
	if a.Next != "" {
		p.addHint(term.AsMuted, "%d of %s; --after %s shows more", len(a.Files), term.Plural(a.Total.Files, "file"),
			term.QuoteWord(p.locate(a.Next)))
	}
}

// printTotals shows a table of sums.
func (p *Printer) printTotals(of string, list []api.FileTotals) {
	p.println(p.Style(term.AsMuted, fmt.Sprintf("%-10s%9s %9s %10s", of, "files", "entries", "words")))
	for _, t := range list {
		of := cmp.Or(term.EscapeLine(t.Of), "undated")
		p.printf("%-10s%9d %9d %10d\n", of, t.Files, t.Entries, t.Words)
	}
}

// printNames shows tags with the number of their entries, the most frequent first,
// or other names.
func (p *Printer) printNames(a *api.CompleteAnswer) {
	order := make([]int, len(a.Values))
	for i := range order {
		order[i] = i
	}
	counted := len(a.Entries) == len(a.Values)
	if counted {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.Entries[j], a.Entries[i]) })
	}
	for _, i := range order {
		if counted {
			p.printf("%6d  ", a.Entries[i])
		}
		p.println(term.EscapeLine(a.Values[i]))
	}
	if len(a.Values) == 0 {
		p.addEmptyHint("no names")
	}
	if a.Next != "" {
		p.addHint(term.AsMuted, "%d of %d; --after %s shows more", len(a.Values), a.Total, term.QuoteWord(a.Next))
	}
}
