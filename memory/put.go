package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Put is a request to write one entry. Its texts are data: [Layout.Fit] finds
// the Markdown that is parsed to exactly this entry. A [Revision] inserts it or replaces
// another entry with it.
type Put struct {
	Form       Form
	Title      string // in bold at the start of an item; the key of a value
	Text       string
	Box        string            // "[ ]" or "[x]" of an item that is a task
	Date       string            // YYYY-MM-DD on which an item was added, unless its text has a date
	Attributes map[string]string // without evidence; empty ones are not written
	Evidence   []string

	anchor string    // of the replaced entry
	below  string    // comments of a person in it
	alone  *Document // the entry, see fit
}

// A Form is the kind of block that a [Put] becomes.
type Form uint8

// Forms of entries.
const (
	noteForm     Form = iota // a paragraph, or a list item if the text has several lines
	BulletForm               // a list item
	FactForm                 // a list item without tasks
	TaskForm                 // a list item that is one task
	ValueForm                // a keyed item, whose text is read back byte for byte
	markdownForm             // the text as it is, which may have attributes of its own
)

// verbatim returns the request for a block of Markdown.
func verbatim(text string) *Put { return &Put{Form: markdownForm, Text: text} }

// Fit finds the first form of the request that alone, in the file at path, is parsed to
// exactly the requested entry. If there is none, the error matches [ErrText].
func (l *Layout) Fit(path string, p *Put) error {
	var err error
	switch p.Form {
	case ValueForm:
		err = CheckValue(p.Text)
	case markdownForm:
	default:
		err = CheckText(p.Text)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrText, err)
	}
	p.alone = nil
	_, err = p.fit(func(source []byte) *Document { return l.Parse(path, source, Meta{}) })
	return err
}

// Entry returns the entry that [Layout.Fit] found. It must not be modified.
func (p *Put) Entry() *Entry { return &p.alone.Entries[0] }

// fit returns the entry in its form as a document of its own, and keeps it.
func (p *Put) fit(parse func(source []byte) *Document) (*Document, error) {
	for _, f := range p.forms() {
		attributes := map[string]string{}
		maps.Copy(attributes, p.Attributes)
		delete(attributes, "evidence")
		if p.Form == ValueForm {
			attributes["encoding"] = f.encoding
		}
		text := f.with(strings.TrimSpace(p.anchor+" "+commentOf(attributes, p.Evidence)), p.below)
		d := p.alone
		if d == nil || string(d.Source) != text {
			d = parse([]byte(text))
		}
		if d == nil {
			return nil, errStopped
		}
		maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
		if p.matches(d, &f, attributes) {
			p.alone = d
			return d, nil
		}
	}
	return nil, fmt.Errorf("%w: it is not exactly one paragraph, list item or other block", ErrText)
}

// matches reports whether a document consists of the requested entry in a form.
func (p *Put) matches(d *Document, f *writtenForm, attributes map[string]string) bool {
	if d.Unsound || d.Front.Present || len(d.Entries) != 1 || len(d.Headings) > 0 || len(d.Hidden) > 0 ||
		d.Entries[0].EndLine != d.lines.count() || p.Form != markdownForm && d.InPrivate() {
		return false
	}
	e := &d.Entries[0]
	given := maps.Clone(e.Attributes)
	delete(given, "evidence")
	if p.Form == markdownForm {
		return len(attributes) == 0 || maps.Equal(given, attributes)
	}
	same := e.Norm != "" && maps.Equal(given, attributes) && slices.Equal(e.Evidence, p.Evidence)
	switch p.Form {
	case TaskForm:
		return same && len(e.Tasks) == 1
	case ValueForm:
		key, value, ok := e.Item()
		return same && ok && key == p.Title && value == p.Text
	case FactForm:
		text := strings.TrimPrefix(e.Remembered(), "**"+escapeTitle(p.Title)+"**: ")
		return same && e.Title == cmp.Or(p.Title, e.Title) && len(e.Tasks) == 0 && e.Given == (attributes["id"] != "") &&
			(e.Added != "" || p.Date == "") && (f.escaped || text == cutAdded(TrimText(p.Text), e.Added))
	}
	return same && (f.escaped || e.Content() == TrimText(p.Text))
}

// A writtenForm is a way to write a [Put].
type writtenForm struct {
	head, tail string // around the comment
	gap        string // above the comment
	escaped    bool   // the Markdown of the text has no effect
	encoding   string // of a value
}

// with returns the form with the comment of its attributes, and with comments below. The
// attributes of several lines are at the end.
func (f *writtenForm) with(comment, below string) string {
	switch {
	case comment == "":
		return f.head + f.tail + below
	case strings.Contains(f.head, "\n"):
		return f.head + below + f.gap + comment
	}
	return f.head + f.gap + comment + f.tail + below
}

