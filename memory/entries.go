package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// A block holds the parsed content of one top-level block. The parser reuses it
// for the next block.
type block struct {
	inlineElements
	leaves []leaf
	items  []blockItem // items[0] represents the block itself
}

type blockItem struct {
	parent int // index in block.items, -1 for none
	lead   int // index in block.leaves, -1 for none

	norm    string // set by itemNorm
	hasNorm bool
}

func (p *docParser) read(t *topBlock) *block {
	b := &p.block
	b.inlineElements = inlineElements{tags: b.tags[:0]}
	clear(b.leaves)
	b.leaves, b.items = b.leaves[:0], append(b.items[:0], blockItem{parent: -1, lead: -1})
	if t.introduction != nil {
		p.collectLeaves(b, t.introduction, 0, true)
	}
	p.collectLeaves(b, t.node, 0, t.introduction == nil)
	p.d.percent = p.d.percent || b.percent
	return b
}

// readEntry parses an entry, except the parts that depend on its readers, and
// returns its index.
func (p *docParser) readEntry(t *topBlock, heading int) int {
	b := p.read(t)
	e := Entry{Line: t.from, EndLine: t.to, Span: p.ln.span(t.from, t.to), Block: t.block, Heading: heading,
		Sections: p.sectionAt(heading).path, level: t.level}
	attrs := p.ownAttributes(&e, b)
	e.Text = p.entryText(&e, b)
	switch {
	case e.Block == EmptyHeading && len(b.leaves) > 0:
		e.heading = b.leaves[0].heading()
		e.Norm = letters.FoldCase(stripEmphasis(e.heading))
	case e.Block == codeBlock || e.Block == htmlBlock:
		e.Norm = letters.FoldCase(e.Text)
	default:
		e.Norm = normText(e.Text)
	}
	e.Links = b.links
	for i := range e.Links {
		p.resolveLink(&e.Links[i])
	}
	p.readLead(&e, b)
	p.readTasks(&e, b)
	e.Tags = slices.Clone(b.tags)
	p.d.Entries = append(p.d.Entries, e)
	p.pending = append(p.pending, attrs)
	return len(p.d.Entries) - 1
}

// readLead parses the beginning of an entry: title, anchor and added date.
func (p *docParser) readLead(e *Entry, b *block) {
	lead := ""
	if len(b.leaves) > 0 && b.leaves[0].lead && e.Block != htmlBlock && e.Block != tableBlock {
		lead = p.displayOf(b.leaves[0].textFrom(0))
	}
	id, lead := splitAnchor(lead)
	if id == "" && e.Block != codeBlock {
		id, _ = splitAnchor(e.Text)
	}
	if id != "" {
		e.ID, e.Given = "^"+id, true
	}
	lead = lead[boxLen(lead):]
	switch e.Block {
	case Item, Paragraph, codeBlock:
		title, _ := splitTitle(lead)
		e.Title = unescape([]byte(title))
	}
	first, _, _ := strings.Cut(lead, "\n")
	e.Added = cmp.Or(addedDate(lead), addedDate(first))
	if e.Added == "" && e.Block == Item {
		e.Added = addedSuffix(e.Text)
	}
}

// ownAttributes finds the comment that applies to the entry: at the end of a
// line of its first block, else at the very end of the entry. Any other comment
// can only make the file private.
func (p *docParser) ownAttributes(e *Entry, b *block) (attrs []attr) {
	at := len(p.d.Entries)
	for i := range b.leaves {
		lf := &b.leaves[i]
		for j := range lf.comments {
			c := &lf.comments[j]
			switch c.state {
			case commentBroken:
				p.reportBroken(p.ln.at(c.src.Start))
			case commentAttributes:
				rest := lf.buf[c.to:]
				if lf.lead && lf.item == 0 && isBlankText(rest[:lineLen(rest)]) {
					attrs, e.Comment = c.attrs, c.src
				}
				p.d.marks.add(at, c.attrs, false)
			}
		}
		if lf.lead && lf.item == 0 && !lf.html && e.Block != tableBlock {
			e.lead = lf.end()
		}
	}
	p.d.marks.add(at, attrs, true)
	if attrs != nil || len(b.leaves) == 0 {
		return attrs
	}
	lf := &b.leaves[len(b.leaves)-1]
	if n := len(lf.comments); n > 0 {
		if c := lf.comments[n-1]; c.state == commentAttributes && isBlankText(p.text[c.src.End:e.Span.End]) {
			attrs, e.Comment = c.attrs, c.src
			p.d.marks.add(at, attrs, lf.item == 0)
		}
	}
	return attrs
}

// displayOf returns a piece of the text in its display form.
func (p *docParser) displayOf(s string) string {
	if p.plain {
		return s
	}
	return displayText(s)
}

