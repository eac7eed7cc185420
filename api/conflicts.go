package api

import (
	"cmp"
	"fmt"
	"strings"
)

// ConflictsRequest requests the conflict copies of the memory.
type ConflictsRequest struct {
	Path string `json:"path" arg:"1" complete:"path" doc:"only this conflict copy, or the copies of this file, with the entries that both versions changed and the effect of a merge"`
	Scope
	For[ConflictsAnswer]
}

// ConflictsMergeRequest requests the merge of conflict copies into their files.
type ConflictsMergeRequest struct {
	Path   string `json:"path" arg:"1" complete:"path" doc:"only this conflict copy, or the copies of this file"`
	Keep   string `json:"keep" enum:"file,copy,both" doc:"version to keep of entries that both versions changed: file, copy or both. Without it, these entries and the copy stay"`
	DryRun bool   `json:"dry_run" doc:"show the effect, without changing files"`
	Scope
	For[ConflictsAnswer]
}

// ConflictsAnswer lists conflict copies.
type ConflictsAnswer struct {
	Copies []ConflictCopy `json:"copies"`
	DryRun bool           `json:"dry_run,omitempty"`

	Redaction
}

// A ConflictCopy is a copy that a sync tool made because two machines changed a
// file at the same time, with the effect of its merge.
type ConflictCopy struct {
	Path      string          `json:"path"`
	File      string          `json:"file"`                // the file of which it is a copy
	Added     int             `json:"added"`               // entries and headings that the merge adds to the file
	Changed   int             `json:"changed"`             // those that the merge changes
	Removed   int             `json:"removed"`             // those that the merge removes
	Conflicts int             `json:"conflicts"`           // those that both versions changed
	Whole     bool            `json:"whole,omitempty"`     // the versions cannot be merged entry by entry
	Base      bool            `json:"base"`                // the journal contains a common version
	Both      []ConflictEntry `json:"both,omitempty"`      // what both versions changed, with path
	Diff      []DiffHunk      `json:"diff,omitempty"`      // effect of the merge on the file, with path
	Truncated bool            `json:"truncated,omitempty"` // there are more hunks, or they are longer
	Merged    bool            `json:"merged,omitempty"`    // the copy was merged and removed
	Change    string          `json:"change,omitempty"`    // id of the merge in the journal
	Problem   string          `json:"problem,omitempty"`   // why it cannot be merged, or not completely
}

// A ConflictEntry is an entry that both versions changed: its text in the last
// common version, in the file and in the copy, empty where it is missing.
type ConflictEntry struct {
	Base string `json:"base"`
	File string `json:"file"`
	Copy string `json:"copy"`
}

func (a *ConflictsAnswer) render(t *Text) {
	merged := 0
	for i, c := range a.Copies {
		if i > 0 && len(c.Diff)+len(c.Both) > 0 {
			t.addBlank()
		}
		t.addFinding(c.Path, 0, c.effect(), c.mergeState(a.DryRun))
		if c.Merged {
			merged++
		}
		if c.Problem == "" || len(c.Diff) > 0 {
			t.Changes++
		}
		for _, both := range c.Both {
			for _, version := range []struct{ name, text string }{{"was", both.Base}, {"file", both.File},
				{"copy", both.Copy}} {
				for line := range strings.Lines(version.text) {
					t.add(Line{Depth: 2, Head: fmt.Sprintf("%-5s", version.name), Text: strings.TrimRight(line, "\n")})
				}
			}
		}
		t.addDiff(c.File, c.File, c.Diff)
		if c.Problem != "" {
			t.warn("%s: %s", c.Path, strings.Replace(c.Problem, "set keep to file",
				"merge the copy with --keep file", 1))
			if t.accepts("keep") {
				t.Failure = someRemain
			}
		}
	}
	if len(a.Copies) == 0 {
		t.hint("no conflict copies")
	}
	if merged > 0 {
		t.printf("%s merged", Plural(merged, "conflict copy"))
	}
}

// effect describes the merge of a copy in words.
func (c *ConflictCopy) effect() string {
	counts := andSome(c.Added, "added") + andSome(c.Changed, "changed") + andSome(c.Removed, "removed") +
		andSome(c.Conflicts, "changed by both")
	effect := strings.TrimPrefix(cmp.Or(counts, TextIf(c.Problem != "", "not merged"), "nothing new"), ", ")
	return effect + TextIf(!c.Base && (counts != "" || c.Problem == ""),
		"; no common version: entries of both are kept")
}

func (c *ConflictCopy) mergeState(dryRun bool) string {
	switch {
	case c.Merged:
		return "merged"
	case c.Problem != "":
		return "stays"
	case dryRun:
		return "would be merged"
	}
	return "conflict copy"
}
