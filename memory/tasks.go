package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

var namespaceTypes = map[string]string{
	"profile": "fact", "preference": "preference", "fact": "fact", "project": "project", "task_state": "project",
}

// sectionNames holds the names of task and follow-up sections, in the form
// returned by [sectionName].
type sectionNames struct{ tasks, followUps []string }

func foldNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = sectionName(n)
	}
	return out
}

func (l *Layout) sectionNames() sectionNames {
	return sectionNames{foldNames(orUsual(l.Tasks, defaultTasks)), foldNames(followUpNames)}
}

func orUsual(names, usual []string) []string {
	if names == nil {
		return usual
	}
	return names
}

// applyHeading adds the properties of a heading to those of the headings around it.
func (n sectionNames) applyHeading(s section, heading string) section {
	name := sectionName(heading)
	switch {
	case slices.Contains(n.tasks, name):
		s.tasks, s.followUps = true, false
	case slices.Contains(n.followUps, name):
		s.tasks, s.followUps = false, true
	}
	s.commitment = s.commitment || name == commitments
	s.recurs = s.recurs || hasRecurringTag(heading)
	switch {
	case name == "key facts", name == "重要事件":
		s.kind = "fact"
	case strings.HasSuffix(name, "preferences"), name == "偏好与习惯":
		s.kind = "preference"
	case strings.HasSuffix(name, "goals / projects"):
		s.kind = "project"
	case name == commitments:
		s.kind = "request"
	}
	if h, m, sec, ok := headingClock(heading); ok {
		s.hour, s.minute, s.second, s.clock = h, m, sec, true
	}
	return s
}

// countRepeated counts, for each task, the equal ones above it.
func (e *Entry) countRepeated() {
	if len(e.Tasks) < 2 {
		return
	}
	type text struct{ norm, under string }
	seen := make(map[text]int, len(e.Tasks))
	for i := range e.Tasks {
		t := &e.Tasks[i]
		of := text{t.Norm, t.Under}
		t.repeated = seen[of]
		seen[of]++
	}
}

func (t *Task) read(text string) {
	var fields taskFields
	t.Text, fields = readTaskText(text)
	t.Norm = taskNorm(t.Text)
	t.Due, t.Created, t.Finished, t.Recurs = fields.due, fields.created, fields.finished, fields.recurs
}

// TasksHeading returns the heading below which a new task of a document belongs: the
// first heading of a section with tasks, or else the first configured name.
func (l *Layout) TasksHeading(d *Document) string {
	names := l.sectionNames()
	if d != nil {
		for _, h := range d.Headings {
			if slices.Contains(names.tasks, sectionName(h.Text)) {
				return h.Text
			}
		}
	}
	return append(slices.Clip(l.Tasks), defaultTasks...)[0]
}

// TaskID returns an id of a task, which is unique in the document unless the file gives
// several tasks the same id. It is the id of the entry if the task is the whole entry.
func (e *Entry) TaskID(task int) string {
	t := &e.Tasks[task]
	switch {
	case t.isEntry:
		return e.ID
	case t.ID != "":
		return t.ID
	}
	return hashID(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", e.ID, t.Under, t.Norm, t.repeated))
}

// taskID returns the id in the task's own line, or an empty string.
func taskID(lf *leaf) string {
	for _, c := range lf.comments {
		if id, ok := attrValue(c.attrs, "id"); ok {
			return id
		}
	}
	if id, _ := splitAnchor(lf.textFrom(0)); id != "" {
		return "^" + id
	}
	return ""
}

// TaskState returns open if a task of the entry is open, done if it has only done
// ones, and "" if it has none.
func (e *Entry) TaskState() string {
	switch {
	case len(e.Tasks) == 0:
		return ""
	case slices.ContainsFunc(e.Tasks, func(t Task) bool { return t.State == Open }):
		return Open.String()
	}
	return Done.String()
}

// taskFields are the values of the properties in the text of a task.
type taskFields struct {
	due, created, finished string // YYYY-MM-DD
	recurs                 bool
}

// A taskProperty is a property that a program writes into the text of a task.
type taskProperty struct {
	marks string // emoji that name the property
	keys  string // names in brackets, separated by |
	// day returns the field for a value that is a day. Nil means that the value is
	// not a day.
	day func(*taskFields) *string
	// recurs reports that the task is an occurrence of a recurring task.
	recurs bool
}

// taskProperties lists the properties that the Tasks plugin of Obsidian and Dataview
// document. The text in which tasks are shown and compared contains none of them.
var taskProperties = []taskProperty{
	{marks: "📅📆🗓", keys: "due", day: func(f *taskFields) *string { return &f.due }},
	{marks: "➕", keys: "created", day: func(f *taskFields) *string { return &f.created }},
	{marks: "✅", keys: "completion", day: func(f *taskFields) *string { return &f.finished }},
	{marks: "⏳⌛🛫❌", keys: "scheduled|start|cancelled", day: func(*taskFields) *string { return new(string) }},
	{marks: "🔁", keys: "repeat", recurs: true},
	{marks: "🔺⏫🔼🔽⏬🆔⛔🏁", keys: "priority|id|dependsOn|onCompletion"},
}

// taskPropertyRE matches a property. It has no groups, because these slow it down.
var taskPropertyRE = lazyregexp.New(taskPropertyPattern())

func taskPropertyPattern() string {
	var marks, dayMarks string
	var keys []string
	for _, p := range taskProperties {
		marks, keys = marks+p.marks, append(keys, p.keys)
		if p.day != nil {
			dayMarks += p.marks
		}
	}
	return `(?i)` + strings.Join([]string{
		`[` + dayMarks + `]\x{fe0f}?\s*\d{4}-\d{2}-\d{2}\b`,
		`[🆔⛔🏁]\x{fe0f}?\s*[a-z0-9_-]+(?:\s*,\s*[a-z0-9_-]+)*`,
		`[🔺⏫🔼🔽⏬]\x{fe0f}?`,
		`🔁\x{fe0f}?(?:\s*every\b[^` + marks + `\[(#]*)?`,
		`[\[(]\s*(?:` + strings.Join(keys, "|") + `)\s*::\s*(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]`,
	}, "|")
}

// splitProperty splits the text of a property into its mark or key and its value, which
// is at the end of the text after a mark.
func splitProperty(s string) (key, value string) {
	if mark, n := utf8.DecodeRuneInString(s); mark >= utf8.RuneSelf {
		return s[:n], strings.TrimLeft(s[n:], "\ufe0f ")
	}
	key, value, _ = strings.Cut(strings.Trim(s, "[]() "), "::")
	return strings.TrimSpace(key), strings.TrimLeft(value, "[ ")
}

func hasRecurringTag(text string) bool {
	return strings.Contains(text, "#") && slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		word = strings.Trim(word, ".,;:!?()")
		return strings.HasPrefix(word, "#") && isRecurringTag(word)
	})
}

