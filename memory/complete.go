package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
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
	p.matchTags()
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
	p.fileTimes = map[bool]time.Time{false: p.fileTime(false), true: p.fileTime(true)}
	d.publicBelow = make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		p.completeEntry(e, &p.pending[i])
		if e.Partition.Visibility != PublicOK {
			continue
		}
		for h := e.Heading; h >= 0 && !d.publicBelow[h]; h = d.Headings[h].Parent {
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
	earlier := make(map[name]*Entry, len(p.d.Entries))
	heading, below := -2, false // the last heading, and whether summaries are below it
	for i := range p.d.Entries {
		e := &p.d.Entries[i]
		if e.Heading != heading {
			heading, below = e.Heading, e.inSummaries()
		}
		if e.Block == Item && below && len(e.Evidence) == 0 {
			p.addProblem("summary_unproven", e.Line,
				"the summary has no evidence and counts as an item; add <!-- evidence=PATH -->")
		}
		if e.Block != Item || e.Title == "" || below && len(e.Evidence) > 0 {
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
	for _, c := range p.d.wrongCounters(true) {
		p.frontProblem(CounterWrong, c.key,
			fmt.Sprintf("%s is %q, but the boxes count %s", c.key, p.d.Front.text(c.key), c.value))
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
		p.applyAttributes(e, dr.attrs)
	}
	for i := range e.Tasks {
		if t := &e.Tasks[i]; t.ID == "" && e.Given && t.isEntry {
			t.ID = e.ID
		}
	}
	if r, below := p.l.CutRoot(p.d.Place.Path); r != nil && r.Project != nil {
		if project := r.Project(below); project != "" {
			e.Tags = append(e.Tags, "project:"+project)
		}
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

// entryTime returns the best known time at which an entry was written or last
// changed.
func (p *docParser) entryTime(e *Entry, dr *pendingAttributes, s section) time.Time {
	loc, from, to := p.l.location(), p.from, p.to
	t, ok := p.updatedTime(e, dr)
	switch {
	case ok:
	case p.dated && s.clock && (p.d.Place.Kind == Daily || p.d.Place.isDailyNote()):
		t = time.Date(from.Year(), from.Month(), from.Day(), s.hour, s.minute, s.second, 0, loc)
	case e.Added != "":
		t, _, _ = dayBounds(e.Added, loc)
	default:
		t = p.fileTimes[p.d.Own.Visibility == PublicOK || e.Partition == p.d.Own]
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

// fileTime returns the time of entries that have none of their own: the one in the
// frontmatter, if their readers may read it, the day of the path, for an ordinary note
// the day in its name, or the time of the file.
func (p *docParser) fileTime(front bool) time.Time {
	d, loc := p.d, p.l.location()
	switch {
	case front && !d.Front.Updated.IsZero():
		return d.Front.Updated
	case p.dated:
		return p.from
	case d.Place.Kind != Note:
		return p.meta.ModTime
	}
	for _, key := range noteTimeKeys {
		if t, ok := ParseTime(d.Front.text(key), loc); front && ok {
			return t
		}
	}
	base, _ := CutMarkdown(path.Base(d.Place.Path))
	if t, _, ok := dayBounds(dayInName(base), loc); ok {
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
		id := hashID(p.buf)
		if _, ok := taken[id]; !ok {
			taken[first] = n
			return id
		}
	}
}

// excerptOf holds the properties of an excerpt that its text does not contain.
type excerptOf struct {
	owner string
	front bool // the excerpt begins with the frontmatter
}

// setExcerpt sets the partition of the document and parses its excerpt.
func (d *Document) setExcerpt(l *Layout, meta Meta) {
	d.Partition = d.privatePartition
	if d.Own.Visibility != PublicOK &&
		!slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Partition.Visibility == PublicOK }) {
		return
	}
	if d.allPublic() {
		if !isBlankText(d.Source) {
			d.Partition, d.Written = d.publicPartition, meta.publicTime(d.Source)
			for i := range d.Entries {
				if e := &d.Entries[i]; e.Time.Equal(meta.ModTime) {
					e.Time = d.Written.UTC()
				}
			}
		}
		return
	}
	lines := d.publicLines()
	if len(lines) == 0 {
		return
	}
	var src, masked []byte
	for _, line := range lines {
		s := d.lines.span(line, line)
		if n := len(src) - 1; n >= 0 && src[n] == '\r' && d.Source[s.Start] == '\n' {
			src[n], masked[n] = '\n', '\n' // prevent a CR and an LF of different lines from becoming one line ending
		}
		src = append(src, d.Source[s.Start:s.End]...)
		masked = append(masked, d.masked[s.Start:s.End]...)
	}
	if bytes.Equal(src, masked) {
		masked = src
	}
	front := d.Front.Span.End > 0 && lines[0] == 1
	meta.ModTime = meta.publicTime(src)
	d.excerpt = l.parse(d.Place.Path, src, masked, meta, &excerptOf{d.publicPartition.Owner, front}, false)
	d.excerpt.Partition, d.excerpt.Written = d.publicPartition, meta.ModTime
	d.excerpt.Partition.Excerpt = true
}

func (p *docParser) defaultType(s section) string {
	place := p.d.Place
	switch {
	case place.Kind == Items:
		return namespaceTypes[place.Namespace]
	case s.kind != "":
		return s.kind
	case place.Day != "":
		return "crumb"
	}
	return "fact"
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const idDigits = 10

// hashID returns the derived id for a hash input.
func hashID(b []byte) string {
	sum := sha256.Sum256(b)
	var out [16]byte
	idEncoding.Encode(out[:], sum[:10])
	return "~" + string(out[:idDigits])
}
