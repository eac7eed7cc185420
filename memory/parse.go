package memory

import (
	"bytes"
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// Meta holds the properties of a file other than its content.
type Meta struct {
	ModTime  time.Time
	Unstable bool // the file was being written while it was read, so all of it is private
}

// Parse parses a file. It never fails: defects become a [Problem], and text of
// doubtful visibility becomes private. The document keeps src, which must not
// be modified afterwards.
func (l *Layout) Parse(path string, src []byte, meta Meta) (d *Document) {
	masked := src
	if l.Mask != nil {
		masked = l.Mask(src)
	}
	defer func() {
		// One file must not end the daemon, which would read it at each start.
		if recover() != nil {
			d = l.parse(path, src, masked, meta, true)
		}
	}()
	return l.parse(path, src, masked, meta, false)
}

// parse parses the masked source of a file. If flat, it does not parse the structure:
// the whole text is one private entry.
func (l *Layout) parse(path string, src, masked []byte, meta Meta, flat bool) *Document {
	d := &Document{Place: l.Place(path), Source: src, masked: masked}
	p := &docParser{l: l, d: d, meta: meta, flat: flat, text: unixText(masked), plain: utf8.Valid(src)}
	p.ln = splitLines(p.text)
	if !p.plain {
		p.addDefect("utf8_invalid", 0, "not valid UTF-8; the file is read with replacement characters and never changed. "+
			"Save the file as UTF-8")
	}
	if crlf := []byte("\r\n"); bytes.Count(src, crlf[:1]) > bytes.Count(src, crlf) {
		at := bytes.IndexByte(bytes.ReplaceAll(src, crlf, []byte("  ")), '\r')
		p.addDefect("line_ending_unusual", p.ln.at(at), "a carriage return without a line feed ends this line; the file "+
			"is read and never changed. Save the file with the line endings LF or CRLF")
	}
	p.plain = p.plain && bytes.IndexByte(src, '\r') < 0 && bytes.IndexByte(src, 0) < 0

	p.readFront(src)
	p.recurs = slices.ContainsFunc(d.Front.Tags, isRecurringTag)
	if p.plain {
		p.source = string(masked[p.body:])
	}
	p.doubtful = d.Front.Broken || meta.Unstable
	marks := p.hideConflictMarkers()
	p.setOwner()
	p.names, p.dir = l.sectionNames(), SubjectDir(l.owner())
	p.from, p.to, p.dated = dayBounds(d.Place.Day, l.location())

	tops, problem := p.parseStructure()
	if problem != nil {
		// The parts that were not parsed may contain a mark that makes the file private.
		p.doubtful = true
		p.addDefect(problem.Code, problem.Line, problem.Message)
	}
	d.marks.tags = findPrivateTags(p.text, p.body)
	hidden := p.findHidden(tops)
	p.readHidden(hidden)
	p.hidden = joinRegions(append(marks, hidden...))
	if hidden != nil {
		p.text = blankRegions(p.text, hidden, p.ln)
		tops, _ = p.parseStructure()
	}
	p.readBlocks(tops)
	p.finishDocument()
	return d
}

type docParser struct {
	l                 *Layout
	d                 *Document
	meta              Meta
	flat              bool   // the structure is not parsed
	text              []byte // masked source with LF line endings, hidden text blanked
	plain             bool   // the source is its own display form
	source            string // its body, if plain: entries share this string
	ln                lines
	body              int
	hidden            []lineRange
	doubtful          bool // who may read the file is unclear, so it is private
	names             sectionNames
	recurs            bool       // all tasks of the file do
	sections          []section  // by heading
	stack             []int      // the open headings, outermost first
	pending           [][]attr   // by entry
	fileTags          []string   // of the frontmatter, lower-cased and sorted
	owner             string     // of the file if it is public
	defaultVisibility Visibility // of a file without marks
	dir               string     // archive directory of the root's owner

	dated    bool      // the path contains a day
	from, to time.Time // first and last second of that day

	fileTime time.Time // of entries without a time of their own

	block block  // the current block
	cuts  []Span // buffer for one entry
	buf   []byte // buffer for one entry
}

func (p *docParser) addProblem(code string, line int, message string) {
	p.d.Problems = append(p.d.Problems, Problem{code, line, message})
}

// addDefect adds a problem because of which the file is never changed.
func (p *docParser) addDefect(code string, line int, message string) {
	p.addProblem(code, line, message)
	p.d.Unsound, p.d.whyUnsound = true, cmp.Or(p.d.whyUnsound, message)
}

// setOwner determines the owner and the default visibility of the file.
func (p *docParser) setOwner() {
	d := p.d
	place, subject := d.Place, d.Front.SubjectID
	if place.Dir != "" && !isSafeName(place.Dir) {
		p.addProblem("directory_unmapped", 0,
			"the name of the directory belongs to no subject, so its files have no readers; rename the directory")
	}
	if subject != "" {
		if err := ValidSubject(subject); err != nil {
			p.frontProblem("subject_invalid", "subject_id", "the subject_id is ignored: "+err.Error())
			subject = ""
		}
	}
	if d.Front.ContactNickname != "" && d.Front.ContactID == "" {
		p.frontProblem("contact_id_missing", "contact_nickname",
			"contact_nickname is set without contact_id; set contact_id")
	}
	p.owner = place.Owner
	switch {
	case place.Root != "": // the files of a root cannot choose their readers
	case place.Kind == Archive && place.Day != "":
		switch root := place.Dir == SubjectDir(p.l.owner()); { // the archive of files without a subject
		case subject != "":
			p.owner = subject
		case root && place.isDailyNote():
			p.owner = p.l.owner()
		case root || d.Front.SessionID != "":
			p.owner = ""
		}
	case place.Dir != "":
		if subject != "" && place.Owner == longtermKey(SubjectDir(subject)) ||
			place.Owner == userKey(UserDir(subject)) && subject != "" {
			d.Claim = subject
		} else if subject != "" {
			p.frontProblem("subject_conflict", "subject_id",
				"the subject_id does not match this directory and is ignored; the directory of this "+
					"subject is "+longtermsDir+"/"+
					SubjectDir(subject))
		}
	case subject != "":
		p.owner = subject
	}
	p.defaultVisibility = place.Visibility
	if d.Front.HasVisibility {
		p.defaultVisibility = d.Front.Visibility
	}
	d.Front.Source = p.sourceOf(d.Front.Source)
}

// sourceOf returns the source of a text of the file with an attribute source. In an inbox,
// text of the owner is by guests, who can remove the attribute: in private the owner has no
// inbox.
func (p *docParser) sourceOf(source string) string {
	if IsUntrustedSource(source) || InboxOf(p.d.Place.Path) == "" || cmp.Or(p.owner, p.l.owner()) != p.l.owner() {
		return source
	}
	return PublicSource + cmp.Or(source, "inbox")
}

func (p *docParser) frontProblem(code, key, message string) {
	f, _ := p.d.Front.Field(key)
	p.addProblem(code, f.Line, message)
}

// partitionFor returns the partition for text of a visibility. Private text always
// has a subject: by default the owner of the root.
func (p *docParser) partitionFor(v Visibility) Partition {
	if v == PrivateOnly && p.owner == "" {
		return Partition{Owner: p.l.owner(), Visibility: v}
	}
	return Partition{Owner: p.owner, Visibility: v}
}

// readBlocks converts top-level blocks to headings, entries and hidden lines.
func (p *docParser) readBlocks(tops []topBlock) {
	entries := 0
	for i, t := range tops {
		if t.kind == topEntry || t.kind == topHeading && emptySection(tops[i:]) {
			entries++
		}
	}
	p.d.Entries, p.pending = make([]Entry, 0, entries), make([][]attr, 0, entries)
	for _, r := range p.hidden {
		p.d.Hidden = append(p.d.Hidden, p.ln.span(r.from, r.to))
	}
	last := -1 // the entry to which a following attribute comment belongs
	for i := 0; i < len(tops); i++ {
		t := &tops[i]
		switch t.kind {
		case topRule:
			last = -1
			if s := p.ln.span(t.from, t.to); string(bytes.TrimSpace(p.text[s.Start:s.End])) == separator {
				p.d.separators = append(p.d.separators, t.from)
			}
		case topComment:
			last = p.readComment(t, last)
		case topHeading:
			if emptySection(tops[i:]) {
				last = p.readEntry(t, p.closeHeadings(t.level))
			} else {
				p.readHeading(t)
				last = -1
			}
		case topEntry:
			if i+1 < len(tops) && t.block == Paragraph && tops[i+1].block == codeBlock && tops[i+1].kind == topEntry {
				code := tops[i+1]
				code.from, code.introduction = t.from, t.node
				t, i = &code, i+1
			}
			last = p.readEntry(t, p.currentHeading())
		}
	}
}

// emptySection reports whether the section of tops[0], a heading, contains
// neither an entry nor a heading.
func emptySection(tops []topBlock) bool {
	for _, t := range tops[1:] {
		switch t.kind {
		case topHeading:
			return t.level <= tops[0].level
		case topEntry:
			return false
		}
	}
	return true
}

// readComment reads comments between entries. One with attributes belongs to the entry
// above it; the others become hidden lines. It returns the index of the entry to which a
// further comment would belong.
func (p *docParser) readComment(t *topBlock, last int) int {
	f := p.read(t)
	state, attrs, span := commentPlain, []attr(nil), Span{}
	for _, c := range f.leaves[0].comments {
		if c.state == commentBroken || c.state == commentAttributes && hasKnownKey(c.attrs) && state == commentPlain {
			state, attrs, span = c.state, c.attrs, c.src
		}
	}
	switch {
	case state == commentPlain, HasPrivateTag(string(f.leaves[0].buf)):
	case state == commentBroken:
		p.reportBroken(t.from)
	case last >= 0:
		e := &p.d.Entries[last]
		e.EndLine, e.Span = t.to, p.ln.span(e.Line, t.to)
		p.d.marks.add(last, attrs, p.pending[last] == nil)
		if p.pending[last] == nil {
			p.pending[last], e.Comment = attrs, span
		}
		return -1
	default:
		p.addProblem("attributes_stray", t.from,
			"attributes without an entry above; move the attributes to the end of an entry")
		p.doubtful = p.doubtful || setsPrivate(attrs)
	}
	p.d.Hidden = append(p.d.Hidden, p.ln.span(t.from, t.to))
	return last
}

func (p *docParser) reportBroken(line int) {
	p.addProblem("attributes_broken", line,
		"unclosed comment or invalid attributes; the file is private. Write key=value pairs, with %20 for a space in a value")
	p.doubtful = true
}

func (p *docParser) currentHeading() int {
	if len(p.stack) == 0 {
		return -1
	}
	return p.stack[len(p.stack)-1]
}

// closeHeadings closes the open headings of the given level or deeper, and returns the
// innermost remaining one.
func (p *docParser) closeHeadings(level int) int {
	for len(p.stack) > 0 && p.d.Headings[p.currentHeading()].Level >= level {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return p.currentHeading()
}

func (p *docParser) readHeading(t *topBlock) {
	text := ""
	for _, lf := range p.read(t).leaves {
		text = lf.heading()
		for _, c := range lf.comments {
			if c.state == commentBroken {
				p.reportBroken(t.from)
			} else if setsPrivate(c.attrs) {
				p.addProblem("attributes_stray", t.from,
					"attributes of a heading have no effect except for visibility; the file is private")
				p.doubtful = true
			}
		}
	}
	parent := p.closeHeadings(t.level)
	s := p.sectionAt(parent)
	s.path = append(slices.Clip(s.path), text)
	p.sections = append(p.sections, p.names.applyHeading(s, text))
	p.stack = append(p.stack, len(p.d.Headings))
	p.d.Headings = append(p.d.Headings,
		Heading{Level: t.level, Text: text, Line: t.from, EndLine: t.to, Parent: parent, path: s.path})
}

// heading returns the leaf's text on one line.
func (l *leaf) heading() string { return letters.OneLine(displayText(l.textFrom(0))) }

func (p *docParser) sectionAt(heading int) section {
	if heading < 0 {
		return section{}
	}
	return p.sections[heading]
}

// ParseCopy parses a conflict copy: the entries that the original lacks. They are
// public only if all text of both files is public and has the same owner, because
// either version may have restricted the other. If the files have different
// owners, the copy has no readers. A nil original is missing or unreadable.
//
// An entry that one of the other copies contains, for the same readers, is left to
// that copy, so that it is counted once.
//
// A copy has neither frontmatter nor tasks: it is never changed, and its session or
// its tasks exist in the original.
func (l *Layout) ParseCopy(path string, src []byte, meta Meta, original *Document, others ...*Document) *Document {
	d := l.Parse(path, src, meta)
	if original == nil || d.Unsound || original.Unsound || d.Partition != original.Partition {
		meta.Unstable = true // makes all of it private
		d = l.Parse(path, src, meta)
	}
	copied := *d
	copied.Claim, copied.Front = "", Front{Span: d.Front.Span, Present: d.Front.Present}
	copied.Problems = []Problem{{"conflict_copy", 0,
		"conflict copy of " + copied.Place.Copy + "; run `memwatchd conflicts merge`"}}
	if original != nil && original.private != d.private {
		copied.Partition, copied.Entries = Partition{Owner: longtermKey("")}, nil
		return &copied
	}
	there := map[string]bool{}
	for _, of := range slices.Concat(others, []*Document{original}) {
		if of != nil && (of == original || of.Partition == copied.Partition) {
			for i := range of.Entries {
				there[of.Entries[i].Norm] = true
			}
		}
	}
	copied.Entries = make([]Entry, 0, len(d.Entries))
	for _, e := range d.Entries {
		if there[e.Norm] {
			continue
		}
		e.Tasks, e.Partition = nil, copied.Partition
		copied.Entries = append(copied.Entries, e)
	}
	return &copied
}
