package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// taskFields are the values of the properties in the text of a task.
type taskFields struct {
	due, created, finished string // YYYY-MM-DD
	recurs                 bool
}

// A taskProperty is a property that a program writes into the text of a task.
type taskProperty struct {
	marks string // emoji that name the property
	keys  string // other names, separated by |
	// day returns the field for a value that is a day. Nil means that the value is
	// not a day.
	day func(*taskFields) *string
	// recurs reports that the task is an occurrence of a recurring task.
	recurs bool
}

// taskProperties lists the properties that the Tasks plugin of Obsidian, Dataview,
// Kanban, Logseq and todo.txt document. The text in which tasks are shown and
// compared contains none of them.
var taskProperties = []taskProperty{
	{marks: "📅📆🗓", keys: "due|deadline|@", day: func(f *taskFields) *string { return &f.due }},
	{marks: "➕", keys: "created", day: func(f *taskFields) *string { return &f.created }},
	{marks: "✅", keys: "completion|completed|done", day: func(f *taskFields) *string { return &f.finished }},
	{marks: "⏳⌛🛫❌⏰", keys: "scheduled|start|t|cancelled|canceled|reminder",
		day: func(*taskFields) *string { return new(string) }},
	{marks: "🔁", keys: "repeat|recurrence|rec", recurs: true},
	{marks: "🔺⏫🔼🔽⏬🆔⛔🏁", keys: "priority|pri|#|id|dependsOn|onCompletion"},
}

// taskPropertyRE matches a property. It has no groups, because these slow it down.
var taskPropertyRE = lazyregexp.New(taskPropertyPattern())

func taskPropertyPattern() string {
	var marks, dayMarks string
	var keys, dayKeys []string
	for _, p := range taskProperties {
		marks, keys = marks+p.marks, append(keys, p.keys)
		if p.day != nil {
			dayMarks, dayKeys = dayMarks+p.marks, append(dayKeys, p.keys)
		}
	}
	key, dayKey := `(?:`+strings.Join(keys, "|")+`)`, `(?:`+strings.Join(dayKeys, "|")+`)`
	const day = `\d{4}-\d{2}-\d{2}(?:T\d{1,2}:\d{2}(?::\d{2})?)?\b`
	const clock = `(?: \d{1,2}:\d{2})?`
	return `(?i)` + strings.Join([]string{
		`⏰\x{fe0f}?\s*` + day + clock,
		`[` + dayMarks + `]\x{fe0f}?\s*` + day,
		`[🆔⛔🏁]\x{fe0f}?\s*[a-z0-9_-]+(?:\s*,\s*[a-z0-9_-]+)*`,
		`[🔺⏫🔼🔽⏬]\x{fe0f}?`,
		`🔁\x{fe0f}?(?:\s*every\b[^` + marks + `\[(#]*)?`,
		`[\[(]\s*` + key + `\s*::\s*(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]`, // Dataview
		`@` + key + `\([^()]*\)`,
		`\(` + dayKey + `:\s*` + day + `\)`,
		`\b` + dayKey + `::?\s*` + day,
		`\(@` + day + clock + `\)`,
		`@\{` + day + `\}(?:\s*@@\{[^{}]*\})?`,            // Kanban
		`\b(?:rec|pri):(?:\+?\d+[dbwmy]\b|[a-z]\b)`,       // todo.txt
		`\b(?:scheduled|deadline):\s*<` + day + `[^<>]*>`, // Logseq
		`\[#[a-c]\]`,
	}, "|")
}

// splitProperty splits the text of a property into its mark or key and its value, which
// is at the end of the text after a mark.
func splitProperty(s string) (key, value string) {
	mark, n := utf8.DecodeRuneInString(s)
	if mark >= utf8.RuneSelf {
		return s[:n], strings.TrimLeft(s[n:], "\ufe0f ")
	}
	const around = "[](){}<>: "
	s = strings.Trim(s, around)
	if rest, ok := strings.CutPrefix(s, "#"); ok {
		return "#", rest
	}
	rest, at := strings.CutPrefix(s, "@")
	if i := strings.IndexAny(rest, ":({"); i > 0 && (rest[0] < '0' || rest[0] > '9') {
		return strings.TrimSpace(rest[:i]), strings.TrimLeft(rest[i:], around)
	}
	if at {
		return "@", strings.TrimLeft(rest, around)
	}
	return s, ""
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

// repeaterRE matches the interval of a recurring task in Logseq.
var repeaterRE = lazyregexp.New(`\+\d+[hdwmy]\b`)

// cutTaskFields returns the text of a task without its properties, and their values.
// It leaves properties with an invalid value, and a text that has nothing else.
func cutTaskFields(text string) (rest string, f taskFields) {
	if !mayHaveFields(text) {
		return text, f
	}
	var b strings.Builder
	end := 0
	for _, m := range taskPropertyRE().FindAllStringIndex(text, -1) {
		from, to := m[0], m[1]
		key, value := splitProperty(text[from:to])
		inAddress := from > 0 && strings.IndexByte("/?&=", text[from-1]) >= 0
		if inAddress || !f.set(key, value) {
			continue
		}
		if key == "🔁" && strings.TrimSpace(text[:from]) == "" {
			to -= len(value) // the task follows the mark
		}
		b.WriteString(strings.TrimRightFunc(text[end:from], unicode.IsSpace))
		end = to
	}
	b.WriteString(text[end:])
	rest = b.String()
	if strings.TrimSpace(rest) == "" {
		rest = text
	}
	return rest, f
}

// mayHaveFields reports whether a text has a character that every property has. It makes
// reading of ordinary tasks fast.
func mayHaveFields(text string) bool {
	return strings.ContainsAny(text, "@[") ||
		strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) ||
		slices.ContainsFunc([]string{"::", "-", "rec:", "pri:"}, func(s string) bool {
			return strings.Contains(text, ":") && strings.Contains(text, s)
		})
}

// set stores the value of a property. It reports false if the value is invalid.
func (f *taskFields) set(key, value string) bool {
	i := slices.IndexFunc(taskProperties, func(p taskProperty) bool {
		return strings.Contains(p.marks, key) ||
			slices.ContainsFunc(strings.Split(p.keys, "|"), func(k string) bool { return strings.EqualFold(k, key) })
	})
	p := &taskProperties[i]
	if p.day == nil {
		f.recurs = f.recurs || p.recurs && (value != "" || key == p.marks)
		return true
	}
	if value == "" {
		return true // such as [due:: ] of a template
	}
	day := value[:min(len(value), len("2026-02-05"))]
	if !IsDay(day) {
		return false
	}
	field := p.day(f)
	*field = cmp.Or(*field, day)
	f.recurs = f.recurs || repeaterRE().MatchString(value)
	return true
}
