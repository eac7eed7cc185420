package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
)

// textOf returns a short text for a model, with places as path:line. Text written by
// others than the subject is marked on every line.
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
		return string(fileText(a))
	case *api.ContextAnswer:
		b.writeLine(brief.Quoted(a.Text)) // as package brief has rendered it
		b.writeHints(a.Hints...)
	case *api.LoadAnswer:
		b.writeLine(brief.Quoted(a.Block)) // likewise
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
		return string(memory.EscapeJSON(text, true))
	}
	b.writeHints(b.notice)
	return strings.Trim(b.text.String(), "\n")
}

// fileText returns the text of a file or an entry. The lines that others wrote are marked.
func fileText(a *api.GetAnswer) brief.Quoted {
	var b strings.Builder
	n := a.From
	for line := range strings.SplitSeq(a.Text, "\n") {
		untrusted := a.Untrusted || slices.ContainsFunc(a.UntrustedLines, func(r [2]int) bool {
			return r[0] <= n && n <= r[1]
		})
		if n > a.From {
			b.WriteByte('\n')
		}
		b.WriteString(string(brief.Quote(line, untrusted)))
		n++
	}
	return brief.Quoted(b.String())
}

// A toolText builds the text of an answer. Its methods accept constants and
// [brief.Quoted], so that text of memory has a known trust.
type toolText struct {
	text   strings.Builder
	notice string // why the answer may be incomplete
}

// writeLine writes a line. With arguments, each %s in the format stands for one.
func (b *toolText) writeLine(format brief.Quoted, args ...brief.Quoted) {
	rest := string(format)
	for _, arg := range args {
		var before string
		before, rest, _ = strings.Cut(rest, "%s")
		b.text.WriteString(before + string(arg))
	}
	b.text.WriteString(rest + "\n")
}

// writeFields writes the nonempty parts on one line.
func (b *toolText) writeFields(parts ...brief.Quoted) {
	var line []string
	for _, p := range parts {
		if p != "" {
			line = append(line, string(p))
		}
	}
	b.writeLine("%s", brief.Quoted(strings.Join(line, " | ")))
}

// own returns a part of a line that the subject or memwatchd wrote, such as a path.
func own(text string) brief.Quoted { return brief.Field(text, false) }

func num(n int) brief.Quoted { return own(strconv.Itoa(n)) }

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
			b.writeLine("(%s)", own(h))
		}
	}
}

// writeEmpty writes that an answer lists nothing, unless that is not certain.
func (b *toolText) writeEmpty(format brief.Quoted, args ...brief.Quoted) {
	if b.notice == "" {
		b.writeLine("("+format+")", args...)
	}
}

// writePosition writes the position of new text. The path is empty if the caller may
// not read the file in this context.
func (b *toolText) writePosition(label brief.Quoted, path string, line int) {
	if path == "" {
		b.writeLine(label)
		return
	}
	b.writeLine(label+": %s", own(placeOf(path, line, 0)))
}

// maxEntryText bounds the characters of an entry in a list.
const maxEntryText = 600

func (b *toolText) writeHits(a *api.SearchAnswer) {
	for i, h := range a.Hits {
		if i > 0 {
			b.writeLine("")
		}
		b.writeLine(brief.Fields(h.Untrusted, placeOf(h.Path, h.Line, h.EndLine), h.Section,
			textIf(h.Task != "", h.Task+" task"), h.Day, textIf(h.Conflict != "", "conflict copy"),
			textIf(h.Stale, "stale: the file is unreadable")))
		text, cut := h.Text, false
		if runes := []rune(text); len(runes) > maxEntryText {
			text, cut = string(runes[:maxEntryText]), true
		}
		b.writeLine(brief.Quote(text, h.Untrusted))
		if cut || h.Truncated {
			b.writeLine("… (for the full text: memory_get from %s, lines %s)", num(h.Line), num(h.EndLine-h.Line+1))
		}
		for _, also := range h.AlsoAt {
			b.writeLine("also at %s", brief.Field(placeOf(also.Path, also.Line, 0), h.Untrusted))
		}
		if s := h.SupersededBy; s != nil {
			b.writeLine("superseded by %s", brief.Field(placeOf(s.Path, s.Line, 0), h.Untrusted))
		}
		if h.More > 0 {
			b.writeLine("and %s more in this file", num(h.More))
		}
	}
	if a.Next > 0 {
		b.writeLine("\n(%s entries in %s files match; not all are shown)", num(a.Total), num(a.Files))
	}
	if len(a.Absent) > 0 && len(a.Hits) > 0 {
		b.writeLine("(no entry contains %s)", own(strings.Join(a.Absent, ", ")))
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
		b.writeFields(brief.Fields(l.Untrusted, placeOf(a.Path, l.Line, 0)+" -> "+l.Target+textIf(l.Missing, " [missing]")),
			brief.Field(lineOf(l.Text), l.Untrusted))
	}
	for _, l := range a.From {
		b.writeFields(own(placeOf(l.Path, l.Line, 0)+" -> "+a.Path), brief.Field(lineOf(l.Text), l.Untrusted))
	}
	if len(a.To)+len(a.From) == 0 {
		b.writeEmpty("no links from or to %s", own(a.Path))
	}
}

