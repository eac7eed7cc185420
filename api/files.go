package api

import (
	"cmp"
	"fmt"
	"time"
)

// FilesRequest requests the readable files, sorted by path.
type FilesRequest struct {
	Path   string   `json:"path" arg:"1" complete:"path" doc:"only files below this directory, or files that match this glob"`
	Roots  []string `json:"roots" flag:"root" doc:"files of these folders: names of memory.roots, or memory for the memory directory; default: memory, or the folder that path names"`
	Kinds  []string `json:"kinds" enum:"note,session,daily,longterm,items,identity,archive,review" doc:"only files of these kinds: note, session, daily, longterm, items, identity, archive, review"`
	Totals bool     `json:"totals" doc:"return numbers of files, entries and words by kind and month, not the files"`
	After  string   `json:"after" complete:"path" doc:"only files that sort after this path; for the next page, the next field of the previous answer"`
	Limit  int      `json:"limit" default:"1000" preset:"10000" min:"1" max:"10000" doc:"maximum number of files, 1 to 10000"`
	Fresh
	Scope
	For[FilesAnswer]
}

// FilesAnswer contains the files that the caller may read, or their numbers.
type FilesAnswer struct {
	Files  []ListedFile `json:"files"`          // without those whose names contain a credential; empty with totals
	Total  FileTotals   `json:"total"`          // of all files with the path and the kinds
	Kinds  []FileTotals `json:"kinds"`          // with totals: by kind, in order of the names
	Months []FileTotals `json:"months"`         // with totals: entries by the month of their time, oldest first
	Next   string       `json:"next,omitempty"` // path of the last of these files, if more follow
	Index  IndexState   `json:"index"`

	Redaction
}

// A ListedFile is a file that the caller may read. Its numbers and its time count
// readable entries only.
type ListedFile struct {
	Path    string    `json:"path"`
	Kind    string    `json:"kind"`          // note, session, daily, longterm, items, identity or archive
	Time    time.Time `json:"time,omitzero"` // newest time of its entries
	Entries int       `json:"entries"`
	Words   int       `json:"words"` // indexed words; in Chinese, characters and pairs of characters
}

// FileTotals are sums over readable entries.
type FileTotals struct {
	Of      string `json:"of,omitempty"` // the kind, or the month as YYYY-MM; empty for undated entries
	Files   int    `json:"files"`        // with some of these entries; for a kind also those without entries
	Entries int    `json:"entries"`
	Words   int    `json:"words"`
}

func (a *FilesAnswer) render(t *Text) {
	for _, f := range a.Files {
		t.Files = append(t.Files, f.Path)
		date := TextIf(!f.Time.IsZero(), t.local(f.Time).Format(time.DateOnly))
		t.add(Line{Head: fmt.Sprintf("%-10s %6d ", date, f.Entries), HeadStyle: Muted, Path: f.Path})
	}
	if len(a.Kinds)+len(a.Months) > 0 {
		a.Total.Of = "total"
		t.addTotals("kind", append(a.Kinds, a.Total))
		t.addBlank()
		t.addTotals("month", a.Months)
	}
	if a.Total.Files == 0 {
		t.listNothing("no files")
	}
	if a.Next != "" {
		t.hint("%d of %s; `after` %s shows more", len(a.Files), Plural(a.Total.Files, "file"), a.Next)
	}
}

// addTotals adds a table of sums.
func (t *Text) addTotals(of string, list []FileTotals) {
	t.add(Line{Text: fmt.Sprintf("%-10s%9s %9s %10s", of, "files", "entries", "words"), Style: Muted})
	for _, sum := range list {
		t.printf("%-10s%9d %9d %10d", cmp.Or(sum.Of, "undated"), sum.Files, sum.Entries, sum.Words)
	}
}
