package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// ImportsDir is the directory of imported records.
const ImportsDir = "imports"

// ImportSource precedes the program from which a record was imported, in the
// frontmatter of its file and in attributes.
const ImportSource = "import:"

// An Imported is a record of another program, such as a conversation, for a file
// of its own.
type Imported struct {
	Program          string // lower-case letters and dashes
	ID               string // of the record in the program; never changes
	Title            string
	Created, Updated time.Time // zero if unknown
	Tags             []string
	Parts            []ImportedPart

	// Of a record that consists of entries, see [Imported.HasEntries]:
	Place   string // path of the file, if it is known
	Front   string // its frontmatter, with the lines of dashes
	Summary string // profile or project: the part is a summary
	Origin  string // of ids in evidence
}

// An ImportedPart is a message or a block of Markdown. A message is written as a
// quote, so that it is one entry and its text has no effect on other entries.
type ImportedPart struct {
	Author  string   // of a message: person, or agent for all others, whose text is untrusted
	Section []string // headings above Markdown, outermost first
	Levels  []int    // of the headings; 1, 2 and so on if empty
	Text    string

	// Of an entry:
	Attributes map[string]string
	Evidence   []string
	Tags       []string
}

// HasEntries reports whether each part of the record is one entry.
func (r *Imported) HasEntries() bool { return r.Program == "jsonl" }

// Suffix returns the end of the name of the record's file. It depends on the
// program and the id only, and finds the file after a change of its title.
func (r *Imported) Suffix() string {
	sum := sha256.Sum256([]byte(r.Program + "\x00" + r.ID))
	return hex.EncodeToString(sum[:6]) + ".md"
}

// Path returns the path of the record's file. No part of the title can be a
// directory, and without a usable title the name is the day and a hash.
func (r *Imported) Path(loc *time.Location, titled bool) string {
	year, name := "undated", ""
	if at := r.time(); !at.IsZero() {
		day := at.In(loc).Format(time.DateOnly)
		year, name = day[:4], day+"-"
	}
	if slug := fileSlug(r.Title); titled && slug != "" {
		name += slug + "-"
	}
	return strings.Join([]string{ImportsDir, r.Program, year, name + r.Suffix()}, "/")
}

// time returns the time that selects the file of the record.
func (r *Imported) time() time.Time { return cmp.Or(r.Created, r.Updated) }

// Changed returns the time of the last change, or zero if it is unknown.
func (r *Imported) Changed() time.Time { return cmp.Or(r.Updated, r.Created) }

// id returns the id in the form of the frontmatter.
func (r *Imported) id() string {
	if id := CleanLine(r.ID); id == r.ID && len(id) <= maxSubject {
		return id
	}
	sum := sha256.Sum256([]byte(r.ID))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plainTag matches a tag that can stand in a list of tags in frontmatter.
var plainTag = lazyregexp.New(`^[^\pC\pZ<>][^\pC<>]*$`)

const maxSlug = 60

// fileSlug returns the words of a title for the name of a file: letters and
// digits, in lower case, joined by dashes.
func fileSlug(title string) string {
	var b strings.Builder
	words := strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == utf8.RuneError })
	for _, w := range words {
		if b.Len()+len(w) > maxSlug {
			if b.Len() == 0 {
				b.WriteString(strings.ToValidUTF8(w[:maxSlug], ""))
			}
			break
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(w)
	}
	return b.String()
}

// Keys of the frontmatter of an imported file. The digest covers the other lines,
// so that a change by hand is detected.
const (
	importIDKey     = "source_id"
	importDigestKey = "source_hash"
)

// File returns the content of the record's file, which is private unless its
// entries have other attributes. Changes counts the entries that differ from their
// parts, by the property that differs.
func (r *Imported) File(l *Layout) (file []byte, changes map[string]int) {
	var text []byte
	if r.HasEntries() {
		text, changes = r.entriesFile(l)
	} else {
		text = r.source(r.blocks(func(p *ImportedPart) string { return r.markdownPart(l, p) }))
		if d := l.Parse(ImportsDir+"/a.md", text, Meta{}); d.Unsound || len(d.Problems) > 0 {
			text = r.source(r.blocks(r.quotedPart))
		}
	}
	head := r.head()
	if strings.Contains(head, "\n"+importDigestKey+":") {
		return text, changes // of another import
	}
	at := len(head) - len("---\n") // both marks of the end have this length
	return slices.Concat(text[:at], digestLine(text), text[at:]), changes
}

