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
		return "memory is disabled: nothing was written"
	}
	if state := api.IndexStateOf(answer); state != nil {
		b.notice = state.Notice
	}
	switch a := answer.(type) {
	case *api.SearchAnswer:
		b.writeHits(a)
	case *api.GetAnswer:
		return a.Text
	case *api.ContextAnswer:
		b.WriteString(a.Text + "\n")
		b.writeHints(a.Hints...)
	case *api.LoadAnswer:
		b.WriteString(a.Block + "\n")
	case *api.RelatedAnswer:
		b.writeLinks(a)
	case *api.TodosAnswer:
		b.writeTodos(a)
	case *api.TodoAnswer:
		b.writeTodo(a)
	case *api.NoteAnswer:
		b.writePosition("noted", a.Path, a.Line)
	case *api.CaptureAnswer:
		b.writeCaptured(a)
	case *api.RememberAnswer:
		b.writeRemembered(a)
	case *api.ForgetAnswer:
		b.writeForgotten(a)
	case *api.SessionAnswer:
		b.writeSession(a)
	case *api.EditAnswer:
		b.writeEdited(a)
	case *api.SummaryAnswer:
		b.writePosition("summarized", a.Path, a.Line)
	case *api.ItemAnswer:
		b.writeItem(a)
	case *api.ItemListAnswer:
		b.writeItems(a)
	case *api.ItemDeleteAnswer:
		b.writeDeleted(a)
	case *api.StatusAnswer:
		b.writeStatus(a)
	default:
		text, err := json.Marshal(answer)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	b.writeHints(b.notice)
	return strings.Trim(b.String(), "\n")
}

// A toolText builds the text of an answer.
type toolText struct {
	strings.Builder
	notice string // why the answer may be incomplete
}

func (b *toolText) writeLine(format string, args ...any) {
	fmt.Fprintf(b, format+"\n", args...)
}

// writeFields writes the nonempty parts on one line.
func (b *toolText) writeFields(parts ...string) {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	b.writeLine("%s", strings.Join(parts, " | "))
}

// textIf returns text if a condition is met, otherwise "".
func textIf(met bool, text string) string {
	if met {
		return text
	}
	return ""
}

// writeHints writes the nonempty hints.
func (b *toolText) writeHints(hints ...string) {
	for _, h := range hints {
		if h != "" {
			b.writeLine("(%s)", h)
		}
	}
}

// writeEmpty writes that an answer lists nothing, unless that is not certain.
func (b *toolText) writeEmpty(format string, args ...any) {
	if b.notice == "" {
		b.writeLine("("+format+")", args...)
	}
}

// writePosition writes the position of new text. The path is empty if the caller may
// not read the file in this context.
func (b *toolText) writePosition(label, path string, line int) {
	if path == "" {
		b.writeLine("%s", label)
		return
	}
	b.writeLine("%s: %s:%d", label, path, line)
}

// maxEntryText bounds the characters of an entry in a list.
const maxEntryText = 600

func (b *toolText) writeHits(a *api.SearchAnswer) {
	for i, h := range a.Hits {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.writeFields(placeOf(h.Path, h.Line, h.EndLine), textIf(h.Untrusted, brief.Mark), h.Section,
			textIf(h.Task != "", h.Task+" task"), h.Day, textIf(h.Conflict != "", "conflict copy"),
			textIf(h.Stale, "stale: the file is unreadable"))
		text, cut := h.Text, false
		if runes := []rune(text); len(runes) > maxEntryText {
			text, cut = string(runes[:maxEntryText]), true
		}
		b.writeLine("%s", brief.Quote(text, h.Untrusted))
		if cut || h.Truncated {
			b.writeLine("… (for the full text: memory_get from %d, lines %d)", h.Line, h.EndLine-h.Line+1)
		}
		for _, also := range h.AlsoAt {
			b.writeLine("also at %s:%d", also.Path, also.Line)
		}
		if s := h.SupersededBy; s != nil {
			b.writeLine("superseded by %s:%d", s.Path, s.Line)
		}
		if h.More > 0 {
			b.writeLine("and %d more in this file", h.More)
		}
	}
	if a.Next > 0 {
		b.writeLine("\n(%d entries in %d files match; not all are shown)", a.Total, a.Files)
	}
	if len(a.Absent) > 0 && len(a.Hits) > 0 {
		b.writeLine("(no entry contains %s)", strings.Join(a.Absent, ", "))
	}
	b.writeHints(a.Note)
}

