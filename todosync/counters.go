package todosync

import (
	"context"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// MendCounters makes the counters that a file's frontmatter has agree with its
// boxes, and changes nothing else of it. The change says the path, the cause and
// who waits for it.
func MendCounters(ctx context.Context, w Writer, parse func(vault.File) *memory.Document, c vault.Change) (vault.Written, error) {
	c.Reason = "counters put right"
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
