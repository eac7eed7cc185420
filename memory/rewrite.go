package memory

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/diff"
)

// Rewrite returns the source for which [Shown.Text] in the view is text. The view must
// be able to read the whole document. Unchanged lines keep every byte; new lines take
// the line ending of their neighbours, and the end of the file keeps its form.
//
// A view without access to private text of the file cannot change its readers. A line
// with masked text either stays or is removed as a whole. In a new line
// the mask is ordinary text, so the caller must reject new lines with masks.
// The function parse must parse a source in the same way as the document was
// parsed. If it returns nil, Rewrite ends with [ErrStopped].
func (d *Document) Rewrite(v View, text string, parse func(source []byte) *Document) ([]byte, error) {
	lines := textLines(text)
	shown := d.Shown(v)
	switch {
	case slices.Equal(lines, shown.Lines):
		return d.Source, nil
	case strings.Contains(text, "\x00"):
		return nil, fmt.Errorf("%w: text contains a NUL character", ErrText)
	case d.Unsound:
		return nil, fmt.Errorf("%w until this problem is fixed: %s", ErrUnwritable, d.WhyUnsound())
	}
	pairs := diff.Align(shown.Lines, lines)
	if err := d.checkMaskedLines(shown.Lines, lines, pairs); err != nil {
		return nil, err
	}
	source := d.joinLines(d.alignLines(lines, pairs))
	next := parse(source)
	switch {
	case next == nil:
		return nil, ErrStopped
	case !d.PrivateReadable(v) && (next.Front.Present != d.Front.Present || next.Front.SubjectID != d.Front.SubjectID ||
		next.Own.Visibility != d.Own.Visibility):
		return nil, fmt.Errorf("%w: only the owner can change the readers of the file", ErrText)
	}
	return source, next.CheckReadable(v, text)
}

// alignLines returns lines with their endings: those of the document where pairs has the
// index of an equal line.
func (d *Document) alignLines(lines []string, pairs []int) (out [][]byte) {
	insert := func(to, at int) {
		for _, text := range lines[len(out):to] {
			out = append(out, append([]byte(text), d.lineEnding(max(at, 1))...))
		}
	}
	for k, j := range pairs {
		if j >= 0 {
			insert(j, k+1)
			s := d.lines.span(k+1, k+1)
			line := d.Source[s.Start:s.End]
			if k == 0 {
				line = bytes.TrimPrefix(line, bom)
			}
			out = append(out, line)
		}
	}
	insert(len(lines), len(pairs))
	return out
}

// checkMaskedLines returns an error if it is ambiguous which masked lines the new
// text contains. Several lines may look the same but have different text under
// their masks, so either all of them must stay or none.
func (d *Document) checkMaskedLines(shown, lines []string, pairs []int) error {
	for k, j := range pairs {
		if j < 0 && d.MaskedLine(k+1) && slices.Contains(lines, shown[k]) {
			return fmt.Errorf("line %d: %w", k+1, ErrMasked)
		}
	}
	return nil
}

// CheckReadable returns an [ErrText] if a view of the document, which must be
// parsed from text, would not show exactly that text. So it verifies that the
// author of a text can read all of it.
func (d *Document) CheckReadable(v View, text string) error {
	if d.Unsound {
		return fmt.Errorf("%w: %s", ErrText, d.WhyUnsound())
	}
	if shown := d.Shown(v); d.For(v) != d || !slices.Equal(shown.Lines, textLines(text)) {
		return fmt.Errorf("%w: you could not read all of the text afterwards", ErrText)
	}
	return nil
}

// textLines returns the lines of a text, without endings.
func textLines(text string) []string {
	text = unixLines(text)
	text = strings.TrimPrefix(text, string(bom))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// joinLines joins lines into a source. Every line has an ending, except the last
// one if the file does not end with one.
func (d *Document) joinLines(out [][]byte) []byte {
	n := d.lines.count()
	source := append([]byte{}, d.Source[:bomLen(d.Source)]...) // not nil, which means no file
	for i, line := range out {
		bare := trimEnding(line)
		switch last := i+1 == len(out); {
		case last && n > 0 && !d.hasEnding(n):
			line = bare
		case len(bare) == len(line):
			line = slices.Concat(line, d.lineEnding(n))
		}
		source = append(source, line...)
	}
	return source
}

// Errors of [Document.Rewrite].
var (
	// ErrText reports that the text is invalid for the file, regardless of the
	// rest of the file.
	ErrText = errors.New("the text cannot be written")
	// ErrMasked reports that the text changes a part of a line with masked
	// text, or contains such a line in a different place.
	ErrMasked = errors.New("redacted text would be lost")
	// ErrUnwritable reports that the file must not be written in its current state.
	ErrUnwritable = errors.New("the file cannot be written")
)