// blocks returns a block for each part.
func (r *Imported) blocks(block func(*ImportedPart) string) []string {
	list := make([]string, len(r.Parts))
	for i := range r.Parts {
		list[i] = block(&r.Parts[i])
	}
	return list
}

// head returns the frontmatter of the file. The keys of the import are the last ones,
// and together, so that [cutImport] finds them. A frontmatter of another import gets none.
func (r *Imported) head() string {
	front, end := "---\n", "---\n"
	if inner := strings.TrimSuffix(r.Front, "\n"); strings.HasPrefix(inner, front) {
		at := strings.LastIndex(inner, "\n") + 1
		front, end = inner[:max(at, len(front))], inner[at:]+"\n"
	}
	has := func(key string) bool { return strings.Contains(front, "\n"+key+":") }
	if has("source") || has(importIDKey) {
		return front + end
	}
	var fields []fieldChange
	add := func(key string, value any, known bool) {
		if known && !has(key) {
			fields = append(fields, fieldChange{key, value})
		}
	}
	add("source", ImportSource+r.Program, true)
	add(importIDKey, r.id(), true)
	add("visibility", r.visibility().String(), true)
	if r.Place != "" {
		at := r.commonTime()
		add("updated_at", at, at != "")
	} else {
		add("created_at", Timestamp(r.time()), !r.time().IsZero())
		add("updated_at", Timestamp(r.Changed()), !r.time().IsZero())
		tags := tagList(slices.DeleteFunc(slices.Clone(r.Tags), func(t string) bool { return !plainTag().MatchString(t) }))
		add("tags", tags, len(tags) > 0)
	}
	return front + fieldLines(fields, "\n") + end
}

// commonTime returns the time of all entries as an attribute, or "" if they differ.
func (r *Imported) commonTime() (at string) {
	for i := range r.Parts {
		updated := r.Parts[i].Attributes["updated"]
		if i > 0 && updated != at {
			return ""
		}
		at = updated
	}
	return at
}

// visibility returns that of the file, which is public only if all parts are.
func (r *Imported) visibility() Visibility {
	if len(r.Parts) == 0 || slices.ContainsFunc(r.Parts, func(p ImportedPart) bool {
		return p.Attributes["visibility"] != PublicOK.String()
	}) {
		return PrivateOnly
	}
	return PublicOK
}

// importKeys matches the keys that an import adds to the frontmatter of a file of
// entries.
var importKeys = lazyregexp.New(`(?m)^source: import:jsonl\n` + importIDKey +
	`: .*\n(?:visibility: (?:private_only|public_ok)\n)?(?:updated_at: .*\n)?` +
	importDigestKey + `: .*\n`)

// cutImport returns a frontmatter without the keys that [Imported.File] added, or ""
// if no others are left.
func cutImport(front string) string {
	front = importKeys().ReplaceAllString(front, "")
	if front == "---\n---\n" {
		return ""
	}
	return front
}

// source returns the content of the file without its digest, from a block for each
// part.
func (r *Imported) source(blocks []string) []byte {
	var b bytes.Buffer
	b.WriteString(r.head())
	level := 1                                       // of the outermost sections
	repeats := r.HasEntries() || r.Program == "mem0" // the title is that of the path or of the text
	if title := headingText(CleanLine(r.Title)); title != "" && !repeats {
		b.WriteString("\n# " + title + "\n")
		level = 2
	}
	var above []string // headings
	for i := range r.Parts {
		p := &r.Parts[i]
		if blocks[i] == "" {
			continue
		}
		headings := p.headings(level)
		if p.Author != "" {
			speaker := strings.ToUpper(p.Author[:1]) + p.Author[1:]
			headings, above = []string{strings.Repeat("#", level) + " " + speaker}, nil
		}
		if n := len(headings); n < len(above) && slices.Equal(headings, above[:n]) &&
			headingMarks(blocks[i]) > 0 && headingMarks(blocks[i]) <= headingMarks(above[n]) {
			above = headings // the block is a heading that ends the sections below these headings
		}
		if !slices.Equal(headings, above) {
			same := 0
			for same < min(len(above), len(headings)-1) && above[same] == headings[same] {
				same++
			}
			for _, heading := range headings[min(same, len(headings)):] {
				b.WriteString("\n" + heading + "\n")
			}
			above = headings
		}
		b.WriteString("\n" + blocks[i] + "\n")
		if headingMarks(blocks[i]) > 0 {
			above = append(slices.Clone(headings), blocks[i]) // it begins a section
		}
	}
	return b.Bytes()
}

