package api

import (
	"time"

	"github.com/memwatchd/memwatchd/compactor"
)

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
	Plan    []*compactor.Plan `json:"plan"`           // of the files that are not well within their limits, by path
	Diff    []FileDiff        `json:"diff,omitempty"` // of a dry run: what it would make of these files; in the archive, it only adds
	Applied int               `json:"applied"`        // items that have gone
	DryRun  bool              `json:"dry_run"`
	AsOf    time.Time         `json:"as_of"`          // that ages are counted from
	Since   time.Time         `json:"since,omitzero"` // since when uses are counted

	Redaction
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
