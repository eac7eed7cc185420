package ops

import (
	"context"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
)

// An answer to a new entry lists those that share its rare words, so that the writer can
// say which one it replaces. No threshold separates a duplicate from a related entry, so
// nothing is merged or refused.

const (
	maxSimilarEntries = 3
	similarDepth      = 8 // best hits whose shares are compared
	similarWait       = 50 * time.Millisecond

	// Two or three rare words. Beside 1,873 notes about programming, 13 of 20 changed facts
	// list the old one and 3 of 40 ordinary notes list anything; in a memory of 40 entries, 16
	// and none.
	similarCover   = 0.5
	maxSimilarText = 300 // bytes; longer texts are articles, which contain rare words by chance
)

// similarEntries returns the entries that cover most of a text that was written to the given
// lines of a file, best first. While the index is incomplete, or if the search takes long,
// it returns none.
func (m readOps) similarEntries(ctx context.Context, c Call, text, path string, lines ...int) (list []api.SimilarEntry) {
	if c.degraded || path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, similarWait)
	defer cancel()
	result, err := m.Index.Search(ctx, c.View, index.Query{
		Text: index.Unquoted(text[:min(len(text), api.MaxQuery)]), KeepTypos: true, Cover: true, Limit: similarDepth,
		AsOf: m.Now().In(m.Location).Truncate(time.Second),
	})
	if err != nil {
		return nil // the text is written
	}
	for _, h := range result.Hits {
		written := h.Doc.Place.Path == path && slices.Contains(lines, h.Entry.Line)
		if written || h.Cover < similarCover || h.Successor != nil || len(h.Entry.Text) > maxSimilarText {
			continue
		}
		match := m.matchOf(h.Doc, h.Entry, h.Time)
		list = append(list, api.SimilarEntry{Path: match.Path, Line: match.Line, Day: match.Day,
			Text: oneLine(h.Entry.Text), Untrusted: h.Entry.Author().Untrusted(c.View)})
	}
	return list[:min(len(list), maxSimilarEntries)]
}
