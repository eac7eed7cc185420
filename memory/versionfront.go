package memory

import (
	"slices"
	"strings"
)

// mergeFront merges the frontmatter of the versions key by key and returns its
// lines. Of a key that both versions changed, updated_at has the later time,
// counters are corrected afterwards, and others are conflicts. If both versions
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
		return ours, nil, nil
	case ours == base:
		return theirs, nil, nil
	}
	var fields [3]map[string]string
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
		base, ours, theirs := fields[baseVersion][key], fields[ourVersion][key], fields[theirVersion][key]
		text := ours
		switch {
		case ours == theirs, theirs == base:
		case ours == base:
			text = theirs
		case key == "visibility", key == "subject_id":
			return "", nil, ErrWhole
		case key == "tasks", key == "follow_ups":
		case key == "updated_at" && ours != "" && theirs != "":
			if m.versions[theirVersion].doc.Front.Updated.After(m.versions[ourVersion].doc.Front.Updated) {
				text = theirs
			}
		default:
			conflicts = append(conflicts, VersionConflict{base, ours, theirs})
			switch {
			case keep == KeepMarked, keep == KeepBoth && ours != "" && theirs != "":
				return "", nil, ErrWhole
			case keep == KeepTheirs, keep == KeepBoth && ours == "":
				text = theirs
			}
		}
		b.WriteString(text)
	}
	return "---\n" + b.String() + "---\n", conflicts, nil
}

// frontFields returns the lines of each key of a frontmatter. It reports false if
// other lines, such as comments, would be lost.
func (m *VersionMerge) frontFields(v *version) (map[string]string, bool) {
	fields, front := map[string]string{}, v.doc.Front.Span
	if front.End == 0 {
		return fields, !v.doc.Front.Present
	}
	first, last := v.doc.lines.at(front.Start), v.doc.lines.at(front.End-1)
	at := first + 1
	for _, f := range v.doc.Front.Fields {
		if f.Span.End == 0 || v.doc.lines.at(f.Span.Start) != at {
			return nil, false
		}
		fields[f.Key], at = v.doc.unixSource(f.Span), v.doc.lines.at(f.Span.End-1)+1
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
