package api

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// ImportRequest requests that records of another program be written: conversations to private
// files of their own below imports/, and entries and items to their files.
type ImportRequest struct {
	Source  string `json:"source" need:"true" enum:"chatgpt,claude,claude-code,codex,mem0,server-memory,claude-mem,jsonl" doc:"program of the records: chatgpt, claude, claude-code, codex, mem0, server-memory, claude-mem or jsonl"`
	Records string `json:"records" size:"request" arg:"1" need:"true" doc:"records as JSON lines with the fields id, title, created, updated and tags, and with parts, entry or item; on the command line, the exported files, directories or archives, or - for standard input"`
	Since   string `json:"since" doc:"only records that were changed since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday or a weekday"`
	DryRun  bool   `json:"dry_run" doc:"check the records and list the changes, without changing files"`
	Scope
	For[ImportAnswer]
}

// An ImportRecord is a record of another program, such as a conversation: one
// line of an import.
type ImportRecord struct {
	ID      string       `json:"id"`    // unique in its program; a later import of the id replaces the record
	Title   string       `json:"title"` // heading of the file, and part of its name
	Created time.Time    `json:"created,omitzero"`
	Updated time.Time    `json:"updated,omitzero"`
	Tags    []string     `json:"tags,omitempty"`
	Parts   []ImportPart `json:"parts,omitempty"` // of a file of its own
	Entry   *ExportEntry `json:"entry,omitempty"` // of a file with others; a summary without a path belongs to the owner
	Item    *Item        `json:"item,omitempty"`  // a keyed item of any subject
}

// An ImportPart is a message, or a block of Markdown.
type ImportPart struct {
	Author string `json:"author,omitempty"` // of a message: person, agent or attachment
	Text   string `json:"text"`
}

// ImportAnswer counts the imported records.
type ImportAnswer struct {
	Created   int              `json:"created"`           // new records
	Rewritten int              `json:"rewritten"`         // records that replaced an earlier version
	Unchanged int              `json:"unchanged"`         // records that are in the memory
	Edited    int              `json:"edited"`            // records whose text in the memory was edited or is newer, and stays
	Older     int              `json:"older"`             // records from before since
	Failed    int              `json:"failed"`            // records that were not imported
	Records   []ImportedRecord `json:"records"`           // in the order of the request
	DryRun    bool             `json:"dry_run,omitempty"` // nothing was written
	Disabled  bool             `json:"disabled,omitempty"`

	Redaction
}

// An ImportedRecord is the result of importing one record.
type ImportedRecord struct {
	Line        int      `json:"line,omitempty"`        // in the request, from 1
	Path        string   `json:"path,omitempty"`        // file of the record
	State       string   `json:"state"`                 // created, rewritten, unchanged, edited, older or failed
	Reason      string   `json:"reason,omitempty"`      // why it failed
	Credentials []string `json:"credentials,omitempty"` // kinds of the credentials that were masked in the file
}

// ExportRequest requests all readable text, in pages.
type ExportRequest struct {
	Entries         bool   `json:"entries" doc:"return the entries of each file in place of its text"`
	IncludeArchived bool   `json:"include_archived" doc:"also export archived files"`
	Path            string `json:"path" complete:"path" doc:"only files below this directory, or files that match this glob"`
	Cursor          string `json:"cursor" doc:"for the next page, the next field of the previous answer"`
	Fresh
	Scope
	For[ExportAnswer]
}

// ExportAnswer is a page of files, sorted by path.
type ExportAnswer struct {
	Files []ExportFile `json:"files"`
	Next  string       `json:"next,omitempty"` // cursor of the next page, if there is one
	Index IndexState   `json:"index"`

	Redaction
}

// An ExportFile is the readable part of a file.
type ExportFile struct {
	Path    string        `json:"path"`
	Text    string        `json:"text,omitempty"`
	Entries []ExportEntry `json:"entries,omitempty"`
}

// An ExportEntry is an entry with everything that is known about it.
type ExportEntry struct {
	ID      string   `json:"memory_id"` // path#id
	Path    string   `json:"path"`
	Section []string `json:"section,omitempty"` // headings above the entry, outermost first
	// of the file: note, session, daily, longterm, items, identity or archive
	Kind       string    `json:"kind"`
	Type       string    `json:"type"`
	Content    string    `json:"content"` // Markdown
	Title      string    `json:"title,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	Task       string    `json:"task,omitempty"` // open if any of its tasks is open, else done
	Importance float64   `json:"importance,omitempty"`
	Confidence *float64  `json:"confidence,omitempty"`
	Evidence   []string  `json:"evidence,omitempty"`
	Source     string    `json:"source,omitempty"`
	WrittenBy  string    `json:"written_by,omitempty"` // subject that wrote it, if that is another one
	Subject    string    `json:"subject,omitempty"`    // owner of the entry
	Visibility string    `json:"visibility"`
	Session    string    `json:"session,omitempty"`
	Day        string    `json:"day,omitempty"`
	Updated    time.Time `json:"updated,omitzero"`
	Summary    string    `json:"summary,omitempty"` // profile or project: the entry is a summary with evidence
	Project    string    `json:"project,omitempty"` // of a summary of a project

	Attributes map[string]string `json:"attributes,omitempty"` // all others, such as created and pin
	Front      string            `json:"front,omitempty"`      // frontmatter of the file, in its first entry
}

// Add adds the results of another answer, and counts its records.
func (a *ImportAnswer) Add(next *ImportAnswer) {
	a.Records = append(a.Records, next.Records...)
	for _, r := range next.Records {
		switch r.State {
		case "created":
			a.Created++
		case "rewritten":
			a.Rewritten++
		case "unchanged":
			a.Unchanged++
		case "edited":
			a.Edited++
		case "older":
			a.Older++
		default:
			a.Failed++
		}
	}
	a.Redacted += next.Redacted
	a.DryRun, a.Disabled = a.DryRun || next.DryRun, a.Disabled || next.Disabled
}

// render adds the numbers of records and, of a dry run, their files. It lists the records
// that failed and those with credentials.
func (a *ImportAnswer) render(t *Text) {
	verb := TextIf(a.DryRun, "to be ")
	t.printf("%s %screated, %d %srewritten, %d unchanged%s%s", Plural(a.Created, "record"), verb, a.Rewritten, verb,
		a.Unchanged, andSome(a.Edited, "kept as edited"), andSome(a.Older, "older"))
	list := func(text string) { t.add(Line{Depth: 2, Text: text}) }
	var dirs []string // of the written files
	for _, r := range a.Records {
		written := r.State == "created" || r.State == "rewritten"
		if dir := path.Dir(r.Path); written && r.Path != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		switch {
		case r.State == "failed" && r.Line == 0: // not sent; the reason names the file
			list(r.Reason)
		case r.State == "failed":
			list(cmp.Or(r.Path, fmt.Sprintf("record %d", r.Line)) + ": " + r.Reason)
		case r.State == "edited", a.DryRun && written:
			list(r.State + ": " + r.Path)
		}
		if len(r.Credentials) > 0 && written {
			list(r.Path + ": credentials removed: " + strings.Join(r.Credentials, ", "))
		}
	}
	if shown := firstOf(dirs); len(dirs) > 0 && !a.DryRun {
		t.hint("files in %s%s", strings.Join(shown, ", "), andSome(len(dirs)-len(shown), "more directories"))
	}
}
