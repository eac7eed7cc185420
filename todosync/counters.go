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
	c.Edit = func(old *vault.File) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		revision := parse(*old).Revise()
		revision.SetCounters()
		if revision.Empty() {
			return nil, nil
		}
		return revision.Apply(func(source []byte) *memory.Document {
			next := *old
			next.Data = source
			return parse(next)
		})
	}
	return w.Write(ctx, c)
}