// entryText returns an entry's lines as written, without comments and hidden
// lines.
func (p *docParser) entryText(e *Entry, b *block) string {
	cuts := p.cuts[:0]
	for i := range b.leaves {
		for _, c := range b.leaves[i].comments {
			if c.src.End > c.src.Start {
				cuts = append(cuts, c.src)
			}
		}
	}
	slices.SortFunc(cuts, func(a, b Span) int { return a.Start - b.Start })
	p.cuts = cuts
	if len(cuts) == 0 && p.hidden == nil {
		start := max(e.Span.Start, p.body) // skip the byte order mark
		if p.plain {
			return strings.TrimRight(p.source[start-p.body:e.Span.End-p.body], "\n")
		}
		return displayText(string(bytes.TrimRight(p.d.masked[start:e.Span.End], "\r\n")))
	}
	hidden := regions(p.hidden)
	out := p.buf[:0]
	for line := e.Line; line <= e.EndLine; line++ {
		if hidden.overlaps(line, line) {
			continue
		}
		s := p.ln.span(line, line)
		s.Start = max(s.Start, p.body)
		n := len(out)
		cuts = spansFrom(cuts, s.Start)
		out = removeSpans(out, p.d.masked[s.Start:s.End], s.Start, cuts)
		if len(out)-n == s.End-s.Start {
			continue
		}
		rest := bytes.TrimRight(out[n:], " \t\r\n")
		out = out[:n+len(rest)]
		if len(bytes.TrimLeft(rest, " \t>")) == 0 && (line > e.Line || e.Block != Item) {
			out = out[:n] // the line contained only the comment
			continue
		}
		out = append(out, '\n')
	}
	p.buf = out
	return p.displayOf(string(bytes.TrimRight(out, "\r\n")))
}

// collectLeaves gathers and scans the leaves of a block.
func (p *docParser) collectLeaves(b *block, node ast.Node, at int, lead bool) {
	switch n := node.(type) {
	case *ast.ListItem, *ast.Blockquote, *ast.List:
		_, isItem := node.(*ast.ListItem)
		first := true
		for c := node.FirstChild(); c != nil; c = c.NextSibling() {
			if _, ok := c.(*ast.ListItem); ok {
				b.items = append(b.items, blockItem{parent: at, lead: -1})
				p.collectLeaves(b, c, len(b.items)-1, false)
				continue
			}
			switch c.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				if first && isItem {
					b.items[at].lead = len(b.leaves)
				}
			}
			p.collectLeaves(b, c, at, first && lead || first && isItem && at == 0)
			first = false
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
	default:
		lf := p.readLeaf(n)
		lf.item, lf.lead = at, lead
		b.leaves = append(b.leaves, lf)
		b.scanLeaf(&b.leaves[len(b.leaves)-1])
	}
}

// readLeaf returns the text of a block that contains no other blocks.
func (p *docParser) readLeaf(node ast.Node) leaf {
	lf := leaf{at: p.body}
	segs := node.Lines()
	if html, ok := node.(*ast.HTMLBlock); ok {
		lf.html = true
		if html.HasClosure() {
			segs.Append(html.ClosureLine)
		}
	}
	n := segs.Len()
	if n == 0 {
		return lf
	}
	contiguous := true
	for i := 1; i < n && contiguous; i++ {
		contiguous = segs.At(i).Start == segs.At(i-1).Stop
	}
	lf.at = p.body + segs.At(0).Start
	if contiguous {
		lf.buf = p.text[lf.at : p.body+segs.At(n-1).Stop]
		return lf
	}
	for i := range n {
		s := segs.At(i)
		lf.segs = append(lf.segs, seg{len(lf.buf), p.body + s.Start})
		lf.buf = append(lf.buf, p.text[p.body+s.Start:p.body+s.Stop]...)
	}
	return lf
}

// readTasks adds the tasks of a list to its entry. The parent of a task is the nearest task
// among the items above it.
func (p *docParser) readTasks(e *Entry, b *block) {
	s := p.sectionAt(e.Heading)
	var of map[int]int // list item → index of its task
	for i, it := range b.items {
		if it.lead < 0 {
			continue
		}
		lf := &b.leaves[it.lead]
		t, ok := p.readTask(lf, i == 0 && s.commitment)
		if !ok {
			continue
		}
		t.Line, t.Parent, t.isEntry = p.ln.at(lf.at), -1, i == 0
		t.FollowUp, t.InTasks = s.followUps, s.tasks
		for up := it.parent; up >= 0; up = b.items[up].parent {
			if n, ok := of[up]; ok && t.Parent < 0 {
				t.Parent = n
			}
			if t.Under == "" {
				t.Under = p.itemNorm(b, up, s.commitment)
			}
		}
		t.Recurs = t.Recurs || p.recurs || s.recurs || t.Parent >= 0 && e.Tasks[t.Parent].Recurs
		t.ID = taskID(lf)
		if of == nil {
			of = map[int]int{}
		}
		of[i] = len(e.Tasks)
		e.Tasks = append(e.Tasks, t)
	}
}

