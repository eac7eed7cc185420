package api

import "time"

// CompactRequest asks to make room in long-term files.
type CompactRequest struct {
	Path    string `json:"path" arg:"1" complete:"path" doc:"only this long-term file, those below this directory, or those matching this glob"`
	DryRun  bool   `json:"dry_run" doc:"tell what would go, and change nothing"`
	Explain bool   `json:"explain" doc:"take every score apart, and list what stays as well"`
	Fresh
	Scope
}

// CompactAnswer says what goes, or has gone, to the archive.
type CompactAnswer struct {
	Plan    []CompactPlan `json:"plan"`           // of the files that are not well within their limits, by path
	Diff    []FileDiff    `json:"diff,omitempty"` // of a dry run: what it would make of these files; in the archive, it only adds
	Applied int           `json:"applied"`        // items that have gone
	DryRun  bool          `json:"dry_run"`
	AsOf    time.Time     `json:"as_of"`          // that ages are counted from
	Since   time.Time     `json:"since,omitzero"` // since when uses are counted

	Redaction
}

// A CompactPlan says what goes from one file, and why.
type CompactPlan struct {
	Path    string       `json:"path"`
	Archive string       `json:"archive,omitempty"` // where it goes, as far as is known before
	State   string       `json:"state"`             // within, near, more, waiting, over_limit or left_alone
	Problem string       `json:"problem,omitempty"` // why it is left alone, or why something could not be done
	Limit   CompactLimit `json:"limit"`
	Before  CompactSize  `json:"before"`
	After   CompactSize  `json:"after"`

	Steps []CompactStep `json:"steps"`          // what goes, in the order of lines
	Kept  []CompactStep `json:"kept,omitempty"` // the items that stay, when that is asked for
}

// The states of a file after a plan.
const (
	Within    = "within"     // within its limit
	Near      = "near"       // within, but not by much
	More      = "more"       // over its limit: one run takes only so much, the next goes on
	Waiting   = "waiting"    // over its limit, and too little is known of what is used to choose
	OverLimit = "over_limit" // over its limit, and all that is left is protected
	LeftAlone = "left_alone" // nothing is ever taken out of it as it is
)

// A CompactLimit bounds the files that a pattern matches. No bound is zero.
type CompactLimit struct {
	Pattern    string `json:"pattern"`              // of paths below the root: * within a name, ** across directories, {a,b}
	Items      int    `json:"items,omitempty"`      // top-level list items
	Characters int    `json:"characters,omitempty"` // code points of the body, without comments
}

// CompactSize is how much a long-term file holds.
type CompactSize struct {
	Items      int `json:"items"`
	Characters int `json:"characters"`
}

// A CompactStep is what becomes of one entry.
type CompactStep struct {
	ID      string        `json:"id"` // path#id
	Line    int           `json:"line"`
	EndLine int           `json:"end_line"`
	Section []string      `json:"section,omitempty"`
	Text    string        `json:"text"`   // as it is written, without comments
	Action  string        `json:"action"` // keep, trim (to make room) or merge (a newer entry says the same)
	Reason  string        `json:"reason"` // for a person
	Score   *CompactScore `json:"score,omitempty"`
}

// Keep is the action of a step that leaves its entry where it is.
const Keep = "keep"

// CompactScore is the score of an entry with its parts: what has the lowest goes
// first.
type CompactScore struct {
	Uses    float64 `json:"uses"`
	Links   int     `json:"links"`
	AgeDays float64 `json:"age_days"`
	Use     float64 `json:"use"`
	Recency float64 `json:"recency"`
	Total   float64 `json:"total"`
}

// RestoreRequest asks to bring an archived entry back.
type RestoreRequest struct {
	ID string `json:"id" arg:"1" complete:"archived" doc:"the archived entry, as path#id, or by the id that was given to it"`
	Fresh
	Scope
}

// RestoreAnswer says where the entry is now.
type RestoreAnswer struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Line int    `json:"line"`
}