// placeOf returns the position of an entry as path:line or path:line-line.
func placeOf(path string, from, to int) string {
	if to > from {
		return fmt.Sprintf("%s:%d-%d", path, from, to)
	}
	return fmt.Sprintf("%s:%d", path, from)
}

func (b *toolText) writeLinks(a *api.RelatedAnswer) {
	for _, l := range a.To {
		b.writeFields(fmt.Sprintf("%s:%d -> %s", a.Path, l.Line, l.Target), brief.Quote(l.Text, l.Untrusted))
	}
	for _, l := range a.From {
		b.writeFields(fmt.Sprintf("%s:%d -> %s", l.Path, l.Line, a.Path), brief.Quote(l.Text, l.Untrusted))
	}
	if len(a.To)+len(a.From) == 0 {
		b.writeEmpty("no links from or to %s", a.Path)
	}
}

func (b *toolText) writeTodos(a *api.TodosAnswer) {
	for _, t := range a.Todos {
		places := make([]string, len(t.Places))
		for i, p := range t.Places {
			places[i] = fmt.Sprintf("%s:%d", p.Path, p.Line)
		}
		b.writeFields(checkbox(t.State)+" "+brief.Quote(t.Text, t.Untrusted), textIf(t.Due != "", "due "+t.Due),
			textIf(t.Since != "", "since "+t.Since), strings.Join(places, ", "))
	}
	if len(a.Todos) == 0 {
		b.writeEmpty("no tasks")
	}
}

func checkbox(state string) string {
	if state == "done" {
		return "[x]"
	}
	return "[ ]"
}

func (b *toolText) writeTodo(a *api.TodoAnswer) {
	if a.Plan != nil {
		for _, t := range a.Plan.Waiting {
			b.writeFields("to tick: "+t.Text, t.Reason)
		}
		b.writeLine("(%d to tick, %d ambiguous, %d skipped)", len(a.Plan.Waiting), len(a.Plan.Unclear),
			len(a.Plan.Known))
		return
	}
	b.writeLine("%s %s", checkbox(a.State), a.Text)
	for _, p := range a.Changed {
		b.writeLine("%s:%d", p.Path, p.Line)
	}
	for _, l := range a.Left {
		b.writeLine("not changed: %s: %s", l.Path, l.Reason)
	}
	switch {
	case len(a.Changed)+len(a.Left) == 0:
		b.writeLine("(already in this state)")
	case a.DryRun:
		b.writeLine("(nothing was written)")
	}
}

func (b *toolText) writeCaptured(a *api.CaptureAnswer) {
	switch {
	case a.Queued:
		b.writeLine("(queued: the model will summarize the text, and the bullets will be captured later)")
	case a.Note != "":
		b.writeLine("(%s)", a.Note)
	case a.Path == "":
		b.writeLine("captured")
		return
	}
	for _, line := range a.Lines {
		if line > 0 {
			b.writeLine("captured: %s:%d", a.Path, line)
		}
	}
	if a.Already > 0 {
		b.writeLine("(%d of the bullets already existed)", a.Already)
	}
}

func (b *toolText) writeRemembered(a *api.RememberAnswer) {
	verb := "remembered"
	if a.Replaced {
		verb = "remembered, replacing the old entry"
	}
	b.writePosition(verb, a.Path, a.Line)
	b.writeHints(a.Hints...)
}

