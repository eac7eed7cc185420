package ops

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
)

// maxQueryText bounds the text of a query that is embedded, in characters.
const maxQueryText = 2000

// promptWait bounds the wait for the vector of a prompt. A hook must answer in less
// than 300 ms, whatever the limit of other queries is.
const promptWait = 100 * time.Millisecond

// useMeaning makes a query compare meanings, if the mode admits it and the vector of
// the query is there in time. It returns what the answer reports about that, or
// nil if the mode does not concern it.
func (m readOps) useMeaning(ctx context.Context, c Call, q *index.Query, mode string) *api.Semantic {
	if q.Text == "" || mode != "auto" && mode != "hybrid" && mode != "semantic" || mode == "auto" && m.Vectors == nil {
		return nil
	}
	s := &api.Semantic{State: "off"}
	if m.Vectors == nil {
		return s
	}
	for _, p := range c.View.Partitions() {
		ready, pending := m.Vectors.Count(p)
		s.Ready += ready
		s.Pending += pending
	}
	if mode != "semantic" && (q.Typing || index.WordsOnly(q.Text)) {
		s.State = "exact"
		return s
	}
	text := strings.TrimSpace(index.Unquoted(q.Text))
	if secrets.MatchingRule(q.Text) != "" || secrets.MatchingRule(text) != "" {
		s.State = "private" // before a credential is cut
		return s
	}
	text, _ = index.FirstRunes(text, maxQueryText)
	nearest, err := m.Vectors.Query(ctx, text, c.View.Private())
	switch {
	case err == nil:
		s.State, q.Nearest, q.MeaningOnly = "used", nearest, mode == "semantic"
	case errors.Is(err, index.ErrPrivateQuery):
		s.State = "private"
	case errors.Is(err, context.DeadlineExceeded):
		s.State = "timeout"
	default:
		s.State = "error"
	}
	return s
}

// semanticNotes explain, by state, why a search that requires meanings is by words.
var semanticNotes = map[string]string{
	"off":     "semantic search is off; these hits are by words: set embed.endpoint and embed.model",
	"private": "private queries are not embedded; these hits are by words: set embed.private to allow it",
	"timeout": "the embeddings endpoint did not answer in time; these hits are by words",
	"error":   "the embeddings endpoint failed; these hits are by words: see `memwatchd status`",
}