func lineOf(text string) string { return strings.Join(strings.Fields(text), " ") }

func (b *toolText) writeTodos(a *api.TodosAnswer) {
	for _, t := range a.Todos {
		places := make([]string, len(t.Places))
		for i, p := range t.Places {
			places[i] = placeOf(p.Path, p.Line, 0)
		}
		b.writeFields(checkbox(t.State)+" "+brief.Field(t.Text, t.Untrusted), own(textIf(t.Due != "", "due "+t.Due)),
			own(textIf(t.Since != "", "since "+t.Since)), own(strings.Join(places, ", ")))
	}
	if len(a.Todos) == 0 {
		b.writeEmpty("no tasks")
	}
}

func checkbox(state string) brief.Quoted {
	if state == "done" {
		return "[x]"
	}
	return "[ ]"
}

func (b *toolText) writeTodo(a *api.TodoAnswer) {
	if a.Plan != nil {
		for _, t := range a.Plan.Waiting {
			b.writeFields("to tick: "+brief.Field(t.Text, t.Untrusted), own(t.Reason))
		}
		b.writeLine("(%s to tick, %s ambiguous, %s skipped)", num(len(a.Plan.Waiting)), num(len(a.Plan.Unclear)),
			num(len(a.Plan.Known)))
		return
	}
	b.writeLine("%s %s", checkbox(a.State), brief.Field(a.Text, a.Untrusted))
	for _, p := range a.Changed {
		b.writeFields(own(placeOf(p.Path, p.Line, 0)), brief.Field(p.Text, a.Untrusted))
	}
	for _, l := range a.Left {
		b.writeLine("not changed: %s: %s", own(l.Path), own(l.Reason))
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
		b.writeLine("(%s)", own(a.Note))
	case a.Path == "":
		b.writeLine("captured")
		return
	}
	for _, line := range a.Lines {
		if line > 0 {
			b.writeLine("captured: %s", own(placeOf(a.Path, line, 0)))
		}
	}
	if a.Already > 0 {
		b.writeLine("(%s of the bullets already existed)", num(a.Already))
	}
}

func (b *toolText) writeRemembered(a *api.RememberAnswer) {
	verb := brief.Quoted("remembered")
	if a.Replaced {
		verb = "remembered, replacing the old entry"
	}
	b.writePosition(verb, a.Path, a.Line)
	b.writeHints(a.Hints...)
}

func (b *toolText) writeForgotten(a *api.ForgetAnswer) {
	for _, id := range a.Removed {
		b.writeLine("forgotten: %s", own(id))
	}
	for _, f := range a.Failed {
		b.writeLine("not removed: %s: %s", own(f.ID), own(f.Reason))
	}
	if a.Token == "" && a.Total > 0 {
		b.writeLine("the text remains in:")
	}
	for _, e := range a.Entries {
		number, id, writer := "", "id "+e.ID, ""
		if e.ID == "" {
			id = "no id: edit the file to remove this text"
		} else {
			number = fmt.Sprintf("%d. ", e.Number)
		}
		if e.Writer == api.WrittenElsewhere {
			writer = "not written by memwatchd"
		}
		place := number + placeOf(e.Path, max(e.Line, 1), e.EndLine)
		b.writeLine(brief.Fields(e.Untrusted, place, e.What, writer, id))
		b.writeLine(brief.Quote(strings.TrimRight(e.Marked(), "\n"), e.Untrusted))
	}
	switch more := a.Total - len(a.Entries); {
	case a.Token != "" && a.Total == 0:
		b.writeLine("(no readable entry contains these words)")
	case more > 0:
		b.writeLine("(and %s more)", num(more))
	}
	if a.Token != "" && a.Total > 0 {
		b.writeLine("token: %s", own(a.Token))
		b.writeLine("(nothing was removed: show this list to the user, then give the token and the ids that the " +
			"user chooses)")
	}
	if a.Token == "" {
		b.writeHints(a.Problem, a.Beyond)
	}
}

