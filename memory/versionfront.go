package memory

import (
	"slices"
	"strings"
)

// mergeFront merges the frontmatter of the versions key by key and returns its
// lines. Of a key that both versions changed, updated_at has the later time and
// created_at the earlier one, counters and a generated summary are corrected
// afterwards, and others are conflicts. If both versions
// changed the readers of the file, or keep requires both values of a key, the error
// is [ErrWhole].
func (m *VersionMerge) mergeFront(keep Keep) (front string, conflicts []VersionConflict, err error) {
	var whole [3]string
	for i, v := range m.versions {
		whole[i] = v.doc.unixSource(v.doc.Front.Span)
	}
	base, ours, theirs := whole[baseVersion], whole[ourVersion], whole[theirVersion]
	switch {
	case ours == theirs, theirs == base:
		return m.sourceLines(ourVersion, m.versions[ourVersion].doc.Front.Span), nil, nil
	case ours == base:
		return m.sourceLines(theirVersion, m.versions[theirVersion].doc.Front.Span), nil, nil
	}
	var fields [3]map[string]Span
	var keys []string // of both versions, in order
	for i, v := range m.versions {
		var ok bool
		fields[i], ok = m.frontFields(v)
		if !ok {
			return "", nil, ErrWhole
		}
		for _, f := range v.doc.Front.Fields {
			if i != baseVersion && !slices.Contains(keys, f.Key) {
				keys = append(keys, f.Key)
			}
		}
	}
	var b strings.Builder
	for _, key := range keys {
		text := func(version int) string { return m.versions[version].doc.unixSource(fields[version][key]) }
		base, ours, theirs := text(baseVersion), text(ourVersion), text(theirVersion)
		from := ourVersion
		switch {
		case ours == theirs, theirs == base:
		case ours == base:
			from = theirVersion
		case key == "visibility", key == "subject_id":
			return "", nil, ErrWhole
		case key == "tasks", key == "follow_ups", key == "summary" && m.generated:
		case (key == "updated_at" || key == "created_at") && ours != "" && theirs != "":
			later := m.versions[theirVersion].doc.Front.Updated.After(m.versions[ourVersion].doc.Front.Updated)
			if key == "updated_at" && later || key == "created_at" && theirs < ours {
				from = theirVersion
			}
		default:
			conflicts = append(conflicts, VersionConflict{base, ours, theirs})
			switch {
			case keep == KeepMarked, keep == KeepBoth && ours != "" && theirs != "":
				return "", nil, ErrWhole
			case keep == KeepTheirs, keep == KeepBoth && ours == "":
				from = theirVersion
			}
		}
		b.WriteString(m.sourceLines(from, fields[from][key]))
	}
	from := ourVersion
	if ours == "" {
		from = theirVersion
	}
	span := m.versions[from].doc.Front.Span
	fence := func(at int) string { return m.sourceLines(from, Span{at, at + 1}) }
	return fence(span.Start) + b.String() + fence(span.End-1), conflicts, nil
}

// sourceLines returns the lines of a version that a span touches, with the line
// endings of the merged text.
func (m *VersionMerge) sourceLines(version int, s Span) string {
	d := m.versions[version].doc
	var b strings.Builder
	for line := d.lines.at(s.Start); d.lines.start(line) < s.End; line++ {
		text, ending := m.sourceLine(version, line)
		b.WriteString(text + ending)
	}
	return b.String()
}

// frontFields returns the lines of each key of a frontmatter. It reports false if
// other lines, such as comments, would be lost.
func (m *VersionMerge) frontFields(v *version) (map[string]Span, bool) {
	fields, front := map[string]Span{}, v.doc.Front.Span
	if front.End == 0 {
		return fields, !v.doc.Front.Present
	}
	first, last := v.doc.lines.at(front.Start), v.doc.lines.at(front.End-1)
	at := first + 1
	for _, f := range v.doc.Front.Fields {
		if f.Span.End == 0 || v.doc.lines.at(f.Span.Start) != at {
			return nil, false
		}
		fields[f.Key], at = f.Span, v.doc.lines.at(f.Span.End-1)+1
	}
	return fields, at == last
}

// sameFrontReaders reports whether the frontmatter has no readers that it lacks in
// a version that changed it.
func (m *VersionMerge) sameFrontReaders(next *Document) bool {
	front := func(d *Document) string { return d.unixSource(d.Front.Span) }
	base := front(m.versions[baseVersion].doc)
	return !slices.ContainsFunc(m.versions[ourVersion:], func(v *version) bool {
		return front(v.doc) != base && v.doc.Own != next.Own && !narrowsReaders(v.doc.Own, next.Own)
	})
}
