package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// finishDocument computes the properties that depend on the whole file: the
// readers of each entry, and from them its id, tags and times.
func (p *docParser) finishDocument() {
	d := p.d
	slices.SortFunc(p.marks, func(a, b privateMark) int { return a.at - b.at })
	problems, unclosed := p.private.matchTags(p.marks, p.ln)
	d.Problems = append(d.Problems, problems...)
	d.Unsound = d.Unsound || unclosed
	if p.of != nil {
		p.private = privateRanges{} // already applied when the whole file was parsed
	}
	d.privateLines, d.privatePartition, d.lines, d.hidden = p.private, p.partitionFor(PrivateOnly), p.ln, p.hidden

	slices.SortFunc(d.Hidden, func(a, b Span) int { return a.Start - b.Start })
	for _, t := range d.Front.Tags {
		p.fileTags = append(p.fileTags, FoldTag(t))
	}
	slices.Sort(p.fileTags)
	p.fileTags = slices.Clip(slices.Compact(p.fileTags))
	d.publicBelow = make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		p.completeEntry(e, &p.pending[i])
		for h := e.Heading; e.Partition.Visibility == PublicOK && h >= 0 && !d.publicBelow[h]; h = d.Headings[h].Parent {
			d.publicBelow[h] = true
		}
	}
	p.assignIDs()
	p.checkKeys()
	p.checkCounters()
	slices.SortStableFunc(d.Problems, func(a, b Problem) int { return a.Line - b.Line })
}

// checkKeys reports summaries without evidence, and items with the key of an earlier item,
// unless memwatchd wrote both, as it does if callers in public and in private put the
// same key.
func (p *docParser) checkKeys() {
	if p.d.Place.Kind != Items {
		return
	}
	type name struct {
		key       string
		of        Partition
		untrusted bool
	}
	earlier := map[name]*Entry{}
	for i := range p.d.Entries {
		e := &p.d.Entries[i]
		if e.Block == Item && len(e.Evidence) == 0 && e.inSummaries() {
			p.addProblem("summary_unproven", e.Line,
				"the summary has no evidence and counts as an item; add <!-- evidence=PATH -->")
		}
		if e.Block != Item || e.Title == "" || e.IsSummary() {
			continue
		}
		n := name{e.Title, e.Partition, e.Author().Untrusted(View{})}
		if old := earlier[n]; old != nil && (e.Attributes["updated"] == "" || old.Attributes["updated"] == "") {
			p.addProblem("key_duplicate", e.Line, "same key as in line "+strconv.Itoa(old.Line)+
				"; the item updated last counts, of equally old ones the lower one; remove the other")
		}
		earlier[n] = e
	}
}

// checkCounters compares the counters of the frontmatter with the boxes.
func (p *docParser) checkCounters() {
	if p.d.Place.Root != "" {
		return // the file is never changed
	}
	tasks, followUps := p.d.frontCounters()
	for _, c := range []struct {
		key, written string
		counted      Progress
	}{{"tasks", p.d.Front.Tasks, tasks}, {"follow_ups", p.d.Front.FollowUps, followUps}} {
		if c.written != "" && c.written != c.counted.String() {
			p.frontProblem(CounterWrong, c.key,
				c.key+" is "+strconv.Quote(c.written)+", but the boxes count "+c.counted.String())
		}
	}
}

func (p *docParser) entryVisibility(e *Entry, dr *pendingAttributes) Visibility {
	switch v, ok := attrValue(dr.attrs, "visibility"); {
	case p.of != nil:
		return PublicOK
	case dr.setsPrivate || p.private.overlaps(e.Line, e.EndLine):
		return PrivateOnly
	case ok && dr.mayPublish:
		return ParseVisibility(v)
	}
	return p.defaultVisibility
}

// completeEntry completes an entry, except its id.
func (p *docParser) completeEntry(e *Entry, dr *pendingAttributes) {
	e.Partition, e.Masked = p.partitionFor(p.entryVisibility(e, dr)), p.d.hasMaskedText(e.Span)
	if dr.attrs != nil {
		p.d.Problems = append(p.d.Problems, e.applyAttributes(dr.attrs)...)
	}
	for i := range e.Tasks {
		if t := &e.Tasks[i]; t.ID == "" && e.Given && t.isEntry {
			t.ID = e.ID
		}
	}
	if r, below := p.l.CutRoot(p.d.Place.Path); r != nil {
		r.annotate(below, e)
	}
	e.countRepeated()
	p.completeTags(e)
	s := p.sectionAt(e.Heading)
	if e.Type == "" {
		e.Type = p.defaultType(s)
	}
	e.Time = p.entryTime(e, dr, s)
}

