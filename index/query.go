package index

import (
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// Mode is how hits are ordered.
type Mode uint8

// The modes of a search.
const (
	Relevance Mode = iota // BM25 with context: the default
	Overlap               // exact token overlap, recency and importance
	Recent                // newest first; the text, if any, only filters
)

var modeNames = [...]string{"relevance", "overlap", "recent"}

// String is the mode's name on the wire.
func (m Mode) String() string { return modeNames[min(int(m), len(modeNames)-1)] }

// ParseMode is the inverse of [Mode.String].
func ParseMode(s string) (Mode, bool) {
	for m, name := range modeNames {
		if s == name {
			return Mode(m), true
		}
	}
	return 0, false
}

// A Query is what to look for, among what, and how much of it to return. The
// zero query asks for nothing.
type Query struct {
	Text    string // words, all optional; "quoted phrases" must occur
	Exclude string // no hit contains any of these words or quoted phrases
	Mode    Mode
	Bias    float64   // Overlap: weight of recency, 0 to 1
	All     bool      // Overlap: entries without any of the words too
	AsOf    time.Time // the time that ages are counted from
	Filter  Filter
	Offset  int
	Limit   int
	Explain bool
	Cover   bool // Relevance: hits say how much of the query they cover
}

// A Filter restricts hits; empty fields restrict nothing.
type Filter struct {
	Kinds    []memory.Kind
	Types    []string
	Tags     []string // all of them, or any with AnyTag; without '#'
	AnyTag   bool
	Sections []string // any heading of the section path, case aside
	Path     string   // doublestar glob, or a directory
	Since    time.Time
	Until    time.Time // inclusive
	State    *memory.TaskState
	Session  string // session_id or the name of the session's file
	Contact  string // contact_id
	Archived bool   // archived entries too
}

// A Hit is an entry as its file is now.
type Hit struct {
	Doc        *memory.Document
	Entry      *memory.Entry
	Score      float64
	Snippet    string
	Highlights [][2]int // ranges of Snippet that matched, in code points, end exclusive
	AlsoAt     []Ref    // entries with the same text, best first
	Cover      float64  // with Query.Cover: which share of the query stands in it, 0 to 1
	Why        *Why     // with Query.Explain
}

// A Ref names an entry without its text.
type Ref struct {
	Path string
	ID   string
	Line int // 1-based, as the asking view sees the file
}

// Why is a score taken apart. Score = Own + Near + File + Recency in Relevance,
// Text*(1-bias) + Recency*bias + Importance*0.15 in Overlap.
type Why struct {
	Terms      []TermScore
	Own        float64
	Near       float64
	File       float64
	Recency    float64
	Text       float64
	Importance float64
}

// TermScore is one term's part of an entry's own score.
type TermScore struct {
	Term  string
	Idf   float64
	Tf    float64
	Score float64
}

// A Result is one page of hits.
type Result struct {
	Hits     []Hit
	Total    int    // readable entries that match, before equal ones are folded
	Note     string // why there is nothing, or less than expected
	Degraded bool   // the index is not complete, or files changed faster than they could be read: entries may be missing
}

// A Source gives files as they are now. Load returns an error satisfying
// errors.Is(err, fs.ErrNotExist) for a file that is gone.
type Source interface {
	Stamp(path string) (memory.Stamp, error)
	Load(path string) (*memory.Document, error)
}
