package compactor

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// A Summarizer produces short summaries of notes, for example with a model. Its
// output is checked; if it is unusable or missing, sentences of the notes are
// used instead. The fields must not change while the Summarizer is in use; a
// nil Summarizer produces no summaries.
type Summarizer struct {
	// Summarize returns a summary of notes that have the same readers. It returns an
	// error if check rejects the summary.
	Summarize func(ctx context.Context, notes []string, check func(summary string) error) (string, error)
	// MaySend reports whether a note may be sent to the model, given its
	// visibility and its source text.
	MaySend func(v memory.Visibility, source string) bool
	// CheckText returns an error if a text must not be written.
	CheckText func(text string) error

	mu    sync.Mutex
	cache map[[sha256.Size]byte]string
}

// Limits of the requests to a Summarizer.
const (
	maxNotes     = 20      // notes per request, in the order of byWeight
	maxNoteBytes = 8 << 10 // bytes of all notes of a request
	maxRequests  = 50      // requests per plan; the remaining lines use sentences of the notes
	maxFailures  = 3       // consecutive failures after which the model counts as unavailable
)

// summaryRequests counts the requests of a plan.
type summaryRequests struct{ sent, failures int }

// summarize returns a summary of the entries that may be sent to the model, from the
// cache or on request, and these entries. It returns "" if there is no summary.
func (s *Summarizer) summarize(ctx context.Context, r *summaryRequests, d *memory.Document, entries []int,
	v memory.Visibility) (text string, told []int) {
	if s == nil {
		return "", nil
	}
	var notes []string
	size := 0
	for _, i := range byWeight(d, entries) {
		e := &d.Entries[i]
		size += len(e.Text)
		if size > maxNoteBytes || len(notes) == maxNotes {
			break
		}
		if len(sentencesOf(d, i)) > 0 && s.MaySend(v, string(d.Source[e.Span.Start:e.Span.End])) {
			notes, told = append(notes, e.Text), append(told, i)
		}
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", notes))
	s.mu.Lock()
	text = s.cache[key]
	s.mu.Unlock()
	if text != "" || len(notes) == 0 || r.sent == maxRequests || r.failures == maxFailures || ctx.Err() != nil {
		return text, told
	}
	r.sent++
	r.failures++
	text, err := s.Summarize(ctx, notes, func(summary string) error { return s.checkSummary(summary, notes) })
	if err != nil {
		return "", nil
	}
	r.failures = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil {
		s.cache = map[[sha256.Size]byte]string{}
	}
	s.cache[key] = text
	return text, told
}

// checkSummary returns an error if a summary is unusable. It must be one line of
// limited length. At least half of its words, and every number, address and
// file name, must occur in the notes.
func (s *Summarizer) checkSummary(summary string, notes []string) error {
	all := strings.Join(notes, "\n")
	if strings.ContainsAny(summary, "\n\r") {
		return errors.New("the summary has more than one line")
	}
	if n := utf8.RuneCountInString(summary); n > maxSummary {
		return fmt.Errorf("the summary has %d characters, more than %d", n, maxSummary)
	}
	if made := letters.MissingWords(summary, all); len(made) > 0 {
		return fmt.Errorf("%q is not in the notes", made[0])
	}
	if letters.WordOverlap(summary, all) < 0.5 {
		return errors.New("the summary has too few words of the notes")
	}
	return s.CheckText(summary)
}

// clearCache clears the cache after all files have been summarized and archived.
func (s *Summarizer) clearCache() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = nil
}
