package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// addForgetSteps adds both steps to the forget command: it lists the entries with a
// text, requests consent and removes them. Without a terminal it only lists
// them, unless --yes is set: as text, this is an error that contains the command
// for the removal; as JSON, it is the answer, which contains the token and the ids.
func addForgetSteps(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	yes := c.Flags().Bool("yes", false, "remove all listed text without confirmation")
	RejectTogether(c, "yes", "token")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("ids") || cmd.Flags().Changed("token") {
			return runOperation(cmd, op, req, g)
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
		list, raw, err := requestAnswer[api.ForgetAnswer](cmd.Context(), a, req)
		if err != nil {
			return err
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
		case first && !yes && list.Total > 0 && len(ids) == 0:
			return nil // nothing that can be removed from here
		case first && !yes && !term.IsTerminal(cmd.InOrStdin()):
			if list.Total == 0 || a.g.JSON { // in JSON, the answer contains what a removal needs
				return nil
			}
			return fmt.Errorf("nothing was removed; to remove %s, run %s", term.Plural(len(ids), "entry"),
				removalCommand(cmd, ids, list.Token))
		case first && !yes && !confirmRemoval(cmd.InOrStdin(), cmd.ErrOrStderr(), list.Total):
			return nil
		}
		removal := api.ForgetRequest{IDs: ids, Token: list.Token, Scope: req.Scope()}
		done, raw, err := requestAnswer[api.ForgetAnswer](cmd.Context(), a, api.RequestOf(removal))
		if err != nil {
			return err
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

// removalCommand returns the command that removes listed entries of the memory and the
// scope that the flags select.
func removalCommand(cmd *cobra.Command, ids []string, token string) string {
	words := strings.Fields(cmd.CommandPath())
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "json" {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	words = append(words, "--token="+token)
	for _, id := range ids {
		words = append(words, "--ids="+id)
	}
	return term.ShellLine(words...)
}

// confirmRemoval requests consent on the terminal and reports whether it was given.
func confirmRemoval(in io.Reader, out io.Writer, total int) bool {
	question := "Permanently remove all listed text from files, archive, journal and index?"
	if total == 0 {
		question = "Permanently remove the text from the journal?"
	}
	return confirm(in, out, question)
}
