package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

const watchInterval = 2 * time.Second

// addWatchFlag lets a command repeat until it is interrupted. A daemon that does not
// answer may be restarting, so its errors are shown, too.
func addWatchFlag(c *cobra.Command, g *Globals) {
	watch := c.Flags().BoolP("watch", "w", false, "repeat every 2 seconds, on a terminal in place of the last answer")
	once := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*watch {
			return once(cmd, args)
		}
		for tick := time.Tick(watchInterval); ; {
			if term.IsTerminal(g.Stdout) && !g.JSON {
				fmt.Fprint(g.Stdout, term.Clear)
			}
			err := once(cmd, args)
			switch _, usage := errors.AsType[UsageError](err); {
			case usage:
				return err
			case err != nil && !errors.Is(err, ErrUnhealthy) && cmd.Context().Err() == nil:
				fmt.Fprintln(g.Stderr, term.EscapeLine(err.Error()))
			}
			select {
			case <-cmd.Context().Done():
				return context.Cause(cmd.Context())
			case <-tick:
			}
		}
	}
}
