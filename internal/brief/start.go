package brief

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// StartFiles contains the memory for the start of a session, as readable by its
// scope.
type StartFiles struct {
	BootFiles
	Index     []*memory.Document // the subject's _index.md files
	Summaries []*memory.Entry    // of the subject and of projects, newest first
	Items     []Item
	Tasks     []Task                   // open tasks, newest first
	Hints     func(lang Lang) []string // hints to tidy up, in the language of the block; may be nil

	// Other reports whether an entry belongs to other projects than the reader's.
	// It may be nil.
	Other func(doc *memory.Document, e *memory.Entry) bool
}

// A Task is an open task with its place.
type Task struct {
	Text      string
	Path      string
	Line      int
	Untrusted bool
}

// The headers of the parts of a start block that are not files with a path.
const (
	indexHeader   = "[Memory:LongTerm]"
	profileHeader = "[Memory:Summaries]"
	tasksHeader   = "[Memory:Tasks:Open]"
	otherHeader   = "[Memory:OtherProjects]" // the path of a file may follow
	omittedHeader = "[Memory:NotShown]"
	hintsHeader   = "[Memory:Hints]"
)

// The shares of a start block. A part that needs less than its share leaves the
// rest to the others, in proportion to their shares. So with 9,000 characters,
// a MEMORY.md of 5,000 fits whole beside any other parts.
const (
	identityShare = 8    // of each file
	wholeShare    = 1000 // of each of them in a boot block, which must not lack them
	longTermShare = 56
	logShare      = 7 // twice that for the newest
	itemsShare    = 8
	tasksShare    = 6
	sessionsShare = 9
	summaryShare  = 3 // of that of sessions
	otherShare    = 4 // of each file
)

// DefaultStartChars is the usual limit of a start block, in characters. It is
// slightly less than agents accept from a hook.
const DefaultStartChars = 9000

// Start returns the memory for the start of a session, in every layout:
//
//   - SOUL.md and USER.md, below their tag and path as in [Style.Boot];
//   - MEMORY.md, and the text of the _index.md files, without their paths. Without
//     identity files, or if MEMORY.md has a section of commitments, as that of a
//     pet, they follow a title and, in a private view, how to maintain the file;
//   - daily notes, usually of today and of yesterday;
//   - summaries of the subject and of projects, keyed items, open tasks, and the
//     summaries of sessions and earlier notes, as lists;
//   - entries of other projects in the files above, below the paths.
//
// As in Boot, the notes precede MEMORY.md if there is SOUL.md or USER.md. Each
// part has a share of MaxChars. A part that does not fit is cut: long-term
// memory in the middle, where its newest entries stay, notes at the beginning,
// other files and lists at the end. The last part lists the omitted text with
// the calls that return it. The block is enclosed in the lines of generated
// text.
func (s Style) Start(files StartFiles) Block {
	b := startBuilder{Style: s}
	b.collect(files)
	b.render(files.Hints)
	return b.block
}

// startBuilder is a start block under construction.
type startBuilder struct {
	Style
	own      phrases
	lang     Lang
	block    Block
	parts    []startPart
	other    func(*memory.Document, *memory.Entry) bool
	others   []startFile // entries of other projects
	boot     bool        // only the files of [BootFiles], in that order
	identity int         // number of parts before the head
	head     string      // notices after the identity
}

// A startPart renders one part of a start block within room code points.
type startPart struct {
	share  int
	render func(room int) renderedPart
}

type renderedPart struct {
	Block
	note string // description of the omitted text, with the call that returns it
}

// A startFile is a file with its part in a start block.
type startFile struct {
	doc   *memory.Document
	lines []memory.ProseLine
	head  string
	share int
	cut   cut
}

func (f startFile) hasCommitments() bool {
	return slices.ContainsFunc(f.lines, func(l memory.ProseLine) bool {
		heading, ok := strings.CutPrefix(l.Text, "## ")
		return ok && memory.IsCommitments(heading)
	})
}

