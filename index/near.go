package index

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// withTitle returns a document, which may be nil. Of a note without text, it returns a copy
// with one entry: the title, without an id and lines. A title with a credential is no entry.
func withTitle(doc *memory.Document) *memory.Document {
	if doc == nil || len(doc.Entries) > 0 || doc.Place.Kind != memory.Note || doc.Place.Copy != "" {
		return doc
	}
	title := doc.Title()
	if secrets.Find(title) != nil {
		return doc
	}
	note := *doc
	note.Entries = []memory.Entry{{Text: title, Norm: normalizePhrase(title), Heading: -1, Tags: doc.Front.Tags,
		Partition: doc.Partition}}
	return &note
}

// CountEntries returns the number of entries of a document in the index.
func CountEntries(doc *memory.Document) int { return len(withTitle(doc).Entries) }

func sumOf(hash [32]byte) uint64 { return binary.LittleEndian.Uint64(hash[:]) }

// dupOf returns an equal value for equal texts. It is the prefix of a
// cryptographic hash, so that an attacker cannot write a text that hides
// another one.
func dupOf(norm string) uint64 { return sumOf(sha256.Sum256([]byte(norm))) }

// Vectors compares the meaning of texts. An implementation stores one vector for
// each text that [Texts] returns, by partition and key, and never lets a vector of
// one partition affect the result for another.
type Vectors interface {
	// Query returns a function that compares the text of a query with the stored
	// texts. It waits for the vector of the query no longer than the limit that
	// applies to queries. If the query is private and may not leave the machine,
	// the error is ErrPrivateQuery; if there was no vector in time, the error is
	// context.DeadlineExceeded.
	Query(ctx context.Context, text string, private bool) (Nearest, error)
	// Count returns how many of the present texts of a partition have a vector, and
	// how many wait for one. It must be fast: each answer calls it.
	Count(p memory.Partition) (ready, pending int)
}

// Nearest returns the texts of a partition that are most similar to a query: those
// with the highest cosines among the keys that accept admits, best first, at most
// limit. Equal cosines are ordered by key. A rejected key has no influence on the
// result, not even as a candidate of an approximation. Nearest does not block and
// calls accept only until it returns.
type Nearest func(p memory.Partition, limit int, accept func(TextKey) bool) []Similar

// A Similar is a text that is similar to a query.
type Similar struct {
	Key    TextKey
	Cosine float32
}

// ErrPrivateQuery reports a private query that is not sent to the endpoint.
var ErrPrivateQuery = errors.New("private query is not sent; set embed.private to allow it")

// A TextKey identifies a text within a partition: the first 64 bits of its SHA-256,
// without the prefix that a model wants. The key does not depend on the path of the
// file, so moved or restored text keeps its vector. It is never zero.
type TextKey uint64

// A Text is the text of an entry as it is embedded, with the headings above it and
// the day of its file.
type Text struct {
	TextRef
	Text string
	Time time.Time // of the entry; zero if unknown
}

// A TextRef identifies a text by its partition and key.
type TextRef struct {
	Partition memory.Partition
	Key       TextKey
}

// Texts returns the texts of a document that can be embedded.
func Texts(doc *memory.Document) iter.Seq[Text] {
	return func(yield func(Text) bool) {
		doc := withTitle(doc)
		for i := range doc.Entries {
			text, key := embeddedText(doc, &doc.Entries[i])
			if key != 0 && !yield(Text{TextRef{doc.Partition, key}, text, doc.Entries[i].Time}) {
				return
			}
		}
	}
}

// The limits of embedded texts. Shorter ones mean too little to be compared.
const (
	minEmbeddedWords = 4
	maxEmbeddedText  = 2000 // code points of the entry
	maxEmbeddedHead  = 500  // code points of the headings and the day
)

// embeddedText returns the text that stands for an entry, and its key, or zero if
// the entry is not embedded: archived, short, or with a credential, which is masked
// in its text.
func embeddedText(doc *memory.Document, e *memory.Entry) (string, TextKey) {
	if doc.Place.Kind == memory.Archive || e.Masked || !hasWords(e.Text, minEmbeddedWords) {
		return "", 0
	}
	head := slices.Clone(e.Sections)
	if day := doc.Place.Day; day != "" && !slices.Contains(head, day) {
		head = append(head, day)
	}
	text, _ := FirstRunes(e.Text, maxEmbeddedText)
	if len(head) > 0 {
		above, _ := FirstRunes(strings.Join(head, " > "), maxEmbeddedHead)
		text = above + "\n" + text
	}
	return text, TextKey(max(1, sumOf(sha256.Sum256([]byte(text)))))
}

// hasWords reports whether a text has at least n words. In scripts without spaces,
// two characters count as a word.
func hasWords(text string, n int) bool {
	half, inWord := 0, false // half words
	for _, r := range text {
		switch c := classOf(r); {
		case c >= classCJK:
			half, inWord = half+1, false
		case c == classNone:
			inWord = false
		case !inWord && c != classMark && c != classJoin:
			half, inWord = half+2, true
		}
		if half >= 2*n {
			return true
		}
	}
	return false
}
