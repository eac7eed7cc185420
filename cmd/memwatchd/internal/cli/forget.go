package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// addForgetSteps adds both steps to the forget command: it lists the entries with a
// text, lets the user choose some of them, and removes these. Without a terminal it only lists
// them, unless --yes is set: as text, this is an error, which contains the command
// for the removal of a few entries that memwatchd wrote; as JSON, it is the answer, which
// contains the token and the ids.
func addForgetSteps(c *cobra.Command) flow {
	yes := c.Flags().Bool("yes", false, fmt.Sprintf("remove all listed text without confirmation, if memwatchd wrote "+
		"all of it and there are at most %d entries", api.MaxUnchosen))
	rejectTogether(c, "yes", "token")
	return func(a *invocation, _ []string) error {
		if a.cmd.Flags().Changed("ids") || a.cmd.Flags().Changed("token") {
			return a.run()
		}
		return a.forgetEntries(*yes)
	}
}

// forgetEntries lists the matching entries and removes those that the user chooses. With yes
// it removes all, if they are few and memwatchd wrote them.
func (a *invocation) forgetEntries(yes bool) error {
	cmd := a.cmd
	list, raw, err := requestAnswer[api.ForgetAnswer](cmd.Context(), a, a.req)
	if err != nil {
		return err
	}
	var ids []string
	ours := list.Total <= len(list.Entries) // memwatchd wrote all entries, and they are few
	for _, e := range list.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
			ours = ours && e.Writer == api.WrittenHere && len(ids) <= api.MaxUnchosen
		}
	}
	if !a.g.JSON || !yes {
		if _, err := a.printResponse(raw); err != nil {
			return err
		}
	}
	switch onTerminal := term.IsTerminal(cmd.InOrStdin()) && !a.g.JSON; {
	case list.Disabled, !yes && list.Total > 0 && len(ids) == 0: // nothing that can be removed from here
		return nil
	case !yes && !onTerminal && (list.Total == 0 || a.g.JSON): // in JSON, the answer contains what a removal needs
		return nil
	case !ours && (yes || !onTerminal):
		return fmt.Errorf("nothing was removed, because without a choice at a terminal at most %d entries are removed, and "+
			"only what memwatchd wrote; narrow the words, or run the command without --yes at a terminal", api.MaxUnchosen)
	case !yes && !onTerminal:
		return fmt.Errorf("nothing was removed; to remove %s, run %s", api.Plural(len(ids), "entry"),
			removalCommand(cmd, ids, list.Token))
	case yes:
	case list.Total == 0:
		if !confirm(cmd, "Permanently remove the text from the journal?") {
			return nil
		}
	default:
		ids, err = chooseEntries(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), ids)
		if err != nil || len(ids) == 0 {
			return err
		}
	}
	a.req = api.RequestOf(api.ForgetRequest{IDs: ids, Token: list.Token, Scope: a.req.Scope()})
	return a.run()
}

// noEntries are the words that choose nothing.
var noEntries = []string{"n", "no", "none", "q", "quit"}

// chooseEntries lets the user choose entries by their numbers, and returns their ids.
func chooseEntries(ctx context.Context, in io.Reader, out io.Writer, ids []string) ([]string, error) {
	lines := bufio.NewReader(in)
	for {
		fmt.Fprint(out, "Permanently remove from files, archive, journal and index (numbers, all, or none): ")
		line, err := ReadAnswer(ctx, lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		answer := strings.ToLower(strings.TrimSpace(line))
		if answer == "all" {
			return ids, nil
		}
		if slices.Contains(noEntries, answer) {
			return nil, nil
		}
		var chosen []string
		bad := ""
		for _, word := range strings.FieldsFunc(line,
			func(r rune) bool { return r == ',' || r == '，' || unicode.IsSpace(r) }) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > len(ids) {
				bad = word
				break
			}
			chosen = append(chosen, ids[n-1])
		}
		if bad == "" {
			return chosen, nil
		}
		fmt.Fprintf(out, "%q is not a number from 1 to %d\n", bad, len(ids))
		if err != nil {
			return nil, nil
		}
	}
}

// removalCommand returns the command that removes listed entries of the memory and the
// scope that the flags select.
func removalCommand(cmd *cobra.Command, ids []string, token string) string {
	words := strings.Fields(cmd.CommandPath())
	words = append(words, changedFlags(cmd.InheritedFlags())...)
	words = append(words, "--token="+token)
	for _, id := range ids {
		words = append(words, "--ids="+id)
	}
	return term.ShellLine(words...)
}
