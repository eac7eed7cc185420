// Package brief renders memory as blocks of text for a prompt, within budgets.
//
// The package is pure: documents, entries and items in, text out. Callers must
// not pass in content that the reader of the block may not read; then no block,
// count or hint depends on such content.
//
// A block is data for its next reader, a model or memwatchd itself. Text of
// memory cannot imitate the structure of a block: it never begins a line where
// a header of the block could stand (see [plain]). [memory.Layout] recognizes
// every block in a file as generated or injected text, so memory never stores
// its own output.
package brief

import (
	"math"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// NoLimit is an unlimited budget.
const NoLimit = math.MaxInt

// A Style contains the options of blocks. Its methods are safe for concurrent
// use.
type Style struct {
	View memory.View // restricts the visible content
	Lang Lang        // of memwatchd's own words; empty for the language of the text

	// Successors returns the entries that replace entries of a file, as path#id, by the
	// ids of the latter. It may be nil.
	Successors func(doc *memory.Document) map[string]string

	Today string // day from which old entries are reported as not checked, such as 2026-02-05; empty for none

	MaxItems  int // lines, items or entries; NoLimit for none
	MaxChars  int // code points of the block; NoLimit for none
	MaxTokens int // estimated tokens of a block of matches; 0 for none
	MaxFull   int // code points of MEMORY.md, longer ones are cut in the middle; NoLimit for none
}

// A Block is a text for a prompt. It is empty if there is nothing to show.
type Block struct {
	Text    string
	Items   int         // lines, files, items or entries
	Omitted api.Omitted // content left out
}

// Chars returns the number of characters of a text. Characters are code points.
func Chars(text string) int { return utf8.RuneCountInString(text) }

// Tokens returns an estimate of the tokens of a text: one for every four ASCII
// characters, and one for every other character. English has a little more than
// four letters a token, and common models use between a half and one and a half
// tokens for a Chinese character.
func Tokens(text string) int { return (quarterTokens(text) + 3) / 4 }

// quarterTokens returns four times the estimate, before it is rounded.
func quarterTokens(text string) (quarters int) {
	for _, r := range text {
		if r < utf8.RuneSelf {
			quarters++
		} else {
			quarters += 4
		}
	}
	return quarters
}