// forms returns the ways to write the request, best first. Other lines than the first are
// indented below it, and the date follows one line, or several lines as a paragraph of its
// own. The last form escapes the text, keeping its lines; a task and a value have none.
func (p *Put) forms() (list []writtenForm) {
	head := "-"
	if p.Box != "" {
		head += " " + p.Box
	}
	if p.Title != "" {
		head += " **" + escapeTitle(p.Title) + "**:"
	}
	switch p.Form {
	case markdownForm:
		text := strings.Join(trimBlank(strings.Split(unixLines(p.Text), "\n")), "\n")
		first, _, _ := strings.Cut(text, "\n")
		return []writtenForm{{head: first, gap: " ", tail: text[len(first):]}, {head: text, gap: "\n  "}}
	case ValueForm:
		return p.valueForms(head)
	case TaskForm:
		return []writtenForm{{head: head + " " + p.Text, gap: " "}}
	}
	text := TrimText(p.Text)
	several, above := strings.Contains(text, "\n"), " "
	if several && p.Title != "" {
		above = "\n"
	}
	added, dates := "", []string{""}
	lead := strings.TrimLeft(head[1:]+above+text, " ")
	first, _, _ := strings.Cut(lead, "\n")
	if p.Date != "" && cmp.Or(addedDate(lead), addedDate(first), addedSuffix(text)) == "" {
		added = "(added " + p.Date + ")"
	}
	escaped := strings.TrimPrefix(ListItem(text+" "+added), "-")
	switch {
	case several && added != "": // a parser may end the item at a blank line
		dates = []string{"\n\n  " + added, "\n  " + added}
	case !several:
		text = strings.TrimSpace(text + " " + added)
	}
	indented := indentBelow(text, "  ")
	bodies := []string{" " + indented, "\n  " + indented}
	switch {
	case several && p.Title != "":
		bodies = []string{"\n  " + indented, "\n\n  " + indented}
	case several && strings.HasPrefix(indented, "["): // not a task
		bodies[0] = " " + escapeStart(first) + strings.TrimPrefix(indented, first)
	case !several && p.Title == "":
		line := escapeEnd(escapeStart(text))
		bodies[0] = " " + line
		if p.Form == noteForm {
			list = append(list, writtenForm{head: line, gap: " "})
		}
	}
	for _, date := range dates {
		for _, body := range bodies {
			list = append(list, writtenForm{head: head + body + date, gap: " "})
		}
	}
	list = append(list, writtenForm{head: head + escaped, gap: " ", escaped: true})
	for i := range list {
		if added == "" && strings.Contains(list[i].head, "\n") {
			list[i].gap = "\n  "
		}
	}
	return list
}

// valueForms returns the ways to write a value: on one line, or in a fenced block if it
// is JSON or has several lines. A value that Markdown would change becomes a JSON string.
func (p *Put) valueForms(head string) (list []writtenForm) {
	add := func(value, encoding string, object bool) {
		if !object && !strings.Contains(value, "\n") {
			list = append(list, writtenForm{head: strings.TrimSuffix(head+" "+value, " "), gap: " ", encoding: encoding})
		}
		list = append(list,
			writtenForm{head: head, gap: " ", tail: "\n" + fencedBlock(value, object), encoding: encoding})
	}
	if CheckText(p.Text) == nil {
		s := strings.TrimSpace(p.Text)
		add(p.Text, "", (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) && json.Valid([]byte(s)))
	}
	encoded, _ := json.Marshal(p.Text) // escapes <, > and &
	add(string(encoded), encodingJSON, false)
	return list
}

// Inherit sets the attributes that the replaced entry has and the request does not set,
// except its evidence, and keeps the time of its creation. The time of its change becomes now.
func (p *Put) Inherit(old *Entry, now time.Time) {
	attributes := map[string]string{}
	maps.Copy(attributes, old.Attributes)
	delete(attributes, "evidence")
	if attributes["updated"] != "" {
		attributes["updated"] = Timestamp(now)
	}
	maps.Copy(attributes, p.Attributes)
	attributes["created"] = cmp.Or(old.Attributes["created"], attributes["created"])
	if text := strings.TrimLeft(old.Text, " \t"); p.Form == ValueForm {
		text = text[listMarkerLen(text):]
		p.Box = strings.TrimSpace(text[:boxLen(text)])
	}
	if p.Form == markdownForm && strings.HasPrefix(old.ID, "^") {
		p.anchor = old.ID
	}
	p.Attributes = attributes
}

// IsAt reports whether an entry has the title, the text and the evidence of a requested
// summary.
func (p *Put) IsAt(e *Entry) bool {
	return e.Block == Item && e.Title == p.Title && e.SummaryText() == p.Text && slices.Equal(e.Evidence, p.Evidence)
}