// completeTags sorts the tags of an entry and adds those of the file. The entries
// without tags of their own share the tags of the file.
func (p *docParser) completeTags(e *Entry) {
	var shared []string
	if e.Partition == p.d.Own {
		shared = p.fileTags
	}
	if len(e.Tags) == 0 {
		e.Tags = shared
		return
	}
	e.Tags = append(e.Tags, shared...)
	slices.Sort(e.Tags)
	e.Tags = slices.Compact(e.Tags)
}

// splitTitle splits a leading bold text and its colon from an entry's lead.
func splitTitle(lead string) (title, rest string) {
	mark := "**"
	if strings.HasPrefix(lead, "__") {
		mark = "__"
	}
	body, ok := strings.CutPrefix(lead, mark)
	if !ok {
		return "", lead
	}
	end := unescapedIndex(body, mark)
	if end <= 0 || body[0] == ' ' || body[0] == '*' || body[end-1] == ' ' || strings.IndexByte(body[:end], '\n') >= 0 {
		return "", lead
	}
	title, rest = strings.TrimSpace(body[:end]), strings.TrimLeft(body[end+len(mark):], "*")
	rest, cut := cutColon(rest, strings.CutPrefix)
	if !cut { // a colon after the title would leave one in the title
		title, cut = cutColon(title, strings.CutSuffix)
	}
	rest = strings.TrimLeft(rest, " \t")
	if !cut {
		rest, _ = cutColon(rest, strings.CutPrefix)
	}
	return strings.TrimSpace(title), strings.TrimLeft(rest, " \t")
}

// cutColon removes a colon from one end of a text.
func cutColon(s string, cut func(s, colon string) (string, bool)) (rest string, ok bool) {
	rest, ok = cut(s, ":")
	if !ok {
		rest, ok = cut(s, "：")
	}
	return rest, ok
}

// unescapedIndex returns the index of the first mark in s that does not follow
// a backslash, or -1.
func unescapedIndex(s, mark string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], mark):
			return i
		}
	}
	return -1
}

// entryTime returns the best known time at which an entry was written or last
// changed.
func (p *docParser) entryTime(e *Entry, dr *pendingAttributes, s section) time.Time {
	loc, from, to := p.l.location(), p.from, p.to
	t := p.meta.ModTime
	switch updated, ok := p.updatedTime(e, dr); {
	case ok:
		t = updated
	case p.dated && s.clock && (p.d.Place.Kind == Daily || p.d.Place.isDailyNote()):
		t = time.Date(from.Year(), from.Month(), from.Day(), s.hour, s.minute, s.second, 0, loc)
	case e.Added != "":
		t, _, _ = dayBounds(e.Added, loc)
	case !p.d.Front.Updated.IsZero() && (p.d.Own.Visibility == PublicOK || e.Partition == p.d.Own):
		t = p.d.Front.Updated
	case p.dated:
		t = from
	case p.d.Place.Kind == Note:
		t = p.noteTime(e)
	}
	if t.IsZero() {
		return t
	}
	if p.dated && t.Before(from) {
		t = from
	}
	if p.dated && t.After(to) {
		t = to
	}
	return t.UTC()
}

// noteTime returns the time of an entry of an ordinary note that has none of its
// own: the time in the frontmatter, the day in the file name, or the time of the
// file.
func (p *docParser) noteTime(e *Entry) time.Time {
	d := p.d
	if d.Own.Visibility == PublicOK || e.Partition == d.Own {
		for _, key := range noteTimeKeys {
			if t, ok := ParseTime(d.Front.text(key), p.l.location()); ok {
				return t
			}
		}
	}
	base, _ := CutMarkdown(path.Base(d.Place.Path))
	if t, _, ok := dayBounds(dayInName(base), p.l.location()); ok {
		return t
	}
	return p.meta.ModTime
}