func (b *toolText) writeForgotten(a *api.ForgetAnswer) {
	for _, id := range a.Removed {
		b.writeLine("forgotten: %s", id)
	}
	for _, f := range a.Failed {
		b.writeLine("not removed: %s: %s", f.ID, f.Reason)
	}
	if a.Token == "" && a.Total > 0 {
		b.writeLine("the text remains in:")
	}
	for _, e := range a.Entries {
		id := "id " + e.ID
		if e.ID == "" {
			id = "no id: edit the file to remove this text"
		}
		b.writeFields(placeOf(e.Path, max(e.Line, 1), e.EndLine), e.What, id)
		b.writeLine("%s", brief.Quote(strings.TrimRight(e.Text, "\n"), e.Untrusted))
	}
	switch more := a.Total - len(a.Entries); {
	case a.Token != "" && a.Total == 0:
		b.writeLine("(no readable entry contains this text)")
	case more > 0:
		b.writeLine("(and %d more)", more)
	}
	if a.Token != "" && a.Total > 0 {
		b.writeLine("token: %s", a.Token)
		b.writeLine("(nothing was removed: show this list to the user, then give ids and token)")
	}
	if a.Token == "" {
		b.writeHints(a.Problem, a.Beyond)
	}
}

func (b *toolText) writeSession(a *api.SessionAnswer) {
	switch {
	case a.DryRun:
		b.writeLine("%s (nothing was written)", a.Path)
	case a.Path != "":
		b.writeLine("written: %s", a.Path)
	}
	for _, list := range []struct {
		sign  string
		items []api.SessionItem
	}{{"+", a.Added}, {"~", a.Updated}, {"=", a.Merged}} {
		for _, i := range list.items {
			b.writeLine("%s %s: %s", list.sign, i.Section, i.Text)
		}
	}
	for _, l := range a.LeftOut {
		b.writeLine("- left out: %s: %s", l.Item, l.Reason)
	}
	for _, t := range a.Todos {
		b.writeLine("%s %s:%d", checkbox(t.State), t.Path, t.Line)
	}
	if p := a.Promoted; p != nil && p.Path != "" {
		b.writeLine("saved permanently: %s:%d", p.Path, p.Line)
	}
	for _, h := range a.Diff {
		b.writeLine("%s:%d\n%s", a.Path, h.Line, strings.TrimRight(h.Diff, "\n"))
	}
	b.writeHints(a.Hints...)
}

func (b *toolText) writeEdited(a *api.EditAnswer) {
	if a.Changed {
		b.writeLine("written: %s", a.Path)
		return
	}
	b.writeLine("%s already has this text", a.Path)
}

func (b *toolText) writeItem(a *api.ItemAnswer) {
	if a.Item == nil {
		b.writeLine("(no item has this key)")
		return
	}
	b.writeItemLine(a.Item)
}

func (b *toolText) writeItemLine(i *api.Item) {
	place := i.Path
	if i.Line > 0 {
		place = fmt.Sprintf("%s:%d", i.Path, i.Line)
	}
	b.writeFields(brief.Quote(i.Namespace+"/"+i.Key+": "+i.Value, i.Untrusted), i.Visibility, "id "+i.ID, place)
}

func (b *toolText) writeItems(a *api.ItemListAnswer) {
	for _, i := range a.Items {
		b.writeItemLine(i)
	}
	if len(a.Items) == 0 {
		b.writeEmpty("no items")
	}
	if a.Next != "" {
		b.writeLine("(more items: cursor %s)", a.Next)
	}
}

func (b *toolText) writeDeleted(a *api.ItemDeleteAnswer) {
	b.writeLine("deleted: %d", a.Deleted)
	for _, path := range a.Paths {
		b.writeLine("in %s", path)
	}
}

func (b *toolText) writeStatus(a *api.StatusAnswer) {
	s := a.Status
	if s == nil {
		b.writeLine("memory is %s", textIf(!a.Healthy, "not ")+"healthy")
		return
	}
	b.writeLine("memory is %s", s.State)
	b.writeLine("%d files, %d entries, %d problems in files, %d skipped", s.Files, s.Entries, s.ProblemCount,
		s.SkippedFiles)
	for _, problem := range []string{s.Index.Problem, s.Watch.Problem, s.Write.Problem} {
		if problem != "" {
			b.writeLine("%s", problem)
		}
	}
	for _, w := range s.Write.Waiting {
		b.writeLine("pending: %s: %s", w.Path, w.Reason)
	}
	for _, p := range s.Problems {
		b.writeFields(p.Path, p.Message)
	}
}
