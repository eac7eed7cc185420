package main

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/ipc"
)

// related shows links, in both directions: where one stands, where it leads to or
// that it leads here, and what it says.
func (p *printer) related(b *strings.Builder, a *ipc.RelatedAnswer) {
	for _, l := range a.To {
		target := l.Target
		if l.Path != "" {
			target = p.locate(l.Path)
		}
		if l.Anchor != "" {
			target += "#" + l.Anchor
		}
		p.linked(b, a.Path, l.Line, " -> "+escapeLine(target), strings.Join(strings.Fields(l.Text), " "))
	}
	for _, l := range a.From {
		first, _, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
		p.linked(b, l.Path, l.Line, " <-", first)
	}
	if len(a.To)+len(a.From) == 0 {
		p.say(asMuted, "no links")
	}
	p.note("", a.Index)
}

// linked shows one link, on one line if there is room for it.
func (p *printer) linked(b *strings.Builder, path string, line int, arrow, words string) {
	b.WriteString(p.paintedPlace(path, line) + arrow)
	if t := escapeLine(words); p.width == 0 || uniseg.StringWidth(p.place(path, line)+arrow+t)+2 <= p.width {
		b.WriteString(p.style(asMuted, joined("  ", t)) + "\n")
		return
	}
	b.WriteByte('\n')
	p.lines(b, maxSnippet, plainText(asMuted, words))
}

// todos shows tasks, each with the place of its newest copy.
func (p *printer) todos(b *strings.Builder, a *ipc.TodosAnswer) {
	for _, t := range a.Todos {
		since := ""
		if t.Since != "" {
			since = "since " + t.Since
		}
		fmt.Fprintf(b, "%s %s%s\n", box(t.State), escapeLine(t.Text), p.style(asMuted, joined("  ", since)))
		for _, c := range t.Places {
			fmt.Fprintf(b, "    %s\n", p.style(asMuted, p.place(c.Path, c.Line)))
		}
	}
	if len(a.Todos) == 0 {
		p.say(asMuted, "no tasks")
	}
	p.note("", a.Index)
}

// check shows what is wrong, a line each.
func (p *printer) check(b *strings.Builder, a *ipc.CheckAnswer) {
	for _, s := range a.Mended {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[mended]"))
	}
	for _, s := range a.Refused {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[not mended]"))
	}
	for _, d := range a.Differing {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(d.Path, 0), escapeLine(d.Reason), p.style(asMuted, "[differs]"))
	}
	for _, f := range a.Problems {
		p.problem(b, f)
	}
	for _, s := range a.Skipped {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(asMuted, "[skipped]"))
	}
	fmt.Fprintf(b, "%s compared, %d differ from the index, %s, %d skipped\n",
		plural(a.Files, "file"), len(a.Differing), plural(len(a.Problems), "problem"), len(a.Skipped))
}

// event shows one thing that happened.
func (p *printer) event(b *strings.Builder, e *ipc.Event) {
	detail := escapeLine(e.Message)
	switch e.Event {
	case "indexed":
		detail = plural(e.Entries, "entry")
	case "write":
		detail = escapeLine(e.Cause) + " " + p.style(asMuted, escapeLine(e.ID))
	}
	where := ""
	if e.Path != "" {
		where = p.place(e.Path, 0)
	}
	fmt.Fprintf(b, "%s %s%s\n", e.Time.In(p.zone()).Format("15:04:05"), p.style(asTitle, escapeLine(e.Event)), joined("  ", where, detail))
}
