package api

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// A Text is an answer as lines for people, programs and models, with its outcome. Front
// ends style the lines; the answers determine everything else. In hints, names in
// backquotes are commands, or operations and parameters as in the table: see [Rename].
type Text struct {
	Reader
	Lines []Line
	Files []string // paths of the files that the answer lists

	Nothing   bool   // the answer lists nothing
	Unhealthy bool   // the daemon does not work
	Failure   string // what the operation has not done
	Changes   int    // number of changes, of a plan

	notice string // why the answer may be incomplete
}

// A Reader is the reader of a text.
type Reader struct {
	Audience Audience
	Request  *Request // that was answered; nil if unknown
	Limit    int      // characters of a file for a model; 0 for none
	OneLine  bool     // show each change of the journal on one line
	Location *time.Location
}

// An Audience is a kind of readers.
type Audience int

// The audiences.
const (
	Programs Audience = iota // a line for each place, complete lists
	People                   // parts of long texts and lists
	Models                   // texts with the places of all their lines
)

// A Line is a line of a text, which front ends may break. Its parts are in the order
// of the fields.
type Line struct {
	Form  Form
	Depth int    // levels of indentation
	Head  string // sign, number or name

	Path          string // place of the line
	Line, EndLine int
	Column        int    // of a match
	Target        string // file and heading to which the place points, as path#heading
	Section       string

	Text    string
	Matches [][2]int // start and end of each match in the text, in characters
	Notes   []string // details

	Style     Style // of the text
	HeadStyle Style
	Untrusted bool // the text was written by others than the subject
}

// UntrustedMark precedes text that others than the subject wrote.
const UntrustedMark = "[untrusted]"

// A Form is the form of a line.
type Form int

// The forms of lines.
const (
	Normal   Form = iota
	Finding       // as compilers print it: path:line: text [note]
	Row           // of a table with names; an empty name continues the row above
	Hint          // about the answer, not a part of it
	Body          // text of an entry with its line breaks, below the place of the entry
	Verbatim      // text of a file with all its line breaks
	Block         // text that is already in the form for models
	Before        // file before a change, in a difference; empty for a missing file
	After         // file after a change
	Moved         // from the path to the text, in a difference
	Hunk          // of a difference
)

// A Style is the meaning of a text.
type Style int

// The styles.
const (
	Plain Style = iota
	Strong
	Muted
	Good
	Bad
	Added
	Removed
	Changed
)

// Render returns an answer of an operation, a pointer, as a text.
func Render(answer any, reader Reader) *Text {
	t := &Text{Reader: reader}
	if f := reflect.ValueOf(answer).Elem().FieldByName("Disabled"); f.IsValid() && f.Bool() {
		t.hint("memory is disabled; nothing was written")
		return t
	}
	if state := IndexStateOf(answer); state != nil {
		t.notice = state.Notice
	}
	if a, ok := answer.(interface{ render(*Text) }); ok {
		a.render(t)
	}
	t.warn("%s", t.notice)
	if a, ok := answer.(interface{ Masks() int }); ok && a.Masks() > 0 && t.Audience != Models {
		t.hint("credentials are masked in %s; `check` lists where they are", Plural(a.Masks(), "place"))
	}
	return t
}

func (t *Text) add(lines ...Line) { t.Lines = append(t.Lines, lines...) }

// addFile adds the text of a file from a line on for a model, as far as the limit of the
// reader allows, and returns the line at which to read on. A line longer than that ends in ….
func (t *Text) addFile(text string, from int, untrusted func(line int) bool) (next int) {
	most, chars := cmp.Or(t.Limit, utf8.RuneCountInString(text)), 0
	for line := range strings.Lines(text) {
		runes := []rune(line)
		chars += len(runes)
		if len(runes) > most {
			line = string(runes[:most]) + "…\n"
		}
		if chars > most && chars > len(runes) { // not the first line
			break
		}
		t.add(Line{Form: Verbatim, Text: line, Untrusted: untrusted(from)})
		from++
	}
	return from
}

func (t *Text) printf(format string, args ...any) { t.add(Line{Text: fmt.Sprintf(format, args...)}) }

// addBlank adds an empty line.
func (t *Text) addBlank() { t.add(Line{}) }

