package index

import (
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A Mode is an order of hits.
type Mode uint8

// The modes of a search.
const (
	Relevance Mode = iota // BM25 with context, the default
	Overlap               // exact token overlap, recency and importance
	Recent                // newest first, a note without times of entries once; a text only filters
)

// A Query describes a search. The zero Query has no hits.
type Query struct {
	Text      string // words, all optional; entries with the "quoted phrases" come first
	Exact     bool   // hits contain all phrases
	Typing    bool   // the last word is the beginning of a word
	KeepTypos bool   // words that nothing contains are not replaced by similar ones
	Exclude   string // no hit contains any of these words or quoted phrases
	Mode      Mode
	Bias      float64   // Overlap: weight of recency, 0 to 1
	All       bool      // Overlap: include entries without any of the words
	AsOf      time.Time // reference time of ages
	Filter    Filter
	Offset    int
	Limit     int
	Explain   bool
	ByFile    bool // hits are the best entries of different files
	Cover     bool // Relevance: hits contain their Cover

	// Weights are factors of the scores of entries, by the owner key of their
	// partition, at least 0 and at most 1; the factor of other entries is 1.
	Weights map[string]float64

	// Nearest compares the text with those of entries, for Relevance. The order is
	// then that of the ranks by words and by meaning together, or only of the ranks
	// by meaning.
	Nearest     Nearest
	MeaningOnly bool
}

// A Filter restricts hits; empty fields restrict nothing.
type Filter struct {
	Kinds    []memory.Kind
	Types    []string
	Tags     []string // all of them, or any with AnyTag; without '#'
	AnyTag   bool
	Sections []string // any heading of the section path, ignoring case
	Path     string   // doublestar glob, directory or file
	Since    time.Time
	Until    time.Time // inclusive
	State    *memory.TaskState
	Session  string // session_id or file name of the session
	Contact  string // contact_id
	Archived bool   // include archived entries
	Review   bool   // include entries that wait for a review
}

// A Hit is an entry with the current content of its file.
type Hit struct {
	Doc        *memory.Document
	Entry      *memory.Entry
	Score      float64
	Time       time.Time // of the entry; zero if unknown
	Snippet    string
	Language   string   // of the code in Snippet
	Highlights [][2]int // matching ranges of Snippet, in code points, end exclusive
	AlsoAt     []Ref    // entries with the same text, best first
	Successor  *Ref     // readable entry that supersedes it, or nil
	Missing    []string // words of the query that the entry lacks
	More       int      // other entries of the file that match, if the file is one hit
	Cover      float64  // with Query.Cover: share of the query in the entry, 0 to 1
	Shares     bool     // with Query.Cover: the text contains a word of the query as it is written there
	Close      bool     // with Query.Cover and Query.Nearest: few readable entries are as similar to the query
	Why        *Why     // with Query.Explain
}

// A Ref names an entry without its text.
type Ref struct {
	Path string
	ID   string
	Line int // 1-based, in the file as the view reads it
}

// The explanations of hits are those of answers.
type (
	Why        = api.Why
	TermScore  = api.TermScore
	Correction = api.Correction
)

// A Result is one page of hits.
type Result struct {
	Hits      []Hit
	Total     int          // readable entries that match, before entries with equal text are folded
	TotalAll  int          // those that contain all words of the query
	Absent    []string     // words of the query that nothing readable contains
	Files     int          // files of these entries
	Next      int          // offset of the next page, 0 on the last one
	Note      string       // explanation of missing hits, or of hits without the phrases
	Corrected []Correction // words that nothing readable contains, and the words of the hits instead
	Degraded  bool         // entries may be missing: the index is not complete, or hits have just changed
	Changed   bool         // hits have changed since they were indexed, and are missing
}

// A Source reads the current files. Load returns the current version of a file, or an
// error satisfying errors.Is(err, fs.ErrNotExist) if the file does not exist.
type Source interface {
	Load(path string) (*memory.Document, error)
}
