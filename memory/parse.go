package memory

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Meta is what is known of a file beside its bytes.
type Meta struct {
	ModTime   time.Time
	Unsettled bool // it was read while it was being written: private throughout
}

// Parse reads a file. It never fails: what is wrong becomes a [Problem], and
// what is unsure becomes private. It keeps src, which must not be modified
// afterwards.
func (l *Layout) Parse(path string, src []byte, meta Meta) *Document {
	masked := src
	if l.Mask != nil {
		masked = l.Mask(src)
	}
	d := l.parse(path, src, masked, meta, nil)
	d.setApart(l, meta)
	return d
}

// parse reads a file, or the excerpt of one, as it may be shown.
func (l *Layout) parse(path string, src, masked []byte, meta Meta, of *excerptOf) *Document {
	d := &Document{Place: l.Place(path), Source: src, masked: masked}
	p := &parse{l: l, d: d, meta: meta, of: of, text: unixText(masked), plain: utf8.Valid(src)}
	if !p.plain {
		p.problem("utf8_invalid", 0, "the file is not valid UTF-8; it is read with replacement characters and never written to")
		d.Unsound = true
	}
	p.plain = p.plain && bytes.IndexByte(src, '\r') < 0 && bytes.IndexByte(src, 0) < 0
	p.ln = splitLines(p.text)

	var problems []Problem
	if of == nil || of.front {
		d.Front, p.body, problems = l.readFront(src, p.text)
		d.Problems = append(d.Problems, problems...)
	}
	if p.plain {
		p.source = string(masked[p.body:])
	}
	if d.Front.Broken {
		d.Unsound = true
		p.private.hideFrom(1)
	}
	if meta.Unsettled {
		p.private.hideFrom(1)
	}
	p.own()
	p.names, p.dir = l.sectionNames(), SubjectDir(l.owner())
	p.from, p.to, p.dated = dayBounds(d.Place.Day, l.location())

	tops, problem := structure(p.text, p.body, p.ln)
	p.limits(tops, problem)
	text, hidden, problems := hide(p.text, tops, p.body, p.ln)
	if d.Problems = append(d.Problems, problems...); len(problems) > 0 {
		d.Unsound = true
	}
	if p.hidden = hidden; hidden != nil {
		p.text = text
		tops, _ = structure(p.text, p.body, p.ln)
	}
	p.blocks(tops)
	p.finish()
	return d
}

// readFront reads the frontmatter. What is masked of it are values, one by one:
// the keys, and the ids that tell whose the file is, are what they are.
func (l *Layout) readFront(src, masked []byte) (Front, int, []Problem) {
	text := masked
	if l.Mask != nil {
		text = unixText(src)
	}
	f, body, problems := readFront(src, text, l.location())
	if l.Mask != nil {
		f.mask(func(s string) string { return string(l.Mask([]byte(s))) })
	}
	return f, body, problems
}

// limits notes what of the structure could not be read, and hides it: a mark in
// it that makes it private has not been seen.
func (p *parse) limits(tops []top, problem *Problem) {
	if problem == nil {
		return
	}
	if problem.Code != nestingTooDeep {
		problem.Line = 1
		if len(tops) > 0 {
			problem.Line = tops[len(tops)-1].from
		}
		p.private.hideFrom(problem.Line)
		p.d.Unsound = true
	}
	p.d.Problems = append(p.d.Problems, *problem)
}

// unixText is a copy of the source in which every line ends with LF, byte for
// byte as long; the source itself if it is so already. NUL is left: it means
// nothing to the structure.
func unixText(src []byte) []byte {
	if bytes.IndexByte(src, '\r') < 0 {
		return src[:len(src):len(src)]
	}
	out := slices.Clone(src)
	for i, c := range out {
		switch {
		case c != '\r':
		case i+1 < len(out) && out[i+1] == '\n':
			out[i] = ' '
		default:
			out[i] = '\n'
		}
	}
	return out
}

