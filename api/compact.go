package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// CompactRequest requests that entries of long-term files be archived to bring
// the files within their limits.
type CompactRequest struct {
	Path    string `json:"path" arg:"1" complete:"path" doc:"only this long-term file, long-term files below this directory, or those that match this glob"`
	DryRun  bool   `json:"dry_run" doc:"show the entries to archive, without changing files"`
	Explain bool   `json:"explain" doc:"show the parts of each score, and also list the entries that stay"`
	Fresh
	Scope
	For[CompactAnswer]
}

// CompactAnswer lists the entries that are, or would be, moved to the archive.
type CompactAnswer struct {
	Plan []CompactPlan `json:"plan"` // plans of the files near or over their limits, by path
	// in a dry run: the changes to these files; the archive only gains text
	Diff    []FileDiff `json:"diff,omitempty"`
	Applied int        `json:"applied"` // items moved to the archive
	DryRun  bool       `json:"dry_run"`
	AsOf    time.Time  `json:"as_of"`          // reference time for ages
	Since   time.Time  `json:"since,omitzero"` // start of the period in which uses are counted

	Redaction
}

// A CompactPlan lists the entries to move out of one file, and why.
type CompactPlan struct {
	Path    string       `json:"path"`
	Archive string       `json:"archive,omitempty"` // destination in the archive, if known in advance
	State   string       `json:"state"`             // within, near, more, waiting, over_limit or left_alone
	Problem string       `json:"problem,omitempty"` // why the file is left alone, or why a step failed
	Limit   CompactLimit `json:"limit"`
	Before  CompactSize  `json:"before"`
	After   CompactSize  `json:"after"`

	Steps []CompactStep `json:"steps"`          // entries to move, in line order
	Kept  []CompactStep `json:"kept,omitempty"` // entries that stay; only with explain
}

// The states of a file after a plan.
const (
	Within    = "within"     // within its limit
	Near      = "near"       // within its limit, but close to it
	More      = "more"       // over its limit: one run moves a bounded number of entries, the next run continues
	Waiting   = "waiting"    // over its limit, and uses were not counted long enough to choose entries
	OverLimit = "over_limit" // over its limit, and all remaining entries are protected
	LeftAlone = "left_alone" // the file is never compacted in its present form
)

// A CompactLimit bounds the files that a pattern matches. Zero means unlimited.
type CompactLimit struct {
	// glob for paths below the root: * within a name, ** across directories, {a,b}
	Pattern    string `json:"pattern"`
	Items      int    `json:"items,omitempty"`      // maximum number of top-level list items
	Characters int    `json:"characters,omitempty"` // maximum number of code points of the body, without comments
}

// CompactSize is the size of a long-term file.
type CompactSize struct {
	Items      int `json:"items"`
	Characters int `json:"characters"`
}

// A CompactStep describes the action on one entry.
type CompactStep struct {
	ID      string        `json:"id"` // path#id
	Line    int           `json:"line"`
	EndLine int           `json:"end_line"`
	Section []string      `json:"section,omitempty"`
	Text    string        `json:"text"`   // source text, without comments
	Action  string        `json:"action"` // keep, trim (to free space) or merge (a newer entry has the same content)
	Reason  string        `json:"reason"` // reason, for people
	Score   *CompactScore `json:"score,omitempty"`
}

// The actions of a step.
const (
	Keep  = "keep"
	Trim  = "trim"  // moves the entry to the archive, to free space
	Merge = "merge" // moves the entry to the archive, because a newer one has the same content
)

// CompactScore is the score of an entry with its parts. Entries with the lowest
// score are moved first.
type CompactScore struct {
	Uses    float64 `json:"uses"`     // weighted number of uses; recent uses weigh more
	Links   int     `json:"links"`    // number of entries that link to the entry
	AgeDays float64 `json:"age_days"` // age in days
	Use     float64 `json:"use"`      // part of the score from uses and links
	Recency float64 `json:"recency"`  // part of the score from the age
	Total   float64 `json:"total"`    // score: use + recency
}

func (a *CompactAnswer) render(t *Text) {
	planned, files := 0, 0
	for _, plan := range a.Plan {
		i := slices.IndexFunc(a.Diff, func(f FileDiff) bool { return f.Path == plan.Path })
		plan.render(t, a.Since, i >= 0)
		if i >= 0 {
			t.addDiff(plan.Path, plan.Path, a.Diff[i].Hunks)
		}
		t.addBlank()
		if n := len(plan.Steps); n > 0 {
			planned, files = planned+n, files+1
		}
	}
	t.Changes = planned
	switch {
	case a.DryRun && planned > 0:
		t.printf("%s would be moved from %s to the archive", Plural(planned, "item"), Plural(files, "file"))
	case a.Applied > 0:
		t.printf("%s archived", Plural(a.Applied, "item"))
		t.hint("run `journal` to list the change, `undo` to revert it")
	default:
		t.printf("nothing to archive")
	}
}

// compactStates describe the states of files that need attention.
var compactStates = map[string]string{
	Near:      "nearly full",
	More:      "still over its limit; the next run continues",
	OverLimit: "over its limit, and all remaining items are protected: shorten the file by hand",
	LeftAlone: "skipped",
}

// render adds the items to archive from one file with their reasons. If short is set, a
// difference shows their text.
func (p *CompactPlan) render(t *Text, since time.Time, short bool) {
	state := compactStates[p.State]
	if p.State == Waiting {
		state = "over its limit; usage statistics are complete two weeks after counting began"
		if !since.IsZero() {
			state += ", on " + t.local(since.AddDate(0, 0, 14)).Format(time.DateOnly)
		}
	}
	of := func(before, after, limit int, unit string) string {
		return fmt.Sprint(before) + TextIf(after != before, fmt.Sprintf(" -> %d", after)) +
			TextIf(limit > 0, fmt.Sprintf(" of %d", limit)) + " " + unit
	}
	t.add(Line{Path: p.Path, Notes: []string{of(p.Before.Items, p.After.Items, p.Limit.Items, "items") + ", " +
		of(p.Before.Characters, p.After.Characters, p.Limit.Characters, "characters"), state}})
	t.addProblem(2, p.Problem)
	if p.Archive != "" {
		t.add(Line{Depth: 2, Head: "to", Path: p.Archive})
	}
	for _, s := range p.Steps {
		s.render(t, p.Path, short)
	}
	if len(p.Kept) > 0 {
		t.add(Line{Depth: 2, Text: "remaining items, the next to archive first:", Style: Muted})
	}
	for _, s := range p.Kept {
		s.render(t, p.Path, false)
	}
}

// render adds the result for one item.
func (s *CompactStep) render(t *Text, path string, short bool) {
	t.add(Line{Depth: 2, Path: path, Line: s.Line, Section: strings.Join(s.Section, " > "), Notes: []string{s.Reason}})
	if c := s.Score; c != nil {
		t.add(Line{Depth: 3, Style: Muted, Text: fmt.Sprintf(
			"score %.3f = use %.3f (%.2f uses, %s) + recency %.3f (%.0f days old)",
			c.Total, c.Use, c.Uses, Plural(c.Links, "link"), c.Recency, c.AgeDays)})
	}
	if short {
		return
	}
	for text := range strings.SplitSeq(s.Text, "\n") {
		line := Line{Depth: 2, Head: "-", Text: t.shorten(text), Style: Removed, HeadStyle: Removed}
		if s.Action == Keep {
			line.Depth, line.Head, line.Style = 3, "", Plain
		}
		t.add(line)
	}
}
