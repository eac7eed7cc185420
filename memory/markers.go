package memory

import (
	"bytes"
	"slices"
)

// hideConflictMarkers blanks the marker lines that a merge left around different
// versions, so that the entries of each version stay entries, and returns the
// lines. Until the file is resolved, all of it is private: the versions may have
// different frontmatter.
func (p *docParser) hideConflictMarkers() (marks []lineRange) {
	if p.of != nil || !bytes.Contains(p.text, []byte("<<<<<<<")) || !bytes.Contains(p.text, []byte(">>>>>>>")) {
		return nil
	}
	tops, _ := parseStructure(p.text, p.body, p.ln)
	code := codeLines(tops, p.body, p.ln)
	var open []lineRange // markers of the current conflict
	for i := 1; i <= p.ln.count(); i++ {
		s := p.ln.span(i, i)
		line := bytes.TrimRight(p.text[s.Start:s.End], " \t\n")
		switch {
		case s.Start >= p.body && code[i]:
		case isMarker(line, '<'):
			open = []lineRange{{i, i}}
		case open != nil && (isMarker(line, '|') || isMarker(line, '=')):
			open = append(open, lineRange{i, i})
		case len(open) > 1 && isMarker(line, '>'):
			marks, open = append(append(marks, open...), lineRange{i, i}), nil
		}
	}
	if marks == nil {
		return nil
	}
	p.addProblem("conflict_markers", marks[0].from,
		"the file contains conflict markers of a merge; until you remove the markers, the file is private")
	p.private.hideFrom(1)
	p.text = slices.Clone(p.text)
	for _, r := range marks {
		if s := p.ln.span(r.from, r.to); s.Start >= p.body {
			for i := s.Start; i < s.End && p.text[i] != '\n'; i++ {
				p.text[i] = ' '
			}
		}
	}
	return slices.DeleteFunc(marks, func(r lineRange) bool { return p.ln.start(r.from) < p.body })
}

// isMarker reports whether a line is a conflict marker: seven equal characters and,
// if not the middle one, a name.
func isMarker(line []byte, c byte) bool {
	const size = 7
	if len(line) < size || bytes.Count(line[:size], []byte{c}) != size {
		return false
	}
	return len(line) == size || c != '=' && line[size] == ' '
}
