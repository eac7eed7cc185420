package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/diff"
)

// Errors of [Document.Rewrite].
var (
	// ErrText reports that the text is invalid for the file, regardless of the
	// rest of the file.
	ErrText = errors.New("the text cannot be written")
	// ErrMasked reports that the text changes a part of a line with masked
	// text, or contains such a line in a different place.
	ErrMasked = errors.New("redacted text would be lost")
	// ErrUnwritable reports that the file must not be written in its current
	// state, or that no arrangement with the text outside the view is possible.
	ErrUnwritable = errors.New("the file cannot be written")
)

// Rewrite returns the source for which [Shown.Text] in the view is text.
// Unchanged lines keep every byte; new lines take the line ending of their
// neighbours, and the end of the file keeps its form. Text that the view may
// not read stays unchanged, at its position or as near to it as the new text
// permits.
//
// The visible result does not depend on whether the file contains text that the
// view may not read. Therefore a view without access to private text of the
// file can neither add a frontmatter nor change the file's owner, and blank
// lines around its text are removed.
//
// A line with masked text either stays or is removed as a whole. In a new line
// the mask is ordinary text, so the caller must reject new lines with masks.
// The function parse must parse a source in the same way as the document was
// parsed. If it returns nil, Rewrite ends with [ErrStopped].
func (d *Document) Rewrite(v View, text string, parse func(source []byte) *Document) ([]byte, error) {
	lines := textLines(text)
	shown := d.Shown(v)
	if !d.PrivateReadable(v) {
		lines = trimBlank(lines)
	}
	if slices.Equal(lines, shown.Lines) {
		return d.Source, nil
	}
	err := d.checkWritable(v, lines, parse)
	switch {
	case d.Unsound && (d.PrivateReadable(v) || err == nil):
		return nil, fmt.Errorf("%w until this problem is fixed: %s", ErrUnwritable, d.WhyUnsound())
	case err != nil:
		return nil, err
	}
	pairs := diff.Align(shown.Lines, lines)
	if err := d.checkMaskedLines(&shown, lines, pairs); err != nil {
		return nil, err
	}
	r := &rewrite{d: d, v: v, lines: lines, pairs: pairs, shown: &shown}
	var last error
	for _, arrange := range []func() [][]byte{
		func() [][]byte { return r.insertInPlace(false) },
		func() [][]byte { return r.insertInPlace(true) },
		r.moveNear,
		func() [][]byte { return r.placeRanges(func(unreadableRange) int { return len(r.lines) }) }, // to the end
		r.moveToTop,
	} {
		source := r.joinLines(arrange())
		next := parse(source)
		if next == nil {
			return nil, ErrStopped
		}
		last = r.checkResult(next)
		if last == nil {
			return source, nil
		}
		if shown.Complete {
			break // there is no unreadable text to arrange
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnwritable, last)
}

// checkMaskedLines returns an error if it is ambiguous which masked lines the new
// text contains. Several lines may look the same but have different text under
// their masks, so either all of them must stay or none.
func (d *Document) checkMaskedLines(shown *Shown, lines []string, pairs []int) error {
	for k, j := range pairs {
		if j < 0 && d.MaskedLine(shown.Source(k+1)) && slices.Contains(lines, shown.Lines[k]) {
			return fmt.Errorf("line %d: %w", k+1, ErrMasked)
		}
	}
	return nil
}

// CheckReadable returns an [ErrText] if a view of the document, which must be
// parsed from text, would not show exactly that text. So it verifies that the
// author of a text can read all of it.
func (d *Document) CheckReadable(v View, text string) error {
	return d.checkReadableLines(v, textLines(text))
}

func (d *Document) checkReadableLines(v View, lines []string) error {
	if d.Unsound {
		return fmt.Errorf("%w: %s", ErrText, d.WhyUnsound())
	}
	if shown := d.Shown(v); d.For(v) == nil || shown.Empty() || !slices.Equal(shown.Lines, lines) {
		return fmt.Errorf("%w: you could not read all of the text afterwards", ErrText)
	}
	return nil
}

// textLines returns the lines of a text, without endings.
func textLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.TrimPrefix(text, string(bom))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// trimBlank returns lines without leading and trailing blank lines.
func trimBlank(lines []string) []string {
	empty := func(s string) bool { return strings.Trim(s, " \t") == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// checkWritable returns an error if the view must not write a text. It examines
// only the text and the readable frontmatter, so the result does not depend on
// text outside the view.
func (d *Document) checkWritable(v View, lines []string, parse func([]byte) *Document) error {
	text := Shown{Lines: lines}.Text()
	alone := parse([]byte(text))
	if alone == nil {
		return ErrStopped
	}
	if strings.Contains(text, "\x00") {
		return fmt.Errorf("%w: text contains a NUL character", ErrText)
	}
	if err := alone.checkReadableLines(v, lines); err != nil {
		return err
	}
	if d.PrivateReadable(v) {
		return nil
	}
	var front Front
	if v.Readable(d.Own) {
		front = d.Front
	}
	if alone.Front.Present != front.Present || alone.Front.SubjectID != front.SubjectID ||
		alone.Front.HasVisibility != front.HasVisibility || alone.Front.Visibility != front.Visibility {
		return fmt.Errorf("%w: only the owner can change the readers of the file", ErrText)
	}
	return nil
}

// rewrite is the state of rewriting a file.
type rewrite struct {
	d     *Document
	v     View
	shown *Shown
	lines []string // the intended visible lines
	pairs []int    // by visible line: index of the same line in lines, or -1
}

// sourceLine returns a line of the file with its ending, without a byte order
// mark.
func (r *rewrite) sourceLine(line int) []byte {
	s := r.d.lines.span(line, line)
	b := r.d.Source[s.Start:s.End]
	if line == 1 {
		b = bytes.TrimPrefix(b, bom)
	}
	return b
}

func (r *rewrite) newLine(text string, line int) []byte {
	return append([]byte(text), r.d.lineEnding(max(line, 1))...)
}

// insertInPlace keeps every unreadable line at its position. New lines replace
// removed ones, or go directly above the next unchanged line or, if early is set,
// below the last one.
func (r *rewrite) insertInPlace(early bool) (out [][]byte) {
	next := 0                 // index in lines
	put := func(to, at int) { // appends new lines up to index to, with the ending of line at
		for ; next < to; next++ {
			out = append(out, r.newLine(r.lines[next], at))
		}
	}
	n := r.d.lines.count()
	for line := 1; line <= n; line++ {
		k := r.shown.Line(line) - 1
		if k < 0 {
			out = append(out, r.sourceLine(line))
			continue
		}
		if j := r.pairs[k]; j >= 0 {
			put(j, line)
			out = append(out, r.sourceLine(line))
			next = j + 1
			if early && (k+1 == len(r.pairs) || r.pairs[k+1] >= 0) {
				put(r.nextUnchanged(k+1), line)
			}
			continue
		}
		// For a run of removed lines: each new line takes the place of one
		// removed line, and the last place takes all remaining new lines.
		until := r.nextUnchanged(k)
		if k+1 == len(r.pairs) || r.pairs[k+1] >= 0 {
			put(until, line)
		} else {
			put(min(next+1, until), line)
		}
	}
	put(len(r.lines), n)
	return out
}

// nextUnchanged returns the end of the new lines that precede the old line k:
// the index of the next unchanged line, or the number of lines.
func (r *rewrite) nextUnchanged(k int) int {
	for ; k < len(r.pairs); k++ {
		if r.pairs[k] >= 0 {
			return r.pairs[k]
		}
	}
	return len(r.lines)
}

// An unreadableRange is a range of unreadable lines, which begins and ends with
// lines that are not blank, and the number of new lines before it.
type unreadableRange struct{ from, to, after int }

func (r *rewrite) unreadableRanges() (list []unreadableRange) {
	after, open := 0, false
	for line := 1; line <= r.d.lines.count(); line++ {
		k := r.shown.Line(line) - 1
		switch {
		case k >= 0:
			open = false
			if r.pairs[k] >= 0 {
				after = r.pairs[k] + 1
			}
		case r.d.blankLine(line):
		case open:
			list[len(list)-1].to = line
		default:
			list = append(list, unreadableRange{line, line, after})
			open = true
		}
	}
	return list
}

// moveNear moves unreadable text between the blocks of the new text, to the blank
// lines nearest to its position.
func (r *rewrite) moveNear() [][]byte {
	gaps := append([]int{len(r.lines)}, r.blockStarts()...)
	return r.placeRanges(func(s unreadableRange) int {
		return slices.MinFunc(gaps, func(a, b int) int { return max(a-s.after, s.after-a) - max(b-s.after, s.after-b) })
	})
}

// moveToTop moves unreadable text to the top, below the frontmatter.
func (r *rewrite) moveToTop() [][]byte {
	text := []byte(Shown{Lines: r.lines}.Text())
	_, _, body, _ := cutFront(text)
	at := bytes.Count(text[:body], []byte("\n"))
	for at > 0 && at < len(r.lines) && strings.Trim(r.lines[at], " \t") == "" {
		at++
	}
	return r.placeRanges(func(unreadableRange) int { return at })
}

// blockStarts returns the new lines that begin a block below a blank line.
func (r *rewrite) blockStarts() (list []int) {
	text := []byte(Shown{Lines: r.lines}.Text())
	_, _, body, _ := cutFront(text)
	tops, _ := parseStructure(text, body, splitLines(text))
	for _, t := range tops {
		if t.from > 1 && strings.Trim(r.lines[t.from-2], " \t") == "" {
			list = append(list, t.from-1)
		}
	}
	return list
}

// placeRanges places each stretch above a new line, with blank lines around it
// that are not visible either.
func (r *rewrite) placeRanges(place func(unreadableRange) int) (out [][]byte) {
	list := r.unreadableRanges()
	at := make([]int, len(list))
	for i, s := range list {
		at[i] = place(s)
		if i > 0 {
			at[i] = max(at[i], at[i-1]) // keep the order of the file
		}
	}
	old := make(map[int]int, len(r.pairs))
	for k, j := range r.pairs {
		old[j] = k
	}
	for j := 0; j <= len(r.lines); j++ {
		for i, s := range list {
			if at[i] != j {
				continue
			}
			if n := len(out); n > 0 && !isBlankText(out[n-1]) {
				out = append(out, r.d.lineEnding(s.from))
			}
			for line := s.from; line <= s.to; line++ {
				out = append(out, r.sourceLine(line))
			}
			if j < len(r.lines) || i+1 < len(list) {
				out = append(out, r.d.lineEnding(s.to))
			}
		}
		if j == len(r.lines) {
			break
		}
		if k, ok := old[j]; ok {
			out = append(out, r.sourceLine(r.shown.Source(k+1)))
		} else {
			out = append(out, r.newLine(r.lines[j], 1))
		}
	}
	return out
}

// joinLines joins lines into a source. Every line has an ending, except the last
// one if the file does not end with one.
func (r *rewrite) joinLines(out [][]byte) []byte {
	n := r.d.lines.count()
	source := append([]byte{}, r.d.Source[:bomLen(r.d.Source)]...) // not nil, which means no file
	for i, line := range out {
		bare := trimEnding(line)
		switch last := i+1 == len(out); {
		case last && n > 0 && !r.d.placement().hasEnding(n):
			line = bare
		case len(bare) == len(line):
			line = slices.Concat(line, r.d.lineEnding(n))
		}
		source = append(source, line...)
	}
	return source
}

// checkResult compares the parsed result with the intended one.
func (r *rewrite) checkResult(next *Document) error {
	shown := next.Shown(r.v)
	unread := func(d *Document) (list []*Entry) {
		for i := range d.Entries {
			if e := &d.Entries[i]; !e.Readable(r.v) {
				list = append(list, e)
			}
		}
		return list
	}
	same := slices.EqualFunc(unread(r.d), unread(next), func(a, b *Entry) bool {
		return a.Text == b.Text && a.Block == b.Block && a.Partition == b.Partition &&
			maps.Equal(a.Attributes, b.Attributes)
	})
	switch {
	case next.Unsound:
		return errors.New(next.WhyUnsound())
	case shown.Empty() || !slices.Equal(shown.Lines, r.lines):
		return errors.New("the file would not be shown as written")
	case !same:
		return errors.New("other parts of the file would change")
	}
	return nil
}

// An Edit replaces the bytes of a span of a text. An empty span inserts.
type Edit struct {
	Span Span
	New  []byte
}

// Splice returns a copy of source with edits applied. The edits may be in any
// order. Edits at the same position are applied in the given order, insertions
// first. If edits overlap or lie outside the source, Splice returns an error.
func Splice(source []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(min(a.Span.End, a.Span.Start+1), min(b.Span.End, b.Span.Start+1)))
	})
	out, at := make([]byte, 0, len(source)), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(source) {
			return nil, fmt.Errorf("two changes overlap at byte %d", e.Span.Start)
		}
		out = append(append(out, source[at:e.Span.Start]...), e.New...)
		at = e.Span.End
	}
	return append(out, source[at:]...), nil
}
