package cli

import (
	"errors"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

// showsSummary reports whether a request to store a summary has neither a text nor
// evidence, so that the stored summary is shown.
func (a *invocation) showsSummary() bool {
	isGiven := func(name string) bool { _, given := a.req.GivenValue(name); return given }
	return (a.op.Name == "profile" || a.op.Name == "project") && !isGiven("text") && !isGiven("evidence") &&
		!isGiven("external_key")
}

type storedSummary struct {
	Name     string   `json:"name"`
	Text     string   `json:"text"`
	Evidence []string `json:"evidence"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
}

// showSummary shows the stored summaries of the subject, or the one with the name of
// the request.
func (a *invocation) showSummary() error {
	subject := a.owner
	if s := a.client.Scope.Subject; s != nil {
		subject = *s
	}
	name, named := a.req.GivenValue("name")
	shown := []storedSummary{}
	for _, v := range []memory.Visibility{memory.PrivateOnly, memory.PublicOK} {
		path := memory.SummaryPath(subject, api.TextIf(a.op.Name == "project", "project"), "", v)
		file, err := client.Call(a.cmd.Context(), a.client, api.GetRequest{Path: path})
		failure, ok := errors.AsType[*api.Error](err)
		switch {
		case ok && failure.Code == api.NotFound:
			continue
		case err != nil:
			return err
		}
		doc := new(memory.Layout).Parse(path, []byte(file.Text), memory.Meta{})
		for i := range doc.Entries {
			e := &doc.Entries[i]
			if e.IsSummary() && (!named || memory.Fold(e.Title) == memory.Fold(name)) {
				shown = append(shown, storedSummary{e.Title, e.SummaryText(), e.Evidence, path, e.Line})
			}
		}
	}
	if a.g.JSON {
		_, err := a.g.Stdout.Write(AsJSON(map[string]any{"summaries": shown}))
		return err
	}
	for _, s := range shown {
		a.out.printLine(&api.Line{Path: s.Path, Line: s.Line, Notes: []string{s.Name}})
		a.out.printLine(&api.Line{Depth: 2, Text: s.Text})
	}
	if len(shown) == 0 {
		a.out.addHint(term.AsMuted, "no summary is stored; to store one, add its text and --evidence")
	}
	if err := a.out.flush(); err != nil {
		return err
	}
	if len(shown) == 0 {
		return ErrNothing
	}
	return nil
}
