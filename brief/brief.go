// Package brief renders what an agent is shown of memory: blocks of text for a
// prompt, within budgets.
//
// It is pure: documents, entries and items in, text out. What the caller may not
// read must not be handed in, so nothing of a block, its counts or its hints
// depends on it.
//
// A block is data for whoever reads it next, a model or ourselves. Text of
// memory stands in it so that it cannot pass for a part of the block: it never
// begins a line where a header of the block could stand (see [plain]). And every
// block is one that [memory.Layout] takes for generated or injected text where
// it finds it in a file, so memory never feeds on its own output.
package brief

import (
	"fmt"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// NoLimit is a budget that is never used up.
const NoLimit = -1

// A Style is how blocks are made. Methods of a Style can be called at the same
// time.
type Style struct {
	View memory.View // what may be shown
	Omit bool        // untrusted text is left out instead of marked
	Lang Lang        // in which memwatchd's own words are; that of the text if empty

	MaxItems int // lines, items or entries; NoLimit for none
	MaxChars int // code points of the block; NoLimit for none
	MaxFull  int // code points of MEMORY.md, longer ones are cut in the middle; NoLimit for none
}

// A Block is a text for a prompt. It is empty where there is nothing to show.
type Block struct {
	Text  string
	Items int  // lines, files, items or entries
	Left  Left // what is not in it
	Hints []string
}

// Left counts what was left out of a block, because there was no room or because
// it is untrusted.
type Left struct {
	LongTerm   int `json:"long_term,omitempty"`  // lines of summaries of long-term memory
	Recent     int `json:"recent,omitempty"`     // summaries of sessions and daily notes
	Files      int `json:"files,omitempty"`      // whole files
	Items      int `json:"items,omitempty"`      // keyed items
	Entries    int `json:"entries,omitempty"`    // entries that matched
	Characters int `json:"characters,omitempty"` // in the middle of MEMORY.md
	Untrusted  int `json:"untrusted,omitempty"`  // summaries, items or entries
}

// Chars is how many characters, which are code points, a text has.
func Chars(text string) int { return utf8.RuneCountInString(text) }

// Tokens estimates how many tokens a model makes of a text: a quarter of its
// ASCII characters, and one of every other character. English has a little more
// than four letters a token, and the common models make between a half and one
// and a half tokens of a Chinese character.
func Tokens(text string) int {
	quarters := 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			quarters++
		} else {
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}

// From which share of a limit on it is said that a block is filling up, and that
// it is nearly full.
const (
	nearShare  = 0.80
	nearlyFull = 0.95
)

// near says how full a block is, to whoever may tidy up, if it is near a limit.
func near(what string, items, maxItems, chars, maxChars int) []string {
	share := 0.0
	for _, m := range [][2]int{{items, maxItems}, {chars, maxChars}} {
		if m[1] > 0 {
			share = max(share, float64(m[0])/float64(m[1]))
		}
	}
	var how string
	switch {
	case share > 1:
		how = "more than the block has room for"
	case share >= nearlyFull:
		how = "nearly all that the block has room for"
	case share >= nearShare:
		how = "soon more than the block has room for"
	default:
		return nil
	}
	return []string{fmt.Sprintf("%s are %s (%s, %s): delete or merge some, or give it more", what, how,
		of(items, maxItems, "items"), of(chars, maxChars, "characters"))}
}

func of(n, most int, what string) string {
	if most < 0 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d of %d %s", n, most, what)
}

// fits reports whether a number is within a limit.
func fits(n, most int) bool { return most < 0 || n <= most }

// lower is the lower of two limits.
func lower(a, b int) int {
	switch {
	case a < 0:
		return b
	case b < 0:
		return a
	}
	return min(a, b)
}
