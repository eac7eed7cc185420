package api

import (
	"github.com/memwatchd/memwatchd/compactor"
)

// CompressRequest asks to sum up old sessions and daily notes.
type CompressRequest struct {
	Cutoff string `json:"cutoff" doc:"how old they are, such as 48h or 30d; as configured if empty"`
	DryRun bool   `json:"dry_run" doc:"tell what would be summed up and archived, and write nothing"`
	Scope
}

// CompressAnswer says what is summed up and archived, and what came of it.
type CompressAnswer struct {
	compactor.CompressReport
	DryRun bool `json:"dry_run"`

	Redaction
}