// collect adds the parts that have content.
func (b *startBuilder) collect(files StartFiles) {
	share := identityShare
	if b.boot {
		share = wholeShare
	}
	identity := b.filesOf(files.Identity, tagIdentity, share, cutEnd)
	b.other = files.Other
	logs := b.filesOf(files.Logs, tagRecent, logShare, cutBeginning)
	main := b.filesOf(files.LongTerm, tagMain, longTermShare, cutMiddle)
	var session []startFile
	if files.Session != nil {
		session = b.filesOf([]*memory.Document{files.Session}, tagSession, longTermShare, cutBeginning)
	}
	index := b.filesOf(slices.DeleteFunc(slices.Clone(files.Index), isEmptyTemplate), "", longTermShare, cutMiddle)
	if len(logs) > 1 {
		logs[0].share *= 2 // the newest
	}
	sessions := b.recentLines(files.Recent, !b.boot)
	tasks := b.taskLines(files.Tasks)
	summaries := b.summaryLines(files.Summaries)
	var text []memory.ProseLine // of the block, for its language
	for _, f := range slices.Concat(identity, main, index, logs, b.others, session) {
		text = append(text, f.lines...)
	}
	for _, line := range slices.Concat(summaries, tasks, sessions) {
		text = append(text, memory.ProseLine{Text: line})
	}
	b.lang = cmp.Or(b.Lang, languageOf(text))
	b.own = b.phrasesFor(text)

	for _, f := range identity {
		b.addFile(f)
	}
	b.identity = len(b.parts)
	if !b.boot && len(main) > 0 && (len(identity) == 0 || slices.ContainsFunc(main, startFile.hasCommitments)) {
		var paths []string
		for _, f := range main {
			paths = append(paths, oneLine(f.doc.Place.Path, false))
		}
		b.head = b.memoryTitle(b.own, paths)
	}
	b.head += b.own.dataNotice + "\n"
	following := slices.Concat(main, index, logs)
	if b.boot || len(identity) > 0 {
		following = slices.Concat(logs, main, index)
	}
	for _, f := range following {
		b.addFile(f)
	}
	b.addList(summaryShare, profileHeader, summaries, b.own.omittedSummaries,
		func(o *api.Omitted) *int { return &o.LongTerm })
	b.addItems(files.Items)
	b.addList(tasksShare, tasksHeader, tasks, b.own.omittedTasks, func(o *api.Omitted) *int { return &o.Tasks })
	share = sessionsShare
	if len(summaries) > 0 {
		share -= summaryShare
	}
	b.addList(share, recentHeader, sessions, b.own.omittedSessions, func(o *api.Omitted) *int { return &o.Recent })
	for _, f := range slices.Concat(b.others, session) {
		b.addFile(f)
	}
}

// isEmptyTemplate reports whether a file has headings only.
func isEmptyTemplate(doc *memory.Document) bool {
	return !slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.Block != memory.EmptyHeading })
}

// filesOf returns the files with visible text.
func (b *startBuilder) filesOf(docs []*memory.Document, tag string, share int, c cut) (files []startFile) {
	for _, doc := range docs {
		lines := b.visibleProse(doc)
		path := string(Line(false, doc.Place.Path))
		head, otherHead := "# ["+tag+"] "+path, otherHeader+" "+path
		if tag == "" {
			head, otherHead = indexHeader, otherHeader
		}
		isOther := func(entry int) bool { return b.other != nil && b.other(doc, &doc.Entries[entry]) }
		others := linesOf(lines, isOther)
		if len(others) > 0 {
			lines = linesOf(lines, func(entry int) bool { return !isOther(entry) })
		}
		f := startFile{doc: doc, lines: lines, head: head, share: share, cut: c}
		if share == longTermShare {
			f.cut.added = func(entry int) string { return doc.Entries[entry].Added }
		}
		if len(lines) > 0 {
			files = append(files, f)
		}
		if len(others) > 0 {
			b.others = append(b.others, startFile{doc: doc, lines: others, head: otherHead,
				share: otherShare, cut: c})
		}
	}
	return files
}

