package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// sentences returns words with punctuation, in the usual length of an entry
// times scale.
func (w *writer) sentences(chinese bool, scale float64) string {
	if chinese {
		return w.hanSentences(scale)
	}
	n := w.length(19*scale, 0.65)
	var b strings.Builder
	for start := true; n > 0; n-- {
		word := w.word()
		if start {
			word = title(word)
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		start = false
		switch {
		case n == 1:
			b.WriteByte('.')
		case n > 4 && w.r.IntN(14) == 0:
			b.WriteString(". ")
			start = true
		case n > 2 && w.r.IntN(12) == 0:
			b.WriteByte(',')
		}
	}
	return b.String()
}

func (w *writer) hanSentences(scale float64) string {
	var b strings.Builder
	for n := w.length(28*scale, 0.55); n > 0; n-- {
		b.WriteString(w.hanWord())
		switch {
		case n == 1:
			b.WriteString("。")
		case n > 3 && w.r.IntN(8) == 0:
			b.WriteString("，")
		case n > 4 && w.r.IntN(16) == 0:
			b.WriteString("。")
		}
	}
	return b.String()
}

// length returns a random length around a median. It is log-normal like lengths
// of text: some are much longer.
func (w *writer) length(median, spread float64) int {
	return min(max(3, int(median*math.Exp(spread*w.r.NormFloat64())+0.5)), 250)
}

// topicWords returns a few words without grammar for a title or heading.
func (w *writer) topicWords(chinese bool) string {
	if chinese {
		return w.hanWord() + w.hanWord()
	}
	return title(w.content()) + " " + w.word()
}

func (f *file) text(v *vocabulary, t *tree) string {
	w := v.newWriter(t.seed, f.n)
	var b strings.Builder
	switch f.kind {
	case session:
		f.session(&b, w, t)
	case daily:
		f.daily(&b, w, t)
	case longterm:
		f.longterm(&b, w, t)
	default:
		f.note(&b, w, t)
	}
	return b.String()
}

func (f *file) session(b *strings.Builder, w *writer, t *tree) {
	tasks, follow := w.r.IntN(4), w.r.IntN(3)
	var list strings.Builder
	done := 0
	for range tasks {
		box := ' '
		if w.r.IntN(2) == 0 {
			box, done = 'x', done+1
		}
		text := w.sentences(f.chinese, 0.5)
		if w.r.IntN(5) == 0 { // the task also occurs in other sessions of that time
			other := w.newWriter(^t.seed, int(f.day.Unix()/(3*86400))*10+w.r.IntN(5+len(t.files)/2000))
			text = other.sentences(f.chinese, 0.5)
		}
		fmt.Fprintf(&list, "- [%c] %s\n", box, text)
	}
	f.front(b, w, fmt.Sprintf("tasks: \"%d/%d\"\nfollow_ups: \"0/%d\"\nsession_id: %q\nsource: cli\n", done, tasks,
		follow, f.name))
	fmt.Fprintf(b, "# %s Short-Term Memory\n\n## Session Summary\n", f.date())
	for i := range 2 + w.r.IntN(4) {
		fmt.Fprintf(b, "%d. **%s**: %s\n", i+1, w.topicWords(f.chinese), w.sentences(f.chinese, 1.2))
		if w.r.IntN(3) == 0 {
			fmt.Fprintf(b, "   - Event: %s\n   - Result: %s\n", w.sentences(f.chinese, 0.5),
				w.sentences(f.chinese, 0.5))
		}
	}
	b.WriteString("\n## Key Facts\n")
	for range 1 + w.r.IntN(5) {
		fmt.Fprintf(b, "- **%s**: %s%s\n", w.topicWords(f.chinese), w.sentences(f.chinese, 1), w.tag())
	}
	if tasks > 0 {
		fmt.Fprintf(b, "\n## Tasks\n%s", list.String())
	}
	if follow > 0 {
		b.WriteString("\n## Follow Ups\n")
		for range follow {
			fmt.Fprintf(b, "- [ ] %s\n", w.sentences(f.chinese, 0.5))
		}
	}
	if w.r.IntN(3) == 0 {
		fmt.Fprintf(b, "\n## Related Links\n- [%s](%s)\n", w.topicWords(f.chinese),
			t.files[w.r.IntN(len(t.files))].path)
	}
}

func (f *file) daily(b *strings.Builder, w *writer, t *tree) {
	fmt.Fprintf(b, "# %s\n", f.date())
	hour, n := 8, 0
	for entries := 6 + w.r.IntN(9); n < entries; {
		hour += w.r.IntN(2)
		fmt.Fprintf(b, "\n## %02d:%02d - %s\n\n", min(hour, 23), w.r.IntN(60), w.topicWords(f.chinese))
		for range 1 + w.r.IntN(3) {
			if w.r.IntN(3) == 0 {
				fmt.Fprintf(b, "- %s%s\n", w.sentences(f.chinese, 1), w.tag())
			} else {
				fmt.Fprintf(b, "%s\n\n", w.sentences(f.chinese, 1.4))
			}
			n++
		}
	}
	fmt.Fprintf(b, "\nSee [%s](%s).\n", w.topicWords(f.chinese), t.files[w.r.IntN(len(t.files))].path)
}

func (f *file) longterm(b *strings.Builder, w *writer, t *tree) {
	if f.name == "_index" {
		f.front(b, w, "tasks: \"0/0\"\nfollow_ups: \"0/0\"\n")
	}
	fmt.Fprintf(b, "# Long-Term Memory\n\n## Key Facts\n")
	for i := range 6 + w.r.IntN(9) {
		if i == 5 {
			b.WriteString("\n## Long-Term Goals / Projects\n")
		}
		comment := ""
		if w.r.IntN(3) == 0 {
			comment = fmt.Sprintf(" <!-- id=k%d%s importance=0.%d evidence=%s -->", i, f.name, 1+w.r.IntN(9),
				t.files[w.r.IntN(len(t.files))].path)
		}
		fmt.Fprintf(b, "- **%s**: %s (added %s)%s%s\n", w.topicWords(f.chinese), w.sentences(f.chinese, 1), f.date(),
			w.tag(), comment)
	}
}

func (f *file) note(b *strings.Builder, w *writer, t *tree) {
	fmt.Fprintf(b, "# %s\n\n", w.topicWords(f.chinese))
	for range 7 + w.r.IntN(7) {
		switch w.r.IntN(8) {
		case 0:
			fmt.Fprintf(b, "## %s\n\n%s\n\n", w.topicWords(f.chinese), w.sentences(f.chinese, 1.5))
		case 1:
			fmt.Fprintf(b, "```sh\n$ %s --%s %s\n%s\n```\n\n", w.content(), w.content(), w.name(),
				w.sentences(false, 1))
		case 2:
			fmt.Fprintf(b, "| %s | %s |\n|---|---|\n| %s | %s |\n| %s | %s |\n\n", w.content(), w.content(), w.word(),
				w.name(), w.word(), w.name())
		case 3:
			fmt.Fprintf(b, "> %s\n\n", w.sentences(f.chinese, 1))
		case 4, 5:
			fmt.Fprintf(b, "- %s\n- %s [%s](%s)\n\n", w.sentences(f.chinese, 1), w.sentences(f.chinese, 0.6),
				w.content(), t.files[w.r.IntN(len(t.files))].path)
		default:
			fmt.Fprintf(b, "%s\n\n", w.sentences(f.chinese, 1.6))
		}
	}
}

func (f *file) front(b *strings.Builder, w *writer, more string) {
	at := f.day.Add(time.Duration(w.r.IntN(86400)) * time.Second).Format(time.RFC3339)
	fmt.Fprintf(b, "---\ncreated_at: %s\nupdated_at: %s\nsummary: %q\n%s", at, at, w.sentences(f.chinese, 0.7), more)
	if w.r.IntN(3) == 0 {
		fmt.Fprintf(b, "tags: [%s, %s]\n", w.tagWord(), w.tagWord())
	}
	if f.subject != "" {
		fmt.Fprintf(b, "subject_id: %q\n", f.subject)
	}
	if f.private {
		b.WriteString("visibility: private_only\n")
	}
	b.WriteString("---\n\n")
}

// tag returns a tag in one of six calls, otherwise "".
func (w *writer) tag() string {
	switch w.r.IntN(12) {
	case 0:
		return " #" + w.tagWord()
	case 1:
		return " #project:" + w.tagWord()
	}
	return ""
}

// tagWord returns one of forty words, some more often than others.
func (w *writer) tagWord() string {
	return w.english[100+int(40*w.r.Float64()*w.r.Float64())]
}

func (f *file) date() string { return f.day.Format(time.DateOnly) }
