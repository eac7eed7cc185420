package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
)

// related shows links, in both directions.
func (p *printer) related(b *strings.Builder, a *ipc.RelatedAnswer) {
	for _, l := range a.To {
		target := l.Target
		if l.Path != "" {
			target = p.place(l.Path, 0)
		}
		if l.Anchor != "" {
			target += "#" + l.Anchor
		}
		fmt.Fprintf(b, "%s -> %s%s\n", p.place(a.Path, l.Line), escapeLine(target), p.style(dim, joined("  ", escapeLine(strings.Join(strings.Fields(l.Text), " ")))))
	}
	for _, l := range a.From {
		first, _, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
		fmt.Fprintf(b, "%s <-%s\n", p.place(l.Path, l.Line), p.style(dim, joined("  ", escapeLine(first))))
	}
	if len(a.To)+len(a.From) == 0 {
		p.note(b, "no links", a.Index)
	}
}

// todos shows tasks, each with the place of its newest copy.
func (p *printer) todos(b *strings.Builder, a *ipc.TodosAnswer) {
	for _, t := range a.Todos {
		since := ""
		if t.Since != "" {
			since = "since " + t.Since
		}
		fmt.Fprintf(b, "%s %s%s\n", box(t.State), escapeLine(t.Text), p.style(dim, joined("  ", since)))
		for _, c := range t.Places {
			fmt.Fprintf(b, "    %s\n", p.style(dim, p.place(c.Path, c.Line)))
		}
	}
	if len(a.Todos) == 0 {
		p.note(b, "no tasks", a.Index)
	}
}

// check shows what is wrong, a line each.
func (p *printer) check(b *strings.Builder, a *ipc.CheckAnswer) {
	for _, s := range a.Mended {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(dim, "[mended]"))
	}
	for _, s := range a.Refused {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(dim, "[not mended]"))
	}
	for _, d := range a.Differing {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(d.Path, 0), escapeLine(d.Reason), p.style(dim, "[differs]"))
	}
	for _, f := range a.Problems {
		p.problem(b, f)
	}
	for _, s := range a.Skipped {
		fmt.Fprintf(b, "%s: %s %s\n", p.place(s.Path, 0), escapeLine(s.Reason), p.style(dim, "[skipped]"))
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
		detail = escapeLine(e.Cause) + " " + p.style(dim, escapeLine(e.ID))
	}
	where := ""
	if e.Path != "" {
		where = p.place(e.Path, 0)
	}
	fmt.Fprintf(b, "%s %s%s\n", e.Time.In(p.zone()).Format("15:04:05"), p.style(bold, escapeLine(e.Event)), joined("  ", where, detail))
}
