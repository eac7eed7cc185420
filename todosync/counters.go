package todosync

import (
	"context"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// MendCounters corrects the counters in a file's frontmatter to match its boxes
// and changes nothing else; a missing file stays missing. The change c sets the
// path, the cause and whether a caller waits for the write. The error is that
// of w.Write.
func MendCounters(ctx context.Context, w Writer, parse func(vault.File) *memory.Document,
	c vault.Change) (vault.Written, error) {
	c.Reason = "counters corrected"
	c.Edit = editFile(parse, func(doc *memory.Document, parse Parse) ([]byte, error) {
		revision := doc.Revise()
		revision.SetCounters()
		return applyRevision(revision, false, parse)
	})
	return w.Write(ctx, c)
}
