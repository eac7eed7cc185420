package cli

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

const watchInterval = 2 * time.Second

// addWatchFlag lets the status command repeat until it is interrupted.
func addWatchFlag(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	watch := c.Flags().BoolP("watch", "w", false, "repeat every 2 seconds: redraw a terminal, or print a line")
	once := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*watch {
			return once(cmd, args)
		}
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		return a.watchStatus(cmd.Context(), req)
	}
}

// watchStatus shows the status until ctx is done. A daemon that does not answer
// may be restarting, so its errors are shown, too.
func (a *invocation) watchStatus(ctx context.Context, req *api.Request) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		raw, err := a.client.Do(ctx, req)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var answer api.StatusAnswer
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err := a.showStatus(raw, &answer, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// showStatus shows one status: as JSON, over the previous one on a terminal, or as
// a line.
func (a *invocation) showStatus(raw json.RawMessage, answer *api.StatusAnswer, failure error) error {
	p := a.out
	now := clock.Now().In(p.reader.Location).Format(time.DateTime)
	var text string
	switch {
	case a.g.JSON && failure != nil:
		text = string(AsJSON(api.Failure{Error: failureOf(failure)}))
	case a.g.JSON:
		text = string(memory.EscapeJSON(raw, false))
	case p.terminal:
		p.println(p.Style(term.AsMuted, now))
		if failure != nil {
			p.printLine(&api.Line{Text: failure.Error(), Style: api.Bad})
		} else {
			p.printText(api.Render(answer, p.reader))
		}
		text = term.Redraw(p.out.String())
	case failure != nil:
		text = now + "  " + term.EscapeLine(failure.Error()) + "\n"
	default:
		text = now + "  " + term.EscapeLine(answer.Summary()) + "\n"
	}
	p.out.Reset()
	p.hints.Reset()
	_, err := io.WriteString(p.w, text)
	return err
}
