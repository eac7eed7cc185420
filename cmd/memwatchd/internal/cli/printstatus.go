package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// maxNotices bounds the listed files of a kind without --verbose.
const maxNotices = 3

// printStatus shows current failures first, then the state of the memory in a few
// lines, then the files that need attention. Further details need --verbose.
func (p *Printer) printStatus(a *api.StatusAnswer) {
	s, as := a.Status, term.AsGood
	if !a.Healthy {
		as = term.AsBad
	}
	if s == nil {
		p.printWrapped(plainText(as, textIf(!a.Healthy, "not ")+"healthy"))
		return
	}
	state := plainText(as, s.State)
	state.add(term.AsText, fmt.Sprintf(": memwatchd %s, process %d, up %s", s.Version, s.PID, s.Uptime))
	p.printWrapped(state)
	for _, text := range listFailures(s) {
		p.printHanging("", p.Style(term.AsBad, "!")+" ", 0, plainText(term.AsBad, text))
	}
	p.printRow("root", "%s (%s)", s.Root, s.RootState)
	for _, r := range s.Roots {
		p.printRow("folder", "%s: %s (%s), %s", r.Name, r.Path, r.State, term.Plural(r.Files, "file"))
	}
	for _, socket := range s.Sockets {
		p.printRow("socket", "%s", socket)
	}
	p.printRow("files", "%s, %s, %d skipped, %s", term.Plural(s.Files, "file"), term.Plural(s.Entries, "entry"),
		s.SkippedFiles, term.Plural(s.ProblemCount, "problem"))
	p.printIndex(&s.Index)
	p.printWatch(&s.Watch)
	p.printWriting(&s.Write)
	if s.Todosync != nil {
		p.printTodosync(s.Todosync)
	}
	if s.Compactor != nil {
		p.printCompactor(s.Compactor)
	}
	if s.LLM != nil {
		p.printModel(s.LLM)
	}
	if s.Embed != nil {
		p.printEmbed(s.Embed)
	}
	if s.Topic != nil {
		p.printTopic(s.Topic)
	}
	if s.Share != nil {
		p.printShare(s.Share)
	}
	if p.verbose {
		p.printRow("latency", "save to search %.0f ms (p99 %.0f), query %.1f ms (p99 %.1f)",
			s.Latency.SaveToSearch.P50, s.Latency.SaveToSearch.P99, s.Latency.Query.P50, s.Latency.Query.P99)
		p.printRow("process", "%s of memory, %s, %s", term.FormatBytes(int64(s.MemoryBytes)),
			term.Plural(s.OpenFiles, "open file"), term.Plural(s.Goroutines, "goroutine"))
	}
	listed := firstOf(s.Problems, maxNotices, p.verbose)
	for _, f := range listed {
		p.printProblem(f)
	}
	if n := s.ProblemCount - len(listed); n > 0 {
		p.addHint(term.AsMuted, "%s: run `memwatchd check` for the full list", term.Plural(n, "more problem"))
	}
}

// listFailures returns the current failures, without duplicates.
func listFailures(s *api.Status) []string {
	var list []string
	listed := map[string]bool{"": true}
	add := func(where, text string) {
		if !listed[text] {
			listed[text] = true
			list = append(list, where+": "+text)
		}
	}
	if s.RootState == api.RootMissing {
		add("root", "the directory is missing or unreadable; its entries are still found")
	}
	add("index", s.Index.Problem)
	add("watch", s.Watch.Problem) // may repeat the problem of the index
	add("writing", s.Write.Problem)
	if s.Todosync != nil {
		add("tasks", s.Todosync.Problem)
	}
	if s.Compactor != nil {
		add("tidying", s.Compactor.Problem)
	}
	if s.Topic != nil {
		add("topic", s.Topic.Problem)
	}
	if s.Share != nil {
		add("share", s.Share.Problem)
	}
	return list
}

// printRow shows a name with its text. An empty name continues the row above.
func (p *Printer) printRow(name, format string, args ...any) {
	p.printHanging("", p.Style(term.AsMuted, name)+strings.Repeat(" ", max(11-len(name), 1)), 0,
		plainText(term.AsText, fmt.Sprintf(format, args...)))
}

// andSome returns a further part of a list: a number, or "" for none.
func andSome(n int, noun string) string {
	return textIf(n > 0, fmt.Sprintf(", %d %s", n, noun))
}

