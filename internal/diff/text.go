package diff

import (
	"cmp"
	"slices"
	"strings"
)

// MergeText applies the differences between base and theirs to ours, line by line. All
// other bytes of ours stay. If both versions changed the same lines, or if one of them
// inserted lines inside of a run that the other one replaced, conflict is the line of
// the base, from 1, and there is no result; otherwise conflict is 0. Equal changes, and
// changes that only touch each other, do not conflict, and neither do removals. In the
// first head lines of the base, ours takes precedence instead.
//
// Line endings do not take part in the comparison. The last line of the result ends as
// in ours, or as in theirs if ours did not change the end of the base.
func MergeText(base, ours, theirs []byte, head int) (merged []byte, conflict int) {
	lines, mine, yours := SplitLines(base), SplitLines(ours), SplitLines(theirs)
	keys := bareLines(lines)
	a := spans(keys, bareLines(mine))
	b := withoutRemoved(spans(keys, bareLines(yours)), a)
	end := lineEnding(ours)
	convert := end != "" && lineEnding(base) != "" && lineEnding(base) != end
	var out []string
	at := 0 // the next line of ours
	emitOurs := func(to int) {
		out = append(out, mine[at:to]...)
		at = to
	}
	emitTheirs := func(s span) {
		for _, line := range yours[s.now.From:s.now.To] {
			if convert {
				line = bareLine(line) + end
			}
			out = append(out, line)
		}
	}
	moved := 0 // lines that the passed spans of ours added
	for len(b) > 0 {
		s := b[0]
		switch {
		case len(a) > 0 && a[0].overlaps(s):
			same := a[0].base == s.base && slices.Equal(bareLines(mine[a[0].now.From:a[0].now.To]),
				bareLines(yours[s.now.From:s.now.To]))
			if !same && max(a[0].base.To, s.base.To) > head {
				return nil, s.base.From + 1
			}
			b = b[1:]
		case len(a) > 0 && (a[0].base.From < s.base.From || a[0].base.To == s.base.From && a[0].base != s.base):
			emitOurs(a[0].now.To)
			moved += a[0].now.To - a[0].now.From - a[0].base.To + a[0].base.From
			a = a[1:]
		default:
			emitOurs(s.base.From + moved)
			emitTheirs(s)
			at += s.base.To - s.base.From
			b = b[1:]
		}
	}
	emitOurs(len(mine))
	for i := range out[:max(len(out)-1, 0)] {
		if !strings.HasSuffix(out[i], "\n") {
			out[i] += cmp.Or(end, "\n")
		}
	}
	text := strings.Join(out, "")
	ends := strings.HasSuffix(string(ours), "\n")
	if len(theirs) > 0 && (len(ours) == 0 || ends == strings.HasSuffix(string(base), "\n")) {
		ends = strings.HasSuffix(string(theirs), "\n")
	}
	switch {
	case text != "" && !ends:
		text = bareLine(text)
	case text != "" && !strings.HasSuffix(text, "\n"):
		text += cmp.Or(end, "\n")
	}
	return []byte(text), 0
}

// withoutRemoved returns changes of a base without the part of their removals that others
// remove as well.
func withoutRemoved(changes, others []span) (list []span) {
	for _, s := range changes {
		for _, other := range others {
			if !s.removes() || !other.removes() || !s.overlaps(other) {
				continue
			}
			if before := (span{Range{s.base.From, other.base.From}, s.now}); before.base.From < before.base.To {
				list = append(list, before)
			}
			s.base.From = min(other.base.To, s.base.To)
		}
		if s.base.From < s.base.To || s.now.From < s.now.To {
			list = append(list, s)
		}
	}
	return list
}

// removes reports whether a change only removes lines.
func (s span) removes() bool { return s.now.From == s.now.To }

// overlaps reports whether two changes of a base cannot both be made.
func (s span) overlaps(t span) bool {
	return s.base.From < t.base.To && t.base.From < s.base.To || s.base == t.base && s.base.To > s.base.From
}

func bareLines(lines []string) []string {
	bare := make([]string, len(lines))
	for i, line := range lines {
		bare[i] = bareLine(line)
	}
	return bare
}

// bareLine returns a line without its ending.
func bareLine(line string) string { return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") }

// lineEnding returns the ending of the first line: "\n", "\r\n" or nothing.
func lineEnding(text []byte) string {
	line, _, ok := strings.Cut(string(text), "\n")
	switch {
	case !ok:
		return ""
	case strings.HasSuffix(line, "\r"):
		return "\r\n"
	}
	return "\n"
}