// itemNorm returns the normalized text of a list item, or "" if it has none. The
// tasks below an item share the string.
func (p *docParser) itemNorm(b *block, item int, commitment bool) string {
	it := &b.items[item]
	if it.lead < 0 || it.hasNorm {
		return it.norm
	}
	text := p.displayOf(b.leaves[it.lead].textFrom(0))
	text = text[boxLen(text):]
	if commitment && item == 0 { // the task name must not depend on its state
		text = strings.TrimPrefix(strings.TrimPrefix(text, "✅"), "\ufe0f")
	}
	it.norm, it.hasNorm = taskNorm(taskText(text)), true
	return it.norm
}

// readTask reads the box at the start of a list item. In a section of commitments,
// every top-level item is a task: done if it begins with a check mark, else
// open.
func (p *docParser) readTask(lf *leaf, commitment bool) (t Task, ok bool) {
	n := boxLen(string(lf.buf[:min(len(lf.buf), 8)]))
	if n == 0 && (!commitment || bytes.HasPrefix(lf.buf, []byte("[-]"))) {
		return t, false
	}
	text := p.displayOf(lf.textFrom(n))
	if n > 0 {
		at := lf.pos(1)
		t.Box = Span{at, at + 1}
		if lf.buf[1] != ' ' {
			t.State = Done
		}
	} else {
		t.Box = Span{lf.at, lf.at}
		if rest, ok := strings.CutPrefix(text, checkMark); ok {
			text, t.State = strings.TrimPrefix(rest, emojiStyle), Done
		}
	}
	t.read(text)
	return t, t.Text != ""
}

// finishDocument computes the properties that depend on the whole file: its readers, and
// the ids, tags and times of its entries.
func (p *docParser) finishDocument() {
	d := p.d
	d.lines, d.hidden = p.ln, p.hidden
	p.setReaders()
	slices.SortFunc(d.Hidden, func(a, b Span) int { return a.Start - b.Start })
	for _, t := range d.Front.Tags {
		p.fileTags = append(p.fileTags, FoldTag(t))
	}
	slices.Sort(p.fileTags)
	p.fileTags = slices.Clip(slices.Compact(p.fileTags))
	p.fileTime = p.readFileTime()
	for i := range d.Entries {
		p.completeEntry(&d.Entries[i], p.pending[i])
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
		n := name{e.Title, e.Author().Untrusted(View{})}
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

// completeEntry completes an entry, except its id.
func (p *docParser) completeEntry(e *Entry, attrs []attr) {
	e.Partition, e.Masked = p.d.Partition, p.d.hasMaskedText(e.Span)
	if e.Block == EmptyHeading { // such as the title of a session
		e.Source, e.By = p.d.Front.Source, p.d.Front.By
	}
	if attrs != nil {
		p.applyAttributes(e, attrs)
	}
	e.Source = p.sourceOf(e.Source)
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
	e.Time = p.entryTime(e, attrs, s)
}

// completeTags sorts the tags of an entry and adds those of the file. The entries
// without tags of their own share the tags of the file.
func (p *docParser) completeTags(e *Entry) {
	if len(e.Tags) == 0 {
		e.Tags = p.fileTags
		return
	}
	e.Tags = append(e.Tags, p.fileTags...)
	slices.Sort(e.Tags)
	e.Tags = slices.Compact(e.Tags)
}

// entryTime returns the best known time at which an entry was written or last
// changed.
func (p *docParser) entryTime(e *Entry, attrs []attr, s section) time.Time {
	loc, from, to := p.l.location(), p.from, p.to
	t, ok := p.updatedTime(e, attrs)
	switch {
	case ok:
	case p.dated && s.clock && (p.d.Place.Kind == Daily || p.d.Place.isDailyNote()):
		t = time.Date(from.Year(), from.Month(), from.Day(), s.hour, s.minute, s.second, 0, loc)
	case e.Added != "":
		t, _, _ = dayBounds(e.Added, loc)
	default:
		t = p.fileTime
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

// readFileTime returns the time of entries that have none of their own: the one in the
// frontmatter, the day of the path, for an ordinary note the day in its name, or the time
// of the file.
func (p *docParser) readFileTime() time.Time {
	d, loc := p.d, p.l.location()
	switch {
	case !d.Front.Updated.IsZero():
		return d.Front.Updated
	case p.dated:
		return p.from
	case d.Place.Kind != Note:
		return p.meta.ModTime
	}
	for _, key := range noteTimeKeys {
		if t, ok := ParseTime(d.Front.text(key), loc); ok {
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

func (p *docParser) updatedTime(e *Entry, attrs []attr) (time.Time, bool) {
	v, ok := attrValue(attrs, "updated")
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

// assignIDs gives every entry an id that is unique in the file.
func (p *docParser) assignIDs() {
	taken := make(map[string]int, len(p.d.Entries)) // id → number of further entries with the same text
	for i := range p.d.Entries {
		e := &p.d.Entries[i]
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