func isRecurringTag(tag string) bool {
	tag, _, _ = strings.Cut(strings.TrimPrefix(tag, "#"), "/")
	return strings.EqualFold(tag, "recurring")
}

// cutTaskFields returns the text of a task without its properties, and their values.
// It leaves properties with an invalid value, and a text that has nothing else.
func cutTaskFields(text string) (rest string, f taskFields) {
	if !mayHaveFields(text) {
		return text, f
	}
	var b strings.Builder
	end := 0
	for _, m := range taskPropertyRE().FindAllStringIndex(text, -1) {
		if f.set(splitProperty(text[m[0]:m[1]])) {
			b.WriteString(strings.TrimRightFunc(text[end:m[0]], unicode.IsSpace))
			end = m[1]
		}
	}
	b.WriteString(text[end:])
	rest = b.String()
	if strings.TrimSpace(rest) == "" {
		rest = text
	}
	return rest, f
}

// mayHaveFields reports whether a text can have a property. It makes reading of
// ordinary tasks fast.
func mayHaveFields(text string) bool {
	return strings.Contains(text, "::") || strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// set stores the value of a property. It reports false if the value is invalid or there
// is no such property: taskPropertyRE also matches keys with a letter that folds to an
// ASCII one, such as ſ.
func (f *taskFields) set(key, value string) bool {
	i := slices.IndexFunc(taskProperties, func(p taskProperty) bool {
		return strings.Contains(p.marks, key) ||
			slices.ContainsFunc(strings.Split(p.keys, "|"), func(k string) bool { return strings.EqualFold(k, key) })
	})
	if i < 0 {
		return false
	}
	p := &taskProperties[i]
	if p.day == nil {
		f.recurs = f.recurs || p.recurs
		return true
	}
	day := value[:min(len(value), len("2026-02-05"))]
	if !IsDay(day) {
		return false
	}
	field := p.day(f)
	*field = cmp.Or(*field, day)
	return true
}

var (
	// taskLinkRE matches links with the dates of creation and completion.
	taskLinkRE = lazyregexp.New(`\s*\[(?:Created|Done)\]\([^)]*\)`)
	addedAnyRE = lazyregexp.New(`\s*[(（]added\s+\d{4}-\d{2}-\d{2}[)）]`)
)

// readTaskText returns a task's text on one line, without the properties that programs
// write, and the values of these.
func readTaskText(s string) (string, taskFields) {
	_, s = splitAnchor(s)
	if strings.Contains(s, "](") {
		s = taskLinkRE().ReplaceAllString(s, "")
	}
	s, fields := cutTaskFields(s)
	fields.recurs = fields.recurs || hasRecurringTag(s)
	return letters.OneLine(s), fields
}

func taskText(s string) string {
	text, _ := readTaskText(s)
	return text
}

// taskNorm returns a task's text in the form in which copies of a task are
// compared.
func taskNorm(text string) string {
	if strings.Contains(text, "added") {
		text = addedAnyRE().ReplaceAllString(text, "")
	}
	_, text = cutLeadingDate(text)
	if strings.Contains(text, "#") {
		text = tagWordRE().ReplaceAllString(text, "$1")
	}
	text = letters.FoldCase(stripEmphasis(text))
	return strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?。，；：！？、…", r)
	})
}

// TaskNorm returns a task's text in the form in which copies of a task are
// compared: without the marks that [Task] omits from its text, and without
// case, width, white space, emphasis, tags, added date and trailing
// punctuation.
func TaskNorm(text string) string { return taskNorm(taskText(text)) }

// Undated returns [Entry.Norm] without the added date.
func (e *Entry) Undated() string {
	if e.Added == "" {
		return e.Norm
	}
	return strings.TrimSpace(addedAnyRE().ReplaceAllString(e.Norm, ""))
}

// A section holds the properties that a heading gives to the entries below it.
type section struct {
	path                         []string
	kind                         string // default type of the entries, or empty
	tasks, followUps, commitment bool
	recurs                       bool // its tasks do
	hour, minute, second         int
	clock                        bool
}