// parse is the state of reading one file.
type parse struct {
	l        *Layout
	d        *Document
	meta     Meta
	of       *excerptOf // what this is an excerpt of; nil if it is none
	text     []byte     // the source with LF line endings and nothing hidden in it
	plain    bool       // the source can be shown as it is
	source   string     // its body, if so: entries share it
	ln       lines
	body     int
	hidden   []lineRange
	private  privacy
	marks    []mark
	names    sectionNames
	sections []section  // one a heading
	stack    []int      // the headings that are open, outermost first
	drafts   []draft    // one an entry
	owner    string     // of the file's entries, as far as they are public
	fixed    Visibility // of entries that do not say one
	dir      string     // where the days of the root's owner are archived

	dated    bool      // the path has a day
	from, to time.Time // of that day

	block block  // the one that is being read
	cuts  []Span // for one entry
	buf   []byte // for one entry
}

func (p *parse) problem(code string, line int, message string) {
	p.d.Problems = append(p.d.Problems, Problem{code, line, message})
}

// own decides whose the file is.
func (p *parse) own() {
	d := p.d
	place, subject := d.Place, d.Front.SubjectID
	if place.Dir != "" && (hidden(place.Dir) || sanitize(place.Dir, func(string) bool { return false }) != place.Dir) {
		p.problem("directory_unmapped", 0, "no subject has a directory of this name, so nobody reads what is in it; rename it")
	}
	if subject != "" {
		if err := ValidSubject(subject); err != nil {
			p.frontProblem("subject_invalid", "subject_id", "the subject_id is ignored: "+err.Error())
			subject = ""
		}
	}
	if d.Front.ContactNickname != "" && d.Front.ContactID == "" {
		p.frontProblem("contact_id_missing", "contact_nickname", "a session with a contact names it in contact_id as well")
	}
	p.owner = place.Owner
	switch {
	case place.Kind == Archive && place.Day != "":
		switch root := place.Dir == SubjectDir(p.l.owner()); { // where what names nobody is archived
		case subject != "":
			p.owner = subject
		case root && place.daily():
			p.owner = p.l.owner()
		case root || d.Front.SessionID != "":
			p.owner = ""
		}
	case place.Dir != "":
		if subject != "" && place.Owner == longtermKey(SubjectDir(subject)) || place.Owner == userKey(UserDir(subject)) && subject != "" {
			d.Claim = subject
		} else if subject != "" {
			p.frontProblem("subject_conflict", "subject_id",
				"the subject_id does not belong to this directory and is ignored; that subject's is "+longtermsDir+"/"+SubjectDir(subject))
		}
	case subject != "":
		p.owner = subject
	}
	p.fixed = place.Visibility
	if d.Front.HasVisibility {
		p.fixed = d.Front.Visibility
	}
	if p.of != nil {
		p.owner, p.fixed = p.of.owner, PublicOK
	}
	own := p.fixed
	if p.private.from > 0 {
		own = PrivateOnly
	}
	d.Own, d.public = p.partition(own), p.partition(PublicOK)
}

func (p *parse) frontProblem(code, key, message string) {
	f, _ := p.d.Front.Field(key)
	p.problem(code, f.Line, message)
}

// partition is where text of a visibility is kept. What is private has a
// subject: without any other it is the owner's.
func (p *parse) partition(v Visibility) Partition {
	if v == PrivateOnly && p.owner == "" {
		return Partition{Owner: p.l.owner(), Visibility: v}
	}
	return Partition{Owner: p.owner, Visibility: v}
}

// blocks turns the blocks of the file into headings, entries and hidden lines.
func (p *parse) blocks(tops []top) {
	entries := 0
	for _, t := range tops {
		if t.kind == topEntry || t.kind == topHeading {
			entries++
		}
	}
	p.d.Entries, p.drafts = make([]Entry, 0, entries), make([]draft, 0, entries)
	for _, r := range p.hidden {
		p.d.Hidden = append(p.d.Hidden, p.ln.span(r.from, r.to))
	}
	last := -1 // the entry that an attribute comment below it belongs to
	for i := 0; i < len(tops); i++ {
		t := &tops[i]
		switch t.kind {
		case topRule:
			last = -1
		case topComment:
			last = p.comment(t, last)
		case topHeading:
			if emptySection(tops[i:]) {
				last = p.entry(t, p.above(t.level))
			} else {
				p.heading(t)
				last = -1
			}
		case topEntry:
			if i+1 < len(tops) && t.block == Paragraph && tops[i+1].block == Code && tops[i+1].kind == topEntry {
				code := tops[i+1]
				code.from, code.introduction = t.from, t.node
				t, i = &code, i+1
			}
			last = p.entry(t, p.current())
		}
	}
}

