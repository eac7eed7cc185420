package ops

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// shownLines records which lines of memory the sessions of agents have been shown, so that
// no block repeats them. It contains hashes only and is not stored: after a restart a line
// may be shown once more.
type shownLines struct {
	mu       sync.Mutex
	sessions []*shownSession // the one used last is the last
}

type shownSession struct {
	id    string
	lines map[uint64]bool
	query uint64   // of the last block of matches
	added []uint64 // lines of that block
}

// Bounds of the record.
const (
	maxShownSessions = 64
	maxShownLines    = 8192 // of a session; then its lines are shown again
)

var shownSeed = maphash.MakeSeed()

func hashShown(text string) uint64 { return maphash.String(shownSeed, text) }

// session returns the record of the session of a request, or a new one without a session.
// The caller holds mu.
func (s *shownLines) session(c Call, id string) *shownSession {
	if id == "" {
		return &shownSession{lines: map[uint64]bool{}}
	}
	key := fmt.Sprintf("%q %q %v %q", c.listener, c.program.Name, c.Scope, id)
	i := slices.IndexFunc(s.sessions, func(one *shownSession) bool { return one.id == key })
	one := &shownSession{id: key, lines: map[uint64]bool{}}
	if i >= 0 {
		one = s.sessions[i]
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
	s.sessions = append(s.sessions[max(0, len(s.sessions)-maxShownSessions+1):], one)
	return one
}

// restart forgets what a session has been shown before a block for its start, since after a
// compaction nothing of it remains, and records that block.
func (s *shownLines) restart(c Call, id, block string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.session(c, id)
	*one = shownSession{id: one.id, lines: map[uint64]bool{}}
	for line := range strings.Lines(block) {
		task := line[:max(strings.LastIndex(line, " ("), 0)] // without its place
		one.add(line + "\n" + task)
	}
	one.added = nil // a repeated prompt shows no line of this block again
}

// filter returns a function that reports whether all lines of a text have been shown in the
// session of a request. A request that does not wait for the index repeats one whose answer
// came too late: the lines of that answer do not count.
func (s *shownLines) filter(c Call, r *api.ContextRequest) func(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.session(c, r.Session)
	if !r.Waits() && one.query == hashShown(r.Query) {
		for _, line := range one.added {
			delete(one.lines, line)
		}
	}
	return func(text string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !slices.ContainsFunc(hashLines(text), func(line uint64) bool { return !one.lines[line] })
	}
}

// record records the texts of a block of matches.
func (s *shownLines) record(c Call, r *api.ContextRequest, texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.session(c, r.Session)
	one.query, one.added = hashShown(r.Query), nil
	for _, text := range texts {
		one.add(text)
	}
}

func (one *shownSession) add(text string) {
	if len(one.lines) > maxShownLines {
		clear(one.lines)
	}
	for _, line := range hashLines(text) {
		if !one.lines[line] {
			one.lines[line] = true
			one.added = append(one.added, line)
		}
	}
}

var lineMarkerRE = lazyregexp.New(`^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?`)

// hashLines returns the hashes of the lines of a text, as they are in a block and in a file.
func hashLines(text string) (hashes []uint64) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(line, brief.Mark+" ", "")
		if line = strings.TrimSpace(lineMarkerRE().ReplaceAllString(line, "")); line != "" {
			hashes = append(hashes, hashShown(line))
		}
	}
	return hashes
}