// printRows shows a list of continuation rows. Without --verbose it shows only the
// first few.
func (p *Printer) printRows(list []string) {
	shown := firstOf(list, maxNotices, p.verbose)
	for _, text := range shown {
		p.printRow("", "%s", text)
	}
	if n := len(list) - len(shown); n > 0 {
		p.printRow("", "and %d more: status --verbose lists them", n)
	}
}

func (p *Printer) printIndex(x *api.IndexStatus) {
	if !p.verbose && !x.Degraded && x.Total == 0 && x.Pending == 0 {
		return
	}
	p.printRow("index", "revision %d, %d pending, %s%s%s", x.Revision, x.Pending, term.FormatBytes(x.Size),
		textIf(x.Total > 0, fmt.Sprintf(", building %d/%d", x.Done, x.Total)), textIf(x.Degraded, ", degraded"))
}

func (p *Printer) printWatch(w *api.WatchStatus) {
	if !p.verbose && len(w.Polled) == 0 {
		return
	}
	p.printRow("watch", "%s watched%s", term.Plural(w.Directories, "directory"), andSome(len(w.Polled), "polled"))
}

// printWriting shows the state of writing to files and the actions that need a
// person.
func (p *Printer) printWriting(w *api.WriteStatus) {
	p.printRow("writing", "%s made%s%s%s", term.Plural(w.Applied, "change"),
		textIf(!w.Enabled, ", requested writes only"), andSome(len(w.Waiting), "waiting"), andSome(len(w.Refused), "refused"))
	var list []string
	for _, path := range w.ConflictCopies { // first, because only a person can resolve them
		list = append(list, path+": saved copy from the moment of a crash; compare it with the file, then remove it")
	}
	for _, h := range slices.Concat(w.Waiting, w.Refused) {
		list = append(list, h.Path+": "+h.Reason)
	}
	p.printRows(list)
}

func (p *Printer) printTodosync(s *api.TodosyncStatus) {
	switch {
	case s.Off && p.verbose:
		p.printRow("tasks", "disabled")
		return
	case s.Off || !p.verbose && s.Planned+s.Unclear == 0:
		return
	}
	p.printRow("tasks", "%d to tick, %d ambiguous, %d done before", s.Planned, s.Unclear, s.Known)
	var list []string
	for _, w := range s.Waiting {
		list = append(list, w.Path+": waits: "+w.Reason)
	}
	p.printRows(list)
}

// printCompactor shows the schedule of the compactor and the files near their limits.
func (p *Printer) printCompactor(c *api.CompactorStatus) {
	var list []string
	for _, f := range c.NearLimit {
		list = append(list, f.Path+": "+f.Hint)
	}
	if !p.verbose && len(list) == 0 {
		return
	}
	line := "only on request"
	switch {
	case c.Passive:
		line = "done by " + c.Host
	case c.Enabled:
		line = "next at " + c.NextRun.In(p.location).Format(time.DateTime)
		if !c.LastRun.IsZero() {
			line += ", last at " + c.LastRun.In(p.location).Format(time.DateTime)
		}
	}
	p.printRow("tidying", "%s", line)
	p.printRows(list)
}

// printModel shows the language model and its last failure.
func (p *Printer) printModel(m *api.ModelStatus) {
	p.printRow("model", "%s at %s, %s%s%s", m.Model, m.Endpoint, term.Plural(m.Requests, "question"),
		andSome(m.Failed, "failed"), textIf(m.Private, ", including private text"))
	if m.Failure != "" {
		p.printRow("", "%s: %s", m.FailedAt.In(p.location).Format(time.DateTime), m.Failure)
	}
}

// printEmbed shows the state of semantic search and its last failure.
func (p *Printer) printEmbed(e *api.EmbedStatus) {
	p.printRow("meaning", "%s at %s, %s embedded%s%s%s", e.Model, e.Endpoint, term.Plural(e.Embedded, "text"),
		andSome(e.Pending, "pending"), andSome(e.Rejected, "rejected"),
		textIf(e.Private, ", including private text"))
	if e.LastError != "" {
		p.printRow("", "%s: %s", e.FailedAt.In(p.location).Format(time.DateTime), e.LastError)
	}
}

// printTopic shows the state of the ntfy topic.
func (p *Printer) printTopic(s *api.TopicStatus) {
	p.printRow("topic", "%sconnected to %s/%s, %s%s", textIf(!s.Connected, "not "), strings.TrimRight(s.Server, "/"), s.Topic,
		term.Plural(s.Messages, "message"), andSome(s.Refused, "never noted"))
}