// headingMarks returns the number of marks of a heading, or 0 for another text.
func headingMarks(text string) int {
	if rest := strings.TrimLeft(text, "#"); rest == "" || rest[0] == ' ' {
		return len(text) - len(rest)
	}
	return 0
}

// headings returns the headings above the part, if the outermost one has a level.
func (p *ImportedPart) headings(level int) (list []string) {
	for i, s := range p.Section {
		n := level + i
		if len(p.Levels) == len(p.Section) {
			n = p.Levels[i]
		}
		if clean := CleanLine(s); clean != s || strings.HasSuffix(s, "#") {
			s = headingText(clean)
		}
		list = append(list, strings.Repeat("#", min(max(n, 1), 6))+" "+s)
	}
	return list
}

func (r *Imported) markdownPart(l *Layout, p *ImportedPart) string {
	if p.Author != "" {
		return r.quotedPart(p)
	}
	text := strings.Trim(cleanText(p.Text), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	// Text that follows must be an entry of its own.
	const next = "- next"
	d := l.Parse(ImportsDir+"/a.md", []byte(text+"\n\n"+next+"\n"), Meta{})
	last := len(d.Entries) - 1
	if last < 0 || d.Entries[last].Text != next || d.Unsound || len(d.Problems) > 0 {
		return r.quotedPart(p)
	}
	return text
}

// quotedPart returns a part as a quote. Its attributes are on the first line,
// where no text can precede them.
func (r *Imported) quotedPart(p *ImportedPart) string {
	text := strings.Trim(cleanText(p.Text), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var b strings.Builder
	if p.Author == "agent" {
		b.WriteString("> " + Comment(map[string]string{"written_by": ImportSource + r.Program}, nil) + "\n")
	}
	for line := range strings.Lines(text) {
		line = quotedBox().ReplaceAllString(strings.TrimRight(line, " \t\n"), `$1\$2`)
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// quotedBox matches the box of a task, which would be a task of the reader in a
// conversation too.
var quotedBox = lazyregexp.New(`^((?:[\s>]|[-+*]\s|[0-9]{1,9}[.)]\s)*)(\[[ xX]\](?:\s|$))`)

// digestLine returns the line with the digest of a file without that line.
func digestLine(text []byte) []byte {
	sum := sha256.Sum256(text)
	return []byte(importDigestKey + ": " + hex.EncodeToString(sum[:8]) + "\n")
}

// An ImportState is the state of the file of an imported record, in the words of answers.
type ImportState string

// States of files.
const (
	ImportOther  ImportState = ""          // not a file of the record
	ImportSame   ImportState = "unchanged" // contains the record
	ImportOlder  ImportState = "rewritten" // contains another version, which the record replaces
	ImportEdited ImportState = "edited"    // was edited since its import
)

// StateIn compares the record with a file that may contain it. File is the
// content that the record would have.
func (r *Imported) StateIn(l *Layout, source, file []byte) ImportState {
	front := l.Parse(ImportsDir+"/a.md", source, Meta{}).Front
	id, _ := front.Field(importIDKey)
	digest, _ := front.Field(importDigestKey)
	value, _ := digest.Value.(string)
	switch {
	case id.Value != r.id() || front.Source != ImportSource+r.Program:
		return ImportOther
	case bytes.Equal(source, file):
		return ImportSame
	case bytes.Contains(file, []byte("\n"+importDigestKey+": "+value+"\n")):
		return ImportEdited // by hand; the record is the same
	}
	line := []byte(importDigestKey + ": " + value + "\n")
	if bytes.Equal(digestLine(bytes.Replace(source, line, nil, 1)), line) {
		return ImportOlder
	}
	return ImportEdited
}

// SameImport reports whether two imported files differ at most in the ids of their records,
// as if a source was imported from two places.
func SameImport(a, b []byte) bool {
	return bytes.Equal(importIDLines().ReplaceAll(a, nil), importIDLines().ReplaceAll(b, nil))
}

var importIDLines = lazyregexp.New(`(?m)^(?:` + importIDKey + `|` + importDigestKey + `): .*\n`)

// cleanText converts any Markdown to Markdown that [CheckText] accepts, see
// [CleanLine], and that does not extend into the text that follows: an open fence
// is closed.
func cleanText(text string) string {
	text = strings.ToValidUTF8(unixLines(text), "\ufffd")
	clean := CheckText(text) == nil
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if !clean {
			content = CleanLine(line)
			line = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + content
		}
		switch mark := fenceOf(content); {
		case mark == "":
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence) && content == mark:
			fence = ""
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return escapePercent(b.String())
}

// AddTag returns a text with a tag at its end, unless the text has it, and reports
// whether the tag can be written. Below several lines, the tag becomes a paragraph.
func (l *Layout) AddTag(text, tag string) (string, bool) {
	space := " "
	if last := text[strings.LastIndexByte(text, '\n')+1:]; last != text && !strings.HasPrefix(last, "#") {
		space = "\n\n"
	}
	for _, tagged := range []string{text, text + space + "#" + tag, text + space + `#"` + tag + `"`} {
		for _, e := range l.Parse(memoryDir+"/log.md", []byte(tagged+"\n"), Meta{}).Entries {
			if slices.Contains(e.Tags, FoldTag(tag)) {
				return tagged, true
			}
		}
	}
	return text, false
}

// entriesFile returns the content of a file with the entries of the record, without
// its digest. It compares the entries of the parsed file with the parts, adds the
// attributes in which they differ, and counts the differences that remain.
func (r *Imported) entriesFile(l *Layout) (text []byte, changes map[string]int) {
	parse := func(source []byte) *Document { return l.Parse(r.Place, source, Meta{}) }
	r.Parts = slices.DeleteFunc(r.Parts, func(p ImportedPart) bool { return strings.TrimSpace(p.Text) == "" })
	changes = map[string]int{}
	front := parse([]byte(r.head())).Front
	if front.Broken {
		r.Front = ""
		front = parse([]byte(r.head())).Front
		changes["frontmatter"] = 1
	}
	writer := entryWriter{Imported: r, l: l, shared: front.Tags, words: map[string]string{}}
	blocks, above := make([]string, len(r.Parts)), ""
	for i := range r.Parts {
		below := "- next"
		if i+1 == len(r.Parts) || len(r.Parts[i+1].Section) > 0 || strings.HasPrefix(r.Parts[i+1].Text, "#") {
			below = "# next" // an empty section ends only with a heading
		}
		blocks[i] = writer.entryBlock(above, &r.Parts[i], below)
		above = blocks[i]
	}
	d := parse(r.source(blocks))
	if len(d.Entries) != len(blocks) || d.Unsound {
		blocks = r.blocks(r.quotedPart)
		d = parse(r.source(blocks))
	}
	if len(d.Entries) == len(blocks) {
		var edits []Edit
		ids := map[string]bool{}
		for i := range r.Parts {
			e := &d.Entries[i]
			if comment := r.Parts[i].comment(e, ids); comment != "" {
				edits = append(edits, d.addComment(e, comment))
			}
		}
		if source, err := splice(d.Source, edits); err == nil {
			d = parse(source)
		}
	}
	if !r.keepsPrivate(d) { // private, without attributes
		for i := range r.Parts {
			r.Parts[i].Attributes = map[string]string{}
		}
		r.Front = ""
		return r.source(blocks), map[string]int{"attributes": len(blocks)}
	}
	for i := range r.Parts {
		r.Parts[i].countChanges(&d.Entries[i], changes)
	}
	return d.Source, changes
}

// keepsPrivate reports whether a document has an entry for each part, and none has more
// readers than its part.
func (r *Imported) keepsPrivate(d *Document) bool {
	for i := range d.Entries {
		if len(d.Entries) == len(r.Parts) && d.Entries[i].Partition.Visibility == PublicOK &&
			r.Parts[i].Attributes["visibility"] != PublicOK.String() {
			return false
		}
	}
	return len(d.Entries) == len(r.Parts)
}

type entryWriter struct {
	*Imported
	l      *Layout
	shared []string          // tags of the file
	words  map[string]string // tags as written, empty for those that cannot be written
}

// entryBlock returns the text of an entry in the first form in which it is one entry
// with its tags: as it is, without structure that would have an effect, as an item
// of a list, or as a quote. Above is the block before it, and below is an entry like the
// one below it.
func (w *entryWriter) entryBlock(above string, p *ImportedPart, below string) string {
	text := strings.ToValidUTF8(unixLines(p.Text), "\ufffd")
	text = strings.Trim(text, "\n")
	clean := strings.Trim(cleanText(text), "\n")
	for _, form := range []string{text, clean, "- " + indentBelow(clean, "  ")} {
		e := w.entryOf("", form, below)
		if e == nil {
			continue
		}
		missing := w.missingTags(p.Tags, e)
		tags := " " + strings.Join(missing, " ")
		for _, tagged := range []string{form + tags, form + "\n\n " + tags} {
			if len(missing) > 0 {
				e = w.entryOf("", tagged, below)
				if e == nil || len(w.missingTags(p.Tags, e)) > 0 {
					continue
				}
				form = tagged
			}
			if above != "" && strings.ContainsAny(form[:1], " \t`~<") && w.entryOf(above, form, below) == nil {
				form = "<!-- -->\n\n" + form // the end of the block above
			}
			return form
		}
	}
	return w.quotedPart(p)
}

// missingTags returns the tags that an entry lacks and that can be written.
func (w *entryWriter) missingTags(tags []string, e *Entry) (list []string) {
	for _, tag := range tags {
		tag = FoldTag(strings.TrimPrefix(strings.TrimSpace(tag), "#"))
		word, known := w.words[tag]
		if !known {
			if line, ok := w.l.AddTag("-", tag); ok {
				word = strings.TrimPrefix(line, "- ")
			}
			w.words[tag] = word
		}
		has := func(list []string) bool {
			return slices.ContainsFunc(list, func(t string) bool { return FoldTag(t) == tag })
		}
		if word != "" && !has(e.Tags) && !has(w.shared) {
			list = append(list, word)
		}
	}
	return list
}

// entryOf returns the entry that a text between two others is, if it is exactly one,
// without attributes.
func (w *entryWriter) entryOf(above, text, below string) *Entry {
	d := w.l.Parse(w.Place, []byte(strings.TrimLeft(above+"\n\n", "\n")+text+"\n\n"+below+"\n"), Meta{})
	n := len(d.Entries) - 2
	if strings.TrimSpace(text) == "" || n < 0 || d.Unsound || above == "" && (n > 0 || len(d.Hidden) > 0) ||
		d.Entries[n].Text != text || d.Entries[n].Attributes != nil || d.Entries[n+1].Text != below {
		return nil
	}
	return &d.Entries[n]
}

// comment returns the comment with the attributes in which a parsed entry differs from
// the part, or "". Ids are the ids of the entries before it.
func (p *ImportedPart) comment(e *Entry, ids map[string]bool) string {
	attributes := maps.Clone(p.Attributes)
	maps.DeleteFunc(attributes, func(key, value string) bool {
		return key == "visibility" && value == PublicOK.String() || !isKey(key) || e.has(key, value) ||
			key == "id" && (ids[value] || strings.ContainsFunc(value, isSpace))
	})
	ids[p.Attributes["id"]] = true
	evidence := p.Evidence
	if slices.Equal(e.Evidence, evidence) {
		evidence = nil
	}
	return Comment(attributes, evidence)
}

func isSpace(c rune) bool { return c <= ' ' || c == 0x7f }

// has reports whether an attribute has a value, whether it is written or a default.
func (e *Entry) has(key, value string) bool {
	number := func(f float64) bool {
		wanted, err := strconv.ParseFloat(value, 64)
		return err == nil && wanted == f
	}
	switch key {
	case "id":
		return e.ID == value
	case "type":
		return e.Type == value
	case "importance":
		return number(e.Importance)
	case "confidence":
		return e.HasConfidence && number(e.Confidence)
	case "visibility":
		return e.Partition.Visibility.String() == value
	case "updated":
		wanted, err := time.Parse(time.RFC3339Nano, value)
		return err == nil && wanted.Equal(e.Time)
	default:
		return e.Attributes[key] == value
	}
}

// countChanges counts the properties in which an entry differs from the part.
func (p *ImportedPart) countChanges(e *Entry, changes map[string]int) {
	count := func(name string, same bool) {
		if !same {
			changes[name]++
		}
	}
	switch rest, ok := strings.CutPrefix(e.Text, p.Text); {
	case e.Text == strings.TrimRight(p.Text, "\n"):
	case ok && strings.HasPrefix(strings.TrimSpace(rest), "#"):
		changes["tags added to the text"]++
	default:
		changes["text"]++
	}
	count("section", slices.Equal(e.Sections, p.Section) || len(e.Sections)+len(p.Section) == 0)
	count("evidence", slices.Equal(e.Evidence, p.Evidence))
	tags := slices.DeleteFunc(slices.Clone(p.Tags), func(t string) bool {
		return slices.Contains(e.Tags, strings.ToLower(strings.TrimPrefix(strings.TrimSpace(t), "#")))
	})
	count("tags lost", len(tags) == 0)
	for key, value := range p.Attributes {
		count(key, e.has(key, value))
	}
}