// noteTimeKeys are the keys of the frontmatter with the time of a note, as usual in
// Obsidian, Hugo, Jekyll and zk, the last change first.
var noteTimeKeys = [...]string{"updated", "modified", "last_modified", "lastmod", "date", "created_at", "created"}

func (p *docParser) updatedTime(e *Entry, dr *pendingAttributes) (time.Time, bool) {
	v, ok := attrValue(dr.attrs, "updated")
	if !ok {
		return time.Time{}, false
	}
	t, ok := ParseTime(v, p.l.location())
	if !ok {
		p.addProblem("time_unreadable", e.Line, "attribute updated is not a time such as 2026-02-04T12:34:56Z")
	}
	return t, ok
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const idDigits = 10

// shortDigits is the length of ids from [NewID]. Among a thousand ids, a new
// one collides with a probability of one in a million.
const shortDigits = 6

// NewID returns a short id that is not in taken. It derives the id from the
// texts of, which should distinguish the entry from others: equal texts give
// equal ids.
func NewID(taken map[string]bool, of ...string) string {
	source := strings.Join(of, "\x00")
	for n := 0; ; n++ {
		sum := sha256.Sum256([]byte(source + "\x00" + strconv.Itoa(n)))
		if id := idEncoding.EncodeToString(sum[:])[:shortDigits]; !taken[id] {
			return id
		}
	}
}

// assignIDs gives every entry an id that is unique in the file. Public entries
// get their ids first, so that these ids are the same in the whole file and in
// its excerpt.
func (p *docParser) assignIDs() {
	taken := make(map[string]int, len(p.d.Entries)) // id → number of further entries with the same text
	for _, v := range []Visibility{PublicOK, PrivateOnly} {
		for i := range p.d.Entries {
			e := &p.d.Entries[i]
			if e.Partition.Visibility != v {
				continue
			}
			if _, ok := taken[e.ID]; ok && e.Given {
				p.addProblem("id_duplicate", e.Line,
					"duplicate id; this entry gets a derived id")
				e.ID, e.Given = "", false
			}
			if !e.Given {
				e.ID = p.deriveID(e, taken)
			}
			taken[e.ID] = 0
		}
	}
}

// deriveID returns an id derived from the position and text of an entry. It adds
// a number to the input for each repetition.
func (p *docParser) deriveID(e *Entry, taken map[string]int) string {
	p.buf = append(p.buf[:0], p.d.Place.Path...)
	for _, s := range e.Sections {
		p.buf = append(append(p.buf, 0x1f), s...)
	}
	p.buf = append(append(p.buf, 0), e.Norm...)
	first := hashID(p.buf)
	n, ok := taken[first]
	if !ok {
		return first
	}
	for size := len(p.buf); ; {
		n++
		p.buf = strconv.AppendInt(append(p.buf[:size], 0), int64(n), 10)
		if id := hashID(p.buf); taken[id] == 0 {
			if _, ok := taken[id]; !ok {
				taken[first] = n
				return id
			}
		}
	}
}

// hashID returns the derived id for a hash input.
func hashID(b []byte) string {
	sum := sha256.Sum256(b)
	var out [16]byte
	idEncoding.Encode(out[:], sum[:10])
	return "~" + string(out[:idDigits])
}

func (d *Document) blankLine(line int) bool { return strings.Trim(d.line(line), " \t") == "" }

// bodyLine returns the number of the first line of the body.
func (d *Document) bodyLine() int {
	if d.Front.Span.End > 0 {
		return d.lines.at(d.Front.Span.End-1) + 1
	}
	return 1
}

// removeEntries adds the edits that remove entries, and headings that must not
// stay without them.
func (w *passAttempt) removeEntries() {
	d := w.d
	w.droppedHeadings = w.emptiedHeadings()
	for i, c := range w.entries {
		if e := &d.Entries[i]; c.remove {
			w.removedLines = append(w.removedLines, lineRange{e.Line, e.EndLine})
		}
	}
	for h := range w.droppedHeadings {
		w.removedLines = append(w.removedLines, lineRange{d.Headings[h].Line, d.Headings[h].EndLine})
	}
	slices.SortFunc(w.removedLines, func(a, b lineRange) int { return a.from - b.from })
	for i := 0; i < len(w.removedLines); i++ {
		r := w.removedLines[i]
		for i+1 < len(w.removedLines) && d.adjoin(r.to, w.removedLines[i+1].from) {
			i++
			r.to = w.removedLines[i].to
		}
		w.editList = append(w.editList, w.cutLines(r))
	}
}

// blankBetween reports whether only blank lines are between two lines.
func (d *Document) blankBetween(from, to int) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) {
			return false
		}
	}
	return true
}

