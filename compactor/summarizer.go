package compactor

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

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

// selectNotes returns the texts of the entries that may be sent to the model, and
// these entries.
func (s *Summarizer) selectNotes(d *memory.Document, entries []int, v memory.Visibility) (texts []string, told []int) {
	if s == nil {
		return nil, nil
	}
	size := 0
	for _, i := range byWeight(d, entries) {
		e := &d.Entries[i]
		size += len(e.Text)
		if size > maxNoteBytes || len(texts) == maxNotes {
			break
		}
		if len(sentencesOf(d, i)) > 0 && s.MaySend(v, string(d.Source[e.Span.Start:e.Span.End])) {
			texts, told = append(texts, e.Text), append(told, i)
		}
	}
	return texts, told
}

// cachedSummary returns the cached summary of notes, or "" if there is none.
func (s *Summarizer) cachedSummary(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cache[noteKey(notes)]
}

func noteKey(notes []string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", notes))
}

// requestMissing requests the missing summaries for a plan and reports whether it
// received any.
func (s *Summarizer) requestMissing(ctx context.Context, plan *CompressPlan) (learned bool) {
	asked, failures := 0, 0
	for i := range plan.Files {
		for _, line := range plan.Files[i].lines {
			if len(line.notes) == 0 || s.cachedSummary(line.notes) != "" {
				continue
			}
			asked++
			if asked > maxRequests || failures == maxFailures || ctx.Err() != nil {
				return learned
			}
			text, err := s.Summarize(ctx, line.notes, func(summary string) error { return s.checkSummary(summary, line.notes) })
			failures++
			if err != nil {
				continue
			}
			failures, learned = 0, true
			s.mu.Lock()
			if s.cache == nil {
				s.cache = map[[sha256.Size]byte]string{}
			}
			s.cache[noteKey(line.notes)] = text
			s.mu.Unlock()
		}
	}
	return learned
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
	if made := memory.MissingWords(summary, all); len(made) > 0 {
		return fmt.Errorf("%q is not in the notes", made[0])
	}
	if memory.WordOverlap(summary, all) < 0.5 {
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