// linesOf returns the lines of some entries, below the headings directly above them.
func linesOf(lines []memory.ProseLine, keep func(entry int) bool) (kept []memory.ProseLine) {
	var above []memory.ProseLine // headings and blank lines that are not kept yet
	below := false               // an entry follows the headings
	for _, l := range lines {
		blank := l.Text == "" && l.Entry < 0
		switch {
		case l.Entry < 0:
			if below && !blank {
				above, below = []memory.ProseLine{{Entry: -1}}, false
			}
			if n := len(above); !blank || n > 0 && above[n-1].Text != "" || n == 0 && len(kept) > 0 {
				above = append(above, l)
			}
		case keep(l.Entry):
			if len(kept) == 0 && len(above) > 0 && above[0].Text == "" {
				above = above[1:]
			}
			kept, above, below = append(append(kept, above...), l), nil, true
		default:
			below = true
		}
	}
	return kept
}

// maxSummary is the maximum number of code points of a summary.
const maxSummary = 400

func (b *startBuilder) summaryLines(summaries []*memory.Entry) (lines []string) {
	for _, e := range summaries {
		text := shortenLine(joinWords(strings.Join(textLines(e.Text), " ")), maxSummary)
		day := e.Time.Format(time.DateOnly)
		if e.Time.IsZero() || strings.Contains(text, day) {
			day = ""
		} else {
			day += ": "
		}
		lines = append(lines, day+string(Line(e.Author().Untrusted(b.View), text)))
	}
	return lines
}

func (b *startBuilder) taskLines(tasks []Task) (lines []string) {
	for _, t := range tasks {
		lines = append(lines, "[ ] "+string(Line(t.Untrusted, fmt.Sprintf("%s (%s:%d)", t.Text, t.Path, t.Line))))
	}
	return lines
}

func (b *startBuilder) addFile(f startFile) {
	head, path := f.head+"\n\n", string(Line(false, f.doc.Place.Path))
	limit := NoLimit
	if strings.HasPrefix(head, "# ["+tagMain+"]") {
		limit = b.MaxFull
	}
	b.parts = append(b.parts, startPart{f.share, func(room int) (p renderedPart) {
		text, left := shortenText(f.lines, min(limit, max(0, room-Chars(head)-1)), f.cut, b.own)
		if left > 0 {
			p.note = fmt.Sprintf(b.own.omittedFile, path, left)
		}
		if text == "" {
			p.Omitted.Files = 1
			return p
		}
		p.Text, p.Items, p.Omitted.Characters = head+text+"\n", 1, left
		return p
	}})
}

func (b *startBuilder) addItems(items []Item) {
	style := b.Style
	style.MaxChars = NoLimit
	all := style.Items(items)
	if all.Items+all.Omitted.Items == 0 {
		return
	}
	b.parts = append(b.parts, startPart{itemsShare, func(room int) (p renderedPart) {
		style.MaxChars = room
		p.Block = style.Items(items)
		if p.Omitted.Items > 0 {
			p.note = fmt.Sprintf(b.own.omittedItems, p.Omitted.Items)
		}
		return p
	}})
}

// addList adds a list, if it has lines. note is the format of the description of
// omitted lines, and count returns the field of their number.
func (b *startBuilder) addList(share int, header string, lines []string, note string, count func(*api.Omitted) *int) {
	if len(lines) == 0 {
		return
	}
	b.parts = append(b.parts, startPart{share, func(room int) (p renderedPart) {
		p.Text, p.Items = listText(header, lines[:min(len(lines), b.MaxItems)], room)
		if left := len(lines) - p.Items; left > 0 {
			p.note = fmt.Sprintf(note, left)
			*count(&p.Omitted) = left
		}
		return p
	}})
}

// listText returns a list below its header, with as many of its first lines as
// fit into room code points, and their number.
func listText(header string, lines []string, room int) (text string, n int) {
	var b strings.Builder
	b.WriteString(header + "\n")
	used := Chars(b.String())
	for _, line := range lines {
		used += Chars(line) + 3
		if used > room {
			break
		}
		b.WriteString("- " + line + "\n")
		n++
	}
	if n == 0 {
		return "", 0
	}
	return b.String(), n
}

