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

// A Summarizer is somebody, such as a model, who says in a sentence or two what
// notes come to. What it says is checked, and where it is of no use, or there is
// none, the sentences of the notes themselves are used. Its fields must not change
// while it is in use; a nil Summarizer says nothing.
type Summarizer struct {
	// Ask asks about notes that the same people may read. What check says no to
	// is an error.
	Ask func(ctx context.Context, notes []string, check func(summary string) error) (string, error)
	// Tell reports whether a note may be told, given who may read it and how it
	// stands in its file.
	Tell func(v memory.Visibility, source string) bool
	// Refuse says why a text cannot be written.
	Refuse func(text string) error

	mu   sync.Mutex
	said map[[sha256.Size]byte]string
}

// How much is asked.
const (
	maxNotes     = 20      // of one question, the first in the order of sentences
	maxNoteBytes = 8 << 10 // of all of them
	maxAsked     = 50      // questions of one plan: the rest is said in their own words
	maxFailures  = 3       // of these, one after the other: then nobody is there
)

// notes are the texts of some entries that may be told, and these entries.
func (s *Summarizer) notes(d *memory.Document, entries []int, v memory.Visibility) (texts []string, told []int) {
	if s == nil {
		return nil, nil
	}
	size := 0
	for _, i := range byWeight(d, entries) {
		e := &d.Entries[i]
		if size += len(e.Text); size > maxNoteBytes || len(texts) == maxNotes {
			break
		}
		if len(sentencesOf(d, i)) > 0 && s.Tell(v, string(d.Source[e.Span.Start:e.Span.End])) {
			texts, told = append(texts, e.Text), append(told, i)
		}
	}
	return texts, told
}

// known is what was said of some notes; empty if they were not asked about, or
// nothing came of it.
func (s *Summarizer) known(notes []string) string {
	if s == nil || len(notes) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said[noteKey(notes)]
}

func noteKey(notes []string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", notes))
}

// learn asks about the notes of a plan, and reports whether there is something
// new to say.
func (s *Summarizer) learn(ctx context.Context, plan *CompressPlan) (learned bool) {
	if s == nil {
		return false
	}
	asked, failures := 0, 0
	for i := range plan.Files {
		for _, line := range plan.Files[i].Lines {
			if len(line.notes) == 0 || s.known(line.notes) != "" {
				continue
			}
			if asked++; asked > maxAsked || failures == maxFailures || ctx.Err() != nil {
				return learned
			}
			text, err := s.Ask(ctx, line.notes, func(summary string) error { return s.check(summary, line.notes) })
			if failures++; err != nil {
				continue
			}
			failures, learned = 0, true
			s.mu.Lock()
			if s.said == nil {
				s.said = map[[sha256.Size]byte]string{}
			}
			s.said[noteKey(line.notes)] = text
			s.mu.Unlock()
		}
	}
	return learned
}

// check says why a summary is of no use: it is one line that is not too long, at
// least half of its words are those of the notes, and so is every number, address
// and name of a file.
func (s *Summarizer) check(summary string, notes []string) error {
	all := strings.Join(notes, "\n")
	if strings.ContainsAny(summary, "\n\r") {
		return errors.New("a summary has more than one line")
	}
	if n := utf8.RuneCountInString(summary); n > maxSummary {
		return fmt.Errorf("a summary has %d characters, at most %d", n, maxSummary)
	}
	if made := memory.Lost(summary, all); len(made) > 0 {
		return fmt.Errorf("%q is in none of the notes", made[0])
	}
	if memory.Shared(summary, all) < 0.5 {
		return errors.New("a summary does not say what the notes say")
	}
	return s.Refuse(summary)
}

// forget is called when what was said has been written.
func (s *Summarizer) forget() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = nil
}
