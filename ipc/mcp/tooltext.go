package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/brief"
)

// textOf returns a short text for a model, with places as path:line. The
// content of memory is unchanged. Text written by others than the subject is
// marked on every line, except in a file, which contains its source.
func textOf(answer any) string {
	var b toolText
	if f := reflect.ValueOf(answer).Elem().FieldByName("Disabled"); f.IsValid() && f.Bool() {
		return "memory is turned off: nothing was written"
	}
	switch a := answer.(type) {
	case *api.SearchAnswer:
		b.found(a)
	case *api.GetAnswer:
		return a.Text
	case *api.ContextAnswer:
		b.hints(a.Hints)
		return strings.TrimSpace(a.Text + "\n" + b.String())
	case *api.LoadAnswer:
		return a.Block
	case *api.RelatedAnswer:
		b.related(a)
	case *api.TodosAnswer:
		b.todos(a)
	case *api.TodoAnswer:
		b.todo(a)
	case *api.NoteAnswer:
		b.written("noted", a.Path, a.Line)
	case *api.CaptureAnswer:
		b.captured(a)
	case *api.RememberAnswer:
		b.remembered(a)
	case *api.ForgetAnswer:
		b.forgotten(a)
	case *api.SessionAnswer:
		b.session(a)
	case *api.EditAnswer:
		b.edited(a)
	case *api.SummaryAnswer:
		b.written("summed up", a.Path, a.Line)
	case *api.ItemAnswer:
		b.item(a)
	case *api.ItemListAnswer:
		b.items(a)
	case *api.ItemDeleteAnswer:
		b.deleted(a)
	case *api.StatusAnswer:
		b.status(a)
	default:
		text, err := json.Marshal(answer)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// A toolText builds the text of an answer.
type toolText struct{ strings.Builder }

func (b *toolText) line(format string, args ...any) {
	fmt.Fprintf(b, format+"\n", args...)
}

// facts writes the nonempty parts on one line.
func (b *toolText) facts(parts ...string) {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	b.line("%s", strings.Join(parts, " | "))
}

func (b *toolText) hints(hints []string) {
	for _, h := range hints {
		b.line("(%s)", h)
	}
}

// state writes why an answer may be incomplete.
func (b *toolText) state(s api.IndexState) {
	if s.Degraded {
		b.line("(the index is not whole now: there may be more)")
	}
	if s.Problem != "" {
		b.line("(%s)", s.Problem)
	}
}

// mark returns the mark for text written by others.
func mark(untrusted bool) string {
	if untrusted {
		return brief.Mark
	}
	return ""
}

// written writes the position of new text. The path is empty if the caller may
// not read the file in this context.
func (b *toolText) written(what, path string, line int) {
	if path == "" {
		b.line("%s", what)
		return
	}
	b.line("%s: %s:%d", what, path, line)
}

// maxEntryText bounds the characters of an entry in a list.
const maxEntryText = 600

func (b *toolText) found(a *api.SearchAnswer) {
	for i, h := range a.Hits {
		if i > 0 {
			b.WriteByte('\n')
		}
		task := h.Task
		if task != "" {
			task += " task"
		}
		stale := ""
		if h.Stale {
			stale = "stale: the file cannot be read now"
		}
		b.facts(placeOf(h.Path, h.Line, h.EndLine), mark(h.Untrusted), h.Section, task, h.Day, stale)
		text, cut := h.Text, false
		if runes := []rune(text); len(runes) > maxEntryText {
			text, cut = string(runes[:maxEntryText]), true
		}
		b.line("%s", brief.Quote(text, h.Untrusted))
		if cut || h.Truncated {
			b.line("… (for all of it: memory_get from %d, lines %d)", h.Line, h.EndLine-h.Line+1)
		}
		for _, also := range h.AlsoAt {
			b.line("also at %s:%d", also.Path, also.Line)
		}
	}
	shown := 0
	for _, h := range a.Hits {
		shown += 1 + len(h.AlsoAt)
	}
	if shown > 0 && shown < a.Total {
		b.line("\n(%d of %d)", shown, a.Total)
	}
	if a.Note != "" {
		b.line("(%s)", a.Note)
	}
	b.state(a.Index)
}

// placeOf returns the position of an entry as path:line or path:line-line.
func placeOf(path string, from, to int) string {
	if to > from {
		return fmt.Sprintf("%s:%d-%d", path, from, to)
	}
	return fmt.Sprintf("%s:%d", path, from)
}

func (b *toolText) related(a *api.RelatedAnswer) {
	for _, l := range a.To {
		b.facts(fmt.Sprintf("%s:%d -> %s", a.Path, l.Line, l.Target), brief.Quote(l.Text, l.Untrusted))
	}
	for _, l := range a.From {
		b.facts(fmt.Sprintf("%s:%d -> %s", l.Path, l.Line, a.Path), brief.Quote(l.Text, l.Untrusted))
	}
	if len(a.To)+len(a.From) == 0 {
		b.line("(no links from or to %s)", a.Path)
	}
	b.state(a.Index)
}

func (b *toolText) todos(a *api.TodosAnswer) {
	for _, t := range a.Todos {
		since := ""
		if t.Since != "" {
			since = "since " + t.Since
		}
		places := make([]string, len(t.Places))
		for i, p := range t.Places {
			places[i] = fmt.Sprintf("%s:%d", p.Path, p.Line)
		}
		b.facts(box(t.State)+" "+brief.Quote(t.Text, t.Untrusted), since, strings.Join(places, ", "))
	}
	if len(a.Todos) == 0 {
		b.line("(no tasks)")
	}
	b.state(a.Index)
}

func box(state string) string {
	if state == "done" {
		return "[x]"
	}
	return "[ ]"
}

func (b *toolText) todo(a *api.TodoAnswer) {
	if a.Plan != nil {
		for _, t := range a.Plan.Waiting {
			b.facts("to be ticked: "+t.Text, t.Reason)
		}
		b.line("(%d to be ticked, %d unclear, %d left alone)", len(a.Plan.Waiting), len(a.Plan.Unclear),
			len(a.Plan.Known))
		return
	}
	b.line("%s %s", box(a.State), a.Text)
	for _, p := range a.Changed {
		b.line("%s:%d", p.Path, p.Line)
	}
	for _, l := range a.Left {
		b.line("not changed: %s: %s", l.Path, l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		b.line("(it was so already)")
	case a.DryRun:
		b.line("(nothing was written)")
	}
}

func (b *toolText) captured(a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		b.line("(a model is asked, and what it says is captured later)")
	case a.Note != "":
		b.line("(%s)", a.Note)
	case a.Path == "":
		b.line("captured")
		return
	}
	for _, line := range a.Lines {
		if line > 0 {
			b.line("captured: %s:%d", a.Path, line)
		}
	}
	if a.Already > 0 {
		b.line("(%d of them were there already)", a.Already)
	}
}

func (b *toolText) remembered(a *api.RememberAnswer) {
	what := "remembered"
	if a.Replaced {
		what = "remembered, in place of what was there"
	}
	b.written(what, a.Path, a.Line)
	b.hints(a.Hints)
}

func (b *toolText) forgotten(a *api.ForgetAnswer) {
	for _, id := range a.Removed {
		b.line("forgotten: %s", id)
	}
	for _, f := range a.Failed {
		b.line("still there: %s: %s", f.ID, f.Reason)
	}
	if a.Token == "" && a.Total > 0 {
		b.line("the text is still in:")
	}
	for _, e := range a.Entries {
		id := "id " + e.ID
		if e.ID == "" {
			id = "cannot be removed by id: edit the file"
		}
		b.facts(placeOf(e.Path, max(e.Line, 1), e.EndLine), e.What, id)
		b.line("%s", brief.Quote(strings.TrimRight(e.Text, "\n"), e.Untrusted))
	}
	switch more := a.Total - len(a.Entries); {
	case a.Token != "" && a.Total == 0:
		b.line("(nothing that you may read has this text)")
	case more > 0:
		b.line("(and %d more)", more)
	}
	if a.Token != "" && a.Total > 0 {
		b.line("token: %s", a.Token)
		b.line("(nothing was removed: show this to the user, then give ids and token)")
	}
	for _, s := range []string{a.Problem, a.Beyond} {
		if s != "" && a.Token == "" {
			b.line("(%s)", s)
		}
	}
}

func (b *toolText) session(a *api.SessionAnswer) {
	switch {
	case a.DryRun:
		b.line("%s (nothing was written)", a.Path)
	case a.Path != "":
		b.line("written: %s", a.Path)
	}
	for _, list := range []struct {
		sign  string
		items []api.SessionItem
	}{{"+", a.Added}, {"~", a.Updated}, {"=", a.Merged}} {
		for _, i := range list.items {
			b.line("%s %s: %s", list.sign, i.Section, i.Text)
		}
	}
	for _, l := range a.LeftOut {
		b.line("- left out: %s: %s", l.Item, l.Reason)
	}
	for _, t := range a.Todos {
		b.line("%s %s:%d", box(t.State), t.Path, t.Line)
	}
	if p := a.Promoted; p != nil && p.Path != "" {
		b.line("kept for long: %s:%d", p.Path, p.Line)
	}
	for _, h := range a.Diff {
		b.line("%s:%d\n%s", a.Path, h.Line, strings.TrimRight(h.Diff, "\n"))
	}
	b.hints(a.Hints)
}

func (b *toolText) edited(a *api.EditAnswer) {
	if a.Changed {
		b.line("written: %s", a.Path)
		return
	}
	b.line("%s says that already", a.Path)
}

func (b *toolText) item(a *api.ItemAnswer) {
	if a.Item == nil {
		b.line("(nothing is kept by this key)")
		return
	}
	b.itemLine(a.Item)
}

func (b *toolText) itemLine(i *api.Item) {
	place := i.Path
	if i.Line > 0 {
		place = fmt.Sprintf("%s:%d", i.Path, i.Line)
	}
	b.facts(brief.Quote(i.Namespace+"/"+i.Key+": "+i.Value, i.Untrusted), i.Visibility, "id "+i.ID, place)
}

func (b *toolText) items(a *api.ItemListAnswer) {
	for _, i := range a.Items {
		b.itemLine(i)
	}
	if len(a.Items) == 0 {
		b.line("(no items)")
	}
	if a.Next != "" {
		b.line("(there are more: cursor %s)", a.Next)
	}
	b.state(a.Index)
}

func (b *toolText) deleted(a *api.ItemDeleteAnswer) {
	b.line("deleted: %d", a.Deleted)
	for _, path := range a.Paths {
		b.line("in %s", path)
	}
}

func (b *toolText) status(a *api.StatusAnswer) {
	word := "memory works"
	if !a.Healthy {
		word = "memory is not healthy"
	}
	b.line("%s", word)
	s := a.Status
	if s == nil {
		return
	}
	b.line("%d files, %d entries, %d problems in files, %d skipped", s.Files, s.Entries, s.ProblemCount, s.SkippedFiles)
	for _, problem := range []string{s.Index.Problem, s.Watch.Problem, s.Write.Problem} {
		if problem != "" {
			b.line("%s", problem)
		}
	}
	for _, w := range s.Write.Waiting {
		b.line("waits to be written: %s: %s", w.Path, w.Reason)
	}
	for _, p := range s.Problems {
		b.facts(p.Path, p.Message)
	}
}
