package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/ipc"
)

func (p *printer) status(b *strings.Builder, a *ipc.StatusAnswer) {
	state := p.style(asTitle, "healthy")
	if !a.Healthy {
		state = p.style(asBad, "not healthy")
	}
	s := a.Status
	if s == nil {
		fmt.Fprintln(b, state)
		return
	}
	fmt.Fprintf(b, "%s: memwatchd %s, process %d, up %s\n", state, escapeLine(s.Version), s.PID, escapeLine(s.Uptime))
	p.row(b, "root", "%s (%s)", s.Root, s.RootState)
	for _, socket := range s.Sockets {
		p.row(b, "socket", "%s", socket)
	}
	p.row(b, "files", "%s, %s, %d skipped, %s", plural(s.Files, "file"), plural(s.Entries, "entry"), s.SkippedFiles, plural(s.ProblemCount, "problem"))
	index := fmt.Sprintf("revision %d, %d pending, %s", s.Index.Revision, s.Index.Pending, bytesOf(s.Index.Size))
	if s.Index.Total > 0 {
		index += fmt.Sprintf(", building %d/%d", s.Index.Done, s.Index.Total)
	}
	if s.Index.Degraded {
		index += ", degraded"
	}
	p.row(b, "index", "%s", index)
	if s.Index.Problem != "" {
		p.row(b, "", "%s", s.Index.Problem)
	}
	watch := plural(s.Watch.Directories, "directory") + " watched"
	if len(s.Watch.Polled) > 0 {
		watch += fmt.Sprintf(", %d polled", len(s.Watch.Polled))
	}
	p.row(b, "watch", "%s", watch)
	if s.Watch.Problem != "" {
		p.row(b, "", "%s", s.Watch.Problem)
	}
	p.writing(b, s)
	if s.Todosync != nil {
		p.todosync(b, s.Todosync)
	}
	if s.LLM != nil {
		p.model(b, s.LLM)
	}
	if s.Topic != nil {
		p.heard(b, s.Topic)
	}
	p.row(b, "latency", "save to search %.0f ms (p99 %.0f), query %.1f ms (p99 %.1f)",
		s.Latency.SaveToSearch.P50, s.Latency.SaveToSearch.P99, s.Latency.Query.P50, s.Latency.Query.P99)
	p.row(b, "process", "%s of memory, %s, %s", bytesOf(int64(s.MemoryBytes)),
		plural(s.OpenFiles, "open file"), plural(s.Goroutines, "goroutine"))
	for _, f := range s.Problems {
		p.problem(b, f)
	}
}

// writing says how writing to files is going, and what a person may do about it.
func (p *printer) writing(b *strings.Builder, s *ipc.Status) {
	w := s.Write
	line := plural(w.Applied, "change") + " made"
	if !w.Enabled {
		line += ", none that nobody asked for"
	}
	if n := len(w.Waiting); n > 0 {
		line += fmt.Sprintf(", %d waiting", n)
	}
	if n := len(w.Refused); n > 0 {
		line += fmt.Sprintf(", %d refused", n)
	}
	p.row(b, "writing", "%s", line)
	if w.Problem != "" {
		p.row(b, "", "%s", w.Problem)
	}
	for _, h := range slices.Concat(w.Waiting, w.Refused) {
		p.row(b, "", "%s: %s", h.Path, h.Reason)
	}
	for _, path := range w.Kept {
		p.row(b, "", "%s: what was saved at the moment of a crash; compare it with the file, then remove it", path)
	}
	c := s.Compactor
	if c == nil {
		return
	}
	switch {
	case c.Passive:
		line = "done by " + c.Host
	case !c.Enabled:
		line = "only on request"
	default:
		line = "next at " + c.NextRun.In(p.zone()).Format(time.DateTime)
		if !c.LastRun.IsZero() {
			line += ", last at " + c.LastRun.In(p.zone()).Format(time.DateTime)
		}
	}
	p.row(b, "tidying", "%s", line)
	if c.Problem != "" {
		p.row(b, "", "%s", c.Problem)
	}
	for _, f := range c.NearLimit {
		p.row(b, "", "%s: %s", f.Path, f.Hint)
	}
}

// model says which model is asked, and what was wrong the last time.
func (p *printer) model(b *strings.Builder, m *ipc.ModelStatus) {
	line := fmt.Sprintf("%s at %s, %s", m.Model, m.Endpoint, plural(m.Asked, "question"))
	if m.Failed > 0 {
		line += fmt.Sprintf(", %d failed", m.Failed)
	}
	if m.Private {
		line += ", sees private text"
	}
	p.row(b, "model", "%s", line)
	if m.Failure != "" {
		p.row(b, "", "%s: %s", m.FailedAt.In(p.zone()).Format(time.DateTime), m.Failure)
	}
}

// problem is one line that editors can open.
func (p *printer) problem(b *strings.Builder, f ipc.FileProblem) {
	where := "memwatchd"
	if f.Path != "" {
		where = p.place(f.Path, f.Line)
	}
	fmt.Fprintf(b, "%s: %s %s\n", where, escapeLine(f.Message), p.style(asMuted, "["+escapeLine(f.Code)+"]"))
}
