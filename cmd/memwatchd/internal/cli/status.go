package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

const watchInterval = 2 * time.Second

// addStatus lets the command status repeat until it is interrupted. A daemon that does not
// answer may be restarting, so its errors are shown, too.
func addStatus(c *cobra.Command) flow {
	watch := c.Flags().BoolP("watch", "w", false, "repeat every 2 seconds, on a terminal in place of the last answer")
	return func(a *invocation, _ []string) error {
		if !*watch {
			return a.showStatus()
		}
		for tick := time.Tick(watchInterval); ; {
			if term.IsTerminal(a.g.Stdout) && !a.g.JSON {
				fmt.Fprint(a.g.Stdout, term.Clear)
			}
			err := a.showStatus()
			switch _, usage := errors.AsType[UsageError](err); {
			case usage:
				return err
			case err != nil && !errors.Is(err, ErrUnhealthy) && a.cmd.Context().Err() == nil:
				fmt.Fprintln(a.g.Stderr, term.EscapeLine(err.Error()))
			}
			select {
			case <-a.cmd.Context().Done():
				return context.Cause(a.cmd.Context())
			case <-tick:
			}
		}
	}
}

// showStatus shows the status of the daemon, and the number of statements of hooks that wait
// for it, in JSON as the member waiting_statements. A status for a subject or in public
// contains the health only.
func (a *invocation) showStatus() error {
	waiting := 0
	if a.g.Waiting != nil && a.g.Subject == "" && cmp.Or(a.g.Context, "private") == "private" {
		waiting = a.g.Waiting(a.client)
	}
	if waiting > 0 && !a.g.JSON {
		fmt.Fprintf(a.g.Stderr, "memwatchd: %s of hooks not saved yet: the start of the next session saves them once the daemon answers\n",
			api.Plural(waiting, "statement"))
	}
	raw, err := a.client.Do(a.cmd.Context(), a.req)
	if err != nil {
		if errors.Is(err, client.ErrNoDaemon) && a.g.Socket == "" && a.g.namesDir {
			err = fmt.Errorf("%w; other commands, such as search, start a daemon in the background", err)
		}
		return err
	}
	if object, ok := bytes.CutSuffix(raw, []byte("}\n")); ok && waiting > 0 {
		raw = fmt.Appendf(nil, "%s,\"waiting_statements\":%d}\n", object, waiting)
	}
	var answer api.StatusAnswer
	if json.Unmarshal(raw, &answer) == nil && answer.Status != nil && answer.Version != build.Version() {
		a.client.Older(client.ErrOlder)
	}
	outcome, err := a.printResponse(raw)
	return cmp.Or(err, outcome)
}