// adjoin reports whether only blank lines and separators are between two lines.
func (d *Document) adjoin(from, to int) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) && !d.isSeparator(line) {
			return false
		}
	}
	return true
}

func (d *Document) isSeparator(line int) bool {
	_, is := slices.BinarySearch(d.separators, line)
	return is
}

// gaps returns the numbers of blank lines above and below a range of lines.
func (d *Document) gaps(r lineRange) (above, below int) {
	for r.from-above > d.bodyLine() && d.blankLine(r.from-above-1) {
		above++
	}
	for r.to+below < d.lines.count() && d.blankLine(r.to+below+1) {
		below++
	}
	return above, below
}

// withSeparator extends the lines of removed entries to the separator that they leave: one of
// two around them, or the only one if the other side is a heading or an end of the file.
func (d *Document) withSeparator(r lineRange) lineRange {
	if len(d.separators) == 0 {
		return r
	}
	above, below := d.gaps(r)
	from, to := r.from-above-1, r.to+below+1
	isEnd := func(line int) bool {
		emptyHeading := func(e Entry) bool { return e.Line == line && e.Block == EmptyHeading }
		return line < d.bodyLine() || line > d.lines.count() || d.placement().headingAt(line) ||
			slices.ContainsFunc(d.Entries, emptyHeading)
	}
	switch up, down := d.isSeparator(from), d.isSeparator(to); {
	case down && (up || isEnd(from)):
		r.to = to
	case up && isEnd(to):
		r.from = from
	}
	return r
}

// cutLines returns the edit that removes lines together with the blank lines on
// the side that has fewer, so that the larger gap stays. At the top of a file
// no blank line stays, and at its end none is added.
func (w *passAttempt) cutLines(r lineRange) Edit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	r = d.withSeparator(r)
	above, below := d.gaps(r)
	atEnd, atTop := r.to+below == n, r.from-above == first && first == 1
	var replacement []byte
	switch {
	case atEnd:
		r.from -= above
	case atTop:
		r.to += below
	case above == 0 && below == 0:
		if w.minGap > 0 && r.from > 1 {
			replacement = d.lineEnding(r.from - 1)
		}
	case above < below:
		r.from -= above
	case above > 0:
		r.to += below
	}
	s := d.lines.span(r.from, r.to)
	s.Start = max(s.Start, bomLen(d.Source))
	return Edit{s, replacement}
}

// emptiedHeadings returns the headings to remove with the entries below them: headings
// that would otherwise become visible to more readers, and headings with the
// time of a removed note. A heading without entries is visible to every reader
// of the file.
func (w *passAttempt) emptiedHeadings() map[int]bool {
	d := w.d
	had, remains, public := make([]bool, len(d.Headings)), make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		c := w.entries[i]
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			removed := c != nil && c.remove
			had[h], remains[h] = had[h] || removed, remains[h] || !removed
			public[h] = public[h] || d.Entries[i].Partition.Visibility == PublicOK
		}
	}
	for i := range w.below {
		if i < 0 {
			continue // at the top of the file
		}
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			remains[h] = true
		}
	}
	drop := map[int]bool{}
	for h := range d.Headings {
		exposed := d.Own.Visibility == PublicOK && !public[h] &&
			!d.privateLines.overlaps(d.Headings[h].Line, d.Headings[h].EndLine)
		if !remains[h] && (exposed || had[h] && d.isNoteHeading(h)) {
			drop[h] = true
		}
	}
	return drop
}

// isNoteHeading reports whether a heading is that of a note with a time of day, and has
// no subheadings.
func (d *Document) isNoteHeading(h int) bool {
	_, _, _, ok := headingClock(d.Headings[h].Text)
	return ok && d.Place.Day != "" && !slices.ContainsFunc(d.Headings, func(o Heading) bool { return o.Parent == h })
}