// hint adds a hint about the answer, unless it is empty.
func (t *Text) hint(format string, args ...any) { t.addHint(Muted, format, args...) }

// warn adds a hint about a problem, unless it is empty.
func (t *Text) warn(format string, args ...any) { t.addHint(Bad, format, args...) }

func (t *Text) addHint(style Style, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		t.add(Line{Form: Hint, Text: text, Style: style})
	}
}

// hints adds all hints of a list.
func (t *Text) hints(list []string) {
	for _, h := range list {
		t.hint("%s", h)
	}
}

// listNothing adds a hint that the answer lists nothing, unless that is not certain.
func (t *Text) listNothing(format string, args ...any) {
	t.Nothing = true
	if t.notice == "" {
		t.hint(format, args...)
	}
}

// addFinding adds a message about a file in the format of compilers.
func (t *Text) addFinding(path string, line int, message, sort string) {
	t.add(Line{Form: Finding, Path: path, Line: line, Text: message, Notes: []string{sort}})
}

// addProblem adds a line about a problem, unless it is empty.
func (t *Text) addProblem(depth int, text string) {
	if text != "" {
		t.add(Line{Depth: depth, Text: text, Style: Bad})
	}
}

// addRow adds a row of a table.
func (t *Text) addRow(name, format string, args ...any) {
	t.add(Line{Form: Row, Head: name, Text: fmt.Sprintf(format, args...), HeadStyle: Muted})
}

// addDiff adds the difference of a file. An empty path stands for a missing file.
func (t *Text) addDiff(before, after string, hunks []DiffHunk) {
	if len(hunks) == 0 {
		return
	}
	t.add(Line{Form: Before, Text: before}, Line{Form: After, Text: after})
	for _, h := range hunks {
		t.add(Line{Form: Hunk, Path: cmp.Or(after, before), Line: h.Line, Text: h.Diff})
	}
}

// addPlaces adds the other places of an entry. Programs get all of them, others the first ones.
func (t *Text) addPlaces(places []Place, line Line) {
	shown := places
	if t.Audience != Programs {
		shown = firstOf(places)
	}
	for _, p := range shown {
		line.Path, line.Line = p.Path, p.Line
		t.add(line)
	}
	if n := len(places) - len(shown); n > 0 {
		t.add(Line{Depth: line.Depth, Text: fmt.Sprintf("and at %s more", Plural(n, "place")), Style: Muted})
	}
}

// given returns the text of a parameter of the request, or "" if it was not set.
func (t *Text) given(name string) string {
	if t.Request == nil {
		return ""
	}
	value, _ := t.Request.GivenValue(name)
	return value
}

// accepts reports whether the request has a parameter.
func (t *Text) accepts(name string) bool {
	if t.Request == nil {
		return false
	}
	_, err := t.Request.op.Param(name)
	return err == nil
}

// formatTime returns a time to the second.
func (t *Text) formatTime(at time.Time) string { return t.local(at).Format(time.DateTime) }

func (t *Text) local(at time.Time) time.Time { return at.In(cmp.Or(t.Location, time.UTC)) }

// formatDay returns the day of a time, or "" for none.
func (t *Text) formatDay(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return t.local(at).Format(time.DateOnly)
}

// maxListed bounds the elements of a list without all details.
const maxListed = 3

// firstOf returns the first elements of a list, or all of them if only one would be left
// out.
func firstOf[T any](list []T) []T {
	if len(list) <= maxListed+1 {
		return list
	}
	return list[:maxListed]
}

// maxShort bounds a text that is shown in short to people, in characters.
const maxShort = 240

// shorten returns the beginning of a long text for people, or the whole text.
func (t *Text) shorten(text string) string {
	if runes := []rune(text); t.Audience == People && len(runes) > maxShort {
		return string(runes[:maxShort]) + "…"
	}
	return text
}

// firstLine returns the first nonblank line of a text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// TextIf returns a text if a condition holds, else "".
func TextIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// andSome returns a further part of a list: a number, or "" for none.
func andSome(n int, noun string) string { return TextIf(n > 0, fmt.Sprintf(", %d %s", n, noun)) }

// Plural formats a count with its noun.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
