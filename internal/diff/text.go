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
	a, b := Changes(keys, bareLines(mine)), Changes(keys, bareLines(yours))
	end := lineEnding(ours)
	convert := end != "" && lineEnding(base) != "" && lineEnding(base) != end
	var out []string
	at := 0 // the next line of ours
	emitOurs := func(to int) {
		out = append(out, mine[at:to]...)
		at = to
	}
	emitTheirs := func(s Change) {
		for _, line := range yours[s.New.From:s.New.To] {
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
		case len(a) > 0 && a[0].overlaps(s) && a[0].removes() && s.removes():
			if n := a[0].Old.From - s.Old.From; n > 0 {
				emitOurs(s.Old.From + moved)
				at += n
			}
			b[0].Old.From = min(a[0].Old.To, s.Old.To) // ours lacks the lines above
			if b[0].Old.From == s.Old.To {
				b = b[1:]
			}
		case len(a) > 0 && a[0].overlaps(s):
			same := a[0].Old == s.Old && slices.Equal(bareLines(mine[a[0].New.From:a[0].New.To]),
				bareLines(yours[s.New.From:s.New.To]))
			if !same && max(a[0].Old.To, s.Old.To) > head {
				return nil, s.Old.From + 1
			}
			b = b[1:]
		case len(a) > 0 && (a[0].Old.From < s.Old.From || a[0].Old.To == s.Old.From && a[0].Old != s.Old):
			emitOurs(a[0].New.To)
			moved += a[0].New.To - a[0].New.From - a[0].Old.To + a[0].Old.From
			a = a[1:]
		default:
			emitOurs(s.Old.From + moved)
			emitTheirs(s)
			at += s.Old.To - s.Old.From
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

// removes reports whether a change only removes lines.
func (s Change) removes() bool { return s.New.From == s.New.To }

// overlaps reports whether two changes of a base cannot both be made.
func (s Change) overlaps(t Change) bool {
	return s.Old.From < t.Old.To && t.Old.From < s.Old.To || s.Old == t.Old && s.Old.To > s.Old.From
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
