package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// ErrNotWritten reports that a command has only shown its plan.
var ErrNotWritten = errors.New("nothing was changed; to make these changes, add --write")

// addPlanSteps lets a command that can change many files show its plan first, as
// with --dry-run. It then makes the changes after consent on the terminal, or at
// once with --write.
func addPlanSteps(c *cobra.Command) flow {
	write := c.Flags().Bool("write", false, "make the changes without showing them first")
	rejectTogether(c, "write", "dry-run")
	return func(a *invocation, _ []string) error {
		if a.op.Name == "undo" {
			if err := a.selectChange(); err != nil {
				return err
			}
		}
		if *write || a.cmd.Flags().Changed("dry-run") {
			return a.run()
		}
		return a.planAndRun()
	}
}

// planAndRun shows the plan of a request and executes the request after consent.
// It needs no consent to undo one change that the command line selects by its id.
func (a *invocation) planAndRun() error {
	if err := a.req.SetNamed("dry_run", "true"); err != nil {
		return err
	}
	raw, err := a.client.Do(a.cmd.Context(), a.req)
	if err != nil {
		return err
	}
	if err := a.req.SetNamed("dry_run", "false"); err != nil {
		return err
	}
	plan, err := decodeAnswer(a.op, raw)
	if err != nil {
		return err
	}
	changes := api.Render(plan, api.Reader{}).Changes
	if changes > 1 || a.op.Name != "undo" || !a.selected {
		outcome, err := a.printResponse(raw)
		switch {
		case err != nil:
			return err
		case changes == 0:
			return outcome
		case a.g.JSON || !term.IsTerminal(a.cmd.InOrStdin()):
			return ErrNotWritten
		case !confirm(a.cmd, "Make these changes?"):
			return nil
		}
	}
	return a.run()
}

// showProgress shows the progress of the index until the returned function is called.
func (a *invocation) showProgress(ctx context.Context) (clearBar func()) {
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		term.ShowProgress(ctx, a.g.Stderr, func() (done, total int, more bool) {
			if s, err := client.Call(ctx, a.client, api.StatusRequest{}); err == nil && s.Status != nil {
				done, total = s.Index.Done, s.Index.Total
			}
			return done, total, true
		})
	})
	return func() { cancel(); shown.Wait() }
}

// selectChange selects the newest requested change that is not undone, if the
// request to undo selects none. Automatic changes of the daemon are left out.
func (a *invocation) selectChange() error {
	req := a.req
	_, hasID := req.GivenValue("id")
	_, hasSince := req.GivenValue("since")
	typed, _ := req.GivenValue("mine")
	mine := typed == "true"
	a.selected = hasID
	switch {
	case hasID && hasSince:
		return Usagef("undo: --since has no effect with the id of a change: omit one of them")
	case hasID || hasSince:
		return nil
	}
	if mine { // the id selects a change
		if err := req.SetNamed("mine", "false"); err != nil {
			return err
		}
	}
	answer, err := client.Call(a.cmd.Context(), a.client, api.JournalRequest{Limit: 100, Mine: mine})
	if err != nil {
		return err
	}
	for _, w := range answer.Writes {
		if w.State == "done" && len(w.Undoes) == 0 && !w.Automatic && !w.External {
			return req.SetNamed("id", w.ID)
		}
	}
	none := "there is no change to undo (an automatic change needs its id: run `memwatchd journal`)"
	if mine {
		none = "there is no change of this terminal to undo: run `memwatchd journal` to list all changes"
	}
	return errors.New(nameMemory(none, a.cmd))
}

// ReadAnswer returns a line that the user types. It returns the cause of the context's end
// if that comes first, as after Ctrl-C.
func ReadAnswer(ctx context.Context, lines *bufio.Reader) (line string, err error) {
	type answer struct {
		line string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		line, err := lines.ReadString('\n')
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// confirm requests consent on the terminal and reports whether it was given.
func confirm(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	line, err := ReadAnswer(cmd.Context(), bufio.NewReader(cmd.InOrStdin()))
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