// emptySection reports whether the first block, a heading, has neither an entry
// nor a heading below it.
func emptySection(tops []top) bool {
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

// comment reads comments that stand between entries. One with attributes
// belongs to the entry above it, which it may hide; the others are hidden
// lines. It returns the entry that a further comment would belong to.
func (p *parse) comment(t *top, last int) int {
	f := &p.block
	f.reset()
	p.collect(f, t.node, 0, true)
	p.marks = append(p.marks, f.marks...)
	state, attrs, span := commentPlain, []attr(nil), Span{}
	for _, c := range f.leaves[0].comments {
		if c.state == commentBroken || c.state == commentAttributes && known(c.attrs) && state == commentPlain {
			state, attrs, span = c.state, c.attrs, c.src
		}
	}
	switch {
	case state == commentPlain || len(f.marks) > 0 && state == commentAttributes && !restricts(attrs):
	case state == commentBroken:
		from := t.from
		if last >= 0 {
			from = p.d.Entries[last].Line
		}
		p.broken(from, t.from)
	case last >= 0:
		e, dr := &p.d.Entries[last], &p.drafts[last]
		e.EndLine, e.Span = t.to, p.ln.span(e.Line, t.to)
		dr.closed = dr.closed || restricts(attrs)
		if dr.attrs == nil {
			dr.attrs, dr.opened, e.Comment = attrs, true, span
		}
		return -1
	default:
		p.problem("attributes_stray", t.from, "attributes stand here without an entry above them; put them at the end of an entry")
		if restricts(attrs) {
			p.private.hideFrom(t.from)
		}
	}
	p.d.Hidden = append(p.d.Hidden, p.ln.span(t.from, t.to))
	return last
}

func (p *parse) broken(from, line int) {
	p.problem("attributes_broken", line, "the attributes in this comment cannot be read; everything from here on is private. Write key=value pairs, with %20 for a space in a value")
	p.private.hideFrom(from)
}

// A section is what a heading says of the entries below it.
type section struct {
	path                         []string
	kind                         string // the type of the entries, empty for none
	tasks, followUps, commitment bool
	hour, minute, second         int
	clock                        bool
}

func (p *parse) current() int {
	if len(p.stack) == 0 {
		return -1
	}
	return p.stack[len(p.stack)-1]
}

// above closes the headings that one of that level ends, and returns the one
// around it.
func (p *parse) above(level int) int {
	for len(p.stack) > 0 && p.d.Headings[p.current()].Level >= level {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return p.current()
}

func (p *parse) heading(t *top) {
	f := &p.block
	f.reset()
	p.collect(f, t.node, 0, true)
	p.marks = append(p.marks, f.marks...)
	text := ""
	for _, lf := range f.leaves {
		text = strings.Join(strings.Fields(display([]byte(lf.clean(0)), false)), " ")
		for _, c := range lf.comments {
			if c.state == commentBroken {
				p.broken(t.from, t.from)
			} else if restricts(c.attrs) {
				p.problem("attributes_stray", t.from, "the attributes of a heading hold for nothing but its visibility; everything from here on is private")
				p.private.hideFrom(t.from)
			}
		}
	}
	parent := p.above(t.level)
	p.d.Headings = append(p.d.Headings, Heading{Level: t.level, Text: text, Line: t.from, EndLine: t.to, Parent: parent})
	p.stack = append(p.stack, len(p.d.Headings)-1)
	s := section{path: []string{text}}
	if parent >= 0 {
		s = p.sections[parent]
		s.path = append(s.path[:len(s.path):len(s.path)], text)
	}
	p.sections = append(p.sections, p.names.section(s, text))
}

func (p *parse) section(heading int) section {
	if heading < 0 {
		return section{}
	}
	return p.sections[heading]
}
