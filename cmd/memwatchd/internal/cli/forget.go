package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// addForgetSteps adds both steps to the forget command: it lists the entries with a
// text, requests consent and removes them. Without a terminal it only lists
// them, unless --yes is set.
func addForgetSteps(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	yes := c.Flags().Bool("yes", false, "remove all listed text without confirmation")
	RejectTogether(c, "yes", "token")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, step := range []string{"ids", "token"} {
			if cmd.Flags().Changed(step) {
				return runOperation(cmd, op, req, g)
			}
		}
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		return a.forgetEntries(cmd, req, *yes)
	}
}

// maxForgetBatch bounds the entries that one request removes.
const maxForgetBatch = 20

func (a *invocation) forgetEntries(cmd *cobra.Command, req *api.Request, yes bool) error {
	for first := true; ; first = false {
		raw, err := a.client.Do(cmd.Context(), req)
		if err != nil {
			return err
		}
		var list api.ForgetAnswer
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("forget: read the answer: %w", err)
		}
		if first && (!a.g.JSON || !yes) {
			if err := a.printResponse(raw); err != nil {
				return err
			}
		}
		var ids []string
		for _, e := range list.Entries {
			if e.ID != "" && len(ids) < maxForgetBatch {
				ids = append(ids, e.ID)
			}
		}
		switch {
		case list.Disabled:
			return nil
		case first && !yes && !confirmRemoval(cmd.InOrStdin(), cmd.ErrOrStderr(), list.Total, len(ids)):
			return nil
		}
		raw, err = a.removeEntries(cmd, req, ids, list.Token)
		if err != nil {
			return err
		}
		var done api.ForgetAnswer
		if err := json.Unmarshal(raw, &done); err != nil {
			return fmt.Errorf("forget: read the answer: %w", err)
		}
		more := slices.ContainsFunc(done.Entries, func(e api.Occurrence) bool { return e.ID != "" })
		if more && len(done.Removed) > 0 {
			continue // more entries than one request can remove
		}
		if err := a.printResponse(raw); err != nil {
			return err
		}
		return answerError(a.op, raw)
	}
}

// removeEntries requests the removal of the listed entries, in the scope of the list.
func (a *invocation) removeEntries(cmd *cobra.Command, list *api.Request, ids []string, token string) (json.RawMessage,
	error) {
	req := a.op.NewRequest()
	for _, p := range a.op.Params {
		var values []string
		switch value, given := list.GivenValue(p); {
		case p.Scope && given:
			values = []string{value}
		case p.Name == "token":
			values = []string{token}
		case p.Name == "ids":
			values = ids
		}
		for _, value := range values {
			if err := req.Set(p, value); err != nil {
				return nil, err
			}
		}
	}
	return a.client.Do(cmd.Context(), req)
}

// confirmRemoval requests consent on the terminal and reports whether it was given.
// Without a terminal it returns false.
func confirmRemoval(in io.Reader, out io.Writer, total, removable int) bool {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(f) || total > 0 && removable == 0 {
		return false
	}
	question := "Permanently remove all listed text from files, archive, journal and index?"
	if total == 0 {
		question = "Permanently remove the text from the journal?"
	}
	return confirm(in, out, question)
}