// Space that is kept for the list of omitted text, at most: for its header, and
// for the line of a part.
const (
	omittedHeaderRoom = 30
	omittedLineRoom   = 120
)

// render renders the parts within the limit of the block.
func (b *startBuilder) render(hints func(Lang) []string) {
	if len(b.parts) == 0 {
		return
	}
	tidy := ""
	if hints != nil {
		tidy, _ = listText(hintsHeader, hints(b.lang), NoLimit)
	}
	shown := make([]renderedPart, len(b.parts))
	needs, shares, need := make([]int, len(b.parts)), make([]int, len(b.parts)), 0
	for i, p := range b.parts {
		shown[i] = p.render(NoLimit)
		needs[i], shares[i] = Chars(shown[i].Text)+1, p.share // with the blank line before the next part
		need += needs[i]
	}
	room := b.MaxChars - Chars(wrapGenerated(b.head)) - 1
	if Chars(tidy) > room/4 {
		tidy = ""
	}
	room -= Chars(tidy) + 1
	if need+Chars(omittedText(shown, NoLimit)) > room {
		rooms := divideRoom(room-min(room/4, omittedHeaderRoom+omittedLineRoom*len(b.parts)), needs, shares)
		for i, p := range b.parts {
			shown[i] = p.render(max(0, rooms[i]-1))
		}
	}
	b.join(shown, tidy)
}

// join sets the text and the counts of the block.
func (b *startBuilder) join(shown []renderedPart, tidy string) {
	var texts []string
	headed := false // the notices precede the first part that is no identity
	for i, p := range shown {
		if i >= b.identity && p.Text != "" && !headed {
			texts, headed = append(texts, b.head), true
		}
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
		b.block.Items += p.Items
		o := &b.block.Omitted
		o.LongTerm += p.Omitted.LongTerm
		o.Files += p.Omitted.Files
		o.Characters += p.Omitted.Characters
		o.Items += p.Omitted.Items
		o.Tasks += p.Omitted.Tasks
		o.Recent += p.Omitted.Recent
	}
	if b.block.Items == 0 {
		return
	}
	room := b.MaxChars - Chars(wrapGenerated(strings.Join(texts, "\n"))) - Chars(tidy) - 2
	for _, text := range []string{omittedText(shown, room), tidy} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	text := wrapGenerated(strings.Join(texts, "\n"))
	if Chars(text) > b.MaxChars {
		b.block.Items = 0 // not even the notices fit
		return
	}
	b.block.Text = text
}

// memoryTitle returns the title of the text of MEMORY.md and, in a private view,
// how to maintain the files.
func (s Style) memoryTitle(w phrases, paths []string) string {
	if !s.View.Private() {
		return w.title + "\n\n"
	}
	return w.title + "\n\n" + fmt.Sprintf(w.maintenanceHint, strings.Join(paths, ", ")) + "\n\n"
}

// wrapGenerated encloses a text in the lines that mark generated text.
func wrapGenerated(text string) string {
	return memory.GeneratedOpen + "\n" + text + memory.GeneratedClose + "\n"
}

func omittedText(shown []renderedPart, room int) string {
	var notes []string
	for _, p := range shown {
		if p.note != "" {
			notes = append(notes, p.note)
		}
	}
	text, _ := listText(omittedHeader, notes, room)
	return text
}

// divideRoom divides room among parts in proportion to their shares. A part
// that needs less than its share leaves the rest to the others.
func divideRoom(room int, needs, shares []int) []int {
	order := make([]int, len(needs))
	total := 0
	for i := range order {
		order[i] = i
		total += shares[i]
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(needs[i]*shares[j], needs[j]*shares[i]) })
	rooms := make([]int, len(needs))
	for _, i := range order {
		rooms[i] = min(needs[i], max(0, room)*shares[i]/total)
		room -= rooms[i]
		total -= shares[i]
	}
	return rooms
}