func (b *toolText) writeSession(a *api.SessionAnswer) {
	switch {
	case a.DryRun:
		b.writeLine("%s (nothing was written)", own(a.Path))
	case a.Path != "":
		b.writeLine("written: %s", own(a.Path))
	}
	for _, list := range []struct {
		sign  brief.Quoted
		items []api.SessionItem
	}{{"+", a.Added}, {"~", a.Updated}, {"=", a.Merged}} {
		for _, i := range list.items {
			b.writeLine("%s %s: %s", list.sign, own(i.Section), brief.Field(i.Text, i.Untrusted))
		}
	}
	for _, l := range a.LeftOut {
		b.writeLine("- left out: %s: %s", own(l.Item), own(l.Reason))
	}
	for _, t := range a.Todos {
		b.writeLine("%s %s", checkbox(t.State), own(placeOf(t.Path, t.Line, 0)))
	}
	if p := a.Promoted; p != nil && p.Path != "" {
		b.writeLine("saved permanently: %s", own(placeOf(p.Path, p.Line, 0)))
	}
	for _, h := range a.Diff {
		b.writeLine(own(placeOf(a.Path, h.Line, 0)))
		b.writeLine(brief.Quote(strings.TrimRight(h.Diff, "\n"), a.Untrusted))
	}
	b.writeHints(a.Hints...)
}

func (b *toolText) writeEdited(a *api.EditAnswer) {
	if a.Changed {
		b.writeLine("written: %s", own(a.Path))
		return
	}
	b.writeLine("%s already has this text", own(a.Path))
}

func (b *toolText) writeItem(a *api.ItemAnswer) {
	if a.Item == nil {
		b.writeLine("(no item has this key)")
		return
	}
	b.writeItemLine(a.Item)
	b.writeHints(a.Hints...)
}

func (b *toolText) writeItemLine(i *api.Item) {
	place := i.Path
	if i.Line > 0 {
		place = placeOf(i.Path, i.Line, 0)
	}
	b.writeFields(brief.Quote(i.Namespace+"/"+i.Key+": "+i.Value, i.Untrusted),
		own(i.Visibility), own("id "+i.ID), own(place))
}

func (b *toolText) writeItems(a *api.ItemListAnswer) {
	for _, i := range a.Items {
		b.writeItemLine(i)
	}
	if len(a.Items) == 0 {
		b.writeEmpty("no items")
	}
	if a.Next != "" {
		b.writeLine("(more items: cursor %s)", own(a.Next))
	}
}

func (b *toolText) writeDeleted(a *api.ItemDeleteAnswer) {
	b.writeLine("deleted: %s", num(a.Deleted))
	for _, path := range a.Paths {
		b.writeLine("in %s", own(path))
	}
}

func (b *toolText) writeStatus(a *api.StatusAnswer) {
	s := a.Status
	if s == nil {
		b.writeLine("memory is %s", own(textIf(!a.Healthy, "not ")+"healthy"))
		return
	}
	b.writeLine("memory is %s", own(s.State))
	b.writeLine("%s files, %s entries, %s problems in files, %s skipped", num(s.Files), num(s.Entries),
		num(s.ProblemCount), num(s.SkippedFiles))
	for _, problem := range []string{s.Index.Problem, s.Watch.Problem, s.Write.Problem} {
		if problem != "" {
			b.writeLine(own(problem))
		}
	}
	for _, w := range s.Write.Waiting {
		b.writeLine("pending: %s: %s", own(w.Path), own(w.Reason))
	}
	for _, p := range s.Problems {
		b.writeFields(own(p.Path), own(p.Message))
	}
}
