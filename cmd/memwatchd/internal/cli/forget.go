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
// them, unless --yes is set: as text, this is an error that contains the command
// for the removal; as JSON, it is the answer, which contains the token and the ids.
func addForgetSteps(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	yes := c.Flags().Bool("yes", false, fmt.Sprintf("remove all listed text without confirmation, if memwatchd wrote "+
		"all of it and there are at most %d entries", maxUnchosen))
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

// maxUnchosen bounds the entries that --yes removes.
const maxUnchosen = 10

func (a *invocation) forgetEntries(cmd *cobra.Command, req *api.Request, yes bool) error {
	list, raw, err := requestAnswer[api.ForgetAnswer](cmd.Context(), a, req)
	if err != nil {
		return err
	}
	var all, ours []string // ids
	for _, e := range list.Entries {
		if e.ID != "" {
			all = append(all, e.ID)
		}
		if e.ID != "" && e.Writer == api.WrittenHere {
			ours = append(ours, e.ID)
		}
	}
	refused := yes && (len(ours) < len(all) || len(all) > maxUnchosen || list.Total > len(list.Entries))
	if !a.g.JSON || !yes {
		if err := a.printResponse(raw); err != nil {
			return err
		}
	}
	ids := all
	switch interactive := term.IsTerminal(cmd.InOrStdin()) && !a.g.JSON; {
	case list.Disabled:
		return nil
	case !yes && list.Total > 0 && len(all) == 0:
		return nil // nothing that can be removed from here
	case refused && len(ours) < len(all):
		return fmt.Errorf("nothing was removed, because memwatchd did not write %s; %s",
			api.Plural(len(all)-len(ours), "entry"), chooseByID(cmd, all, ours, list.Token))
	case refused:
		return fmt.Errorf("nothing was removed, because --yes removes at most %s; %s", api.Plural(maxUnchosen, "entry"),
			chooseByID(cmd, all, ours, list.Token))
	case !yes && !interactive:
		if list.Total == 0 || a.g.JSON { // in JSON, the answer contains what a removal needs
			return nil
		}
		return fmt.Errorf("nothing was removed; %s", chooseByID(cmd, all, ours, list.Token))
	case !yes && list.Total == 0:
		if !confirm(cmd, "Permanently remove the text from the journal?") {
			return nil
		}
	case !yes:
		ids, err = chooseEntries(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), all)
		if err != nil || len(ids) == 0 {
			return err
		}
	}
	removal := api.ForgetRequest{IDs: ids, Token: list.Token, Scope: req.Scope()}
	_, raw, err = requestAnswer[api.ForgetAnswer](cmd.Context(), a, api.RequestOf(removal))
	if err != nil {
		return err
	}
	if err := a.printResponse(raw); err != nil {
		return err
	}
	return answerError(a.op, raw)
}

// chooseByID returns the advice to remove entries by their ids: those that memwatchd wrote, if
// others are listed too.
func chooseByID(cmd *cobra.Command, all, ours []string, token string) string {
	if len(ours) == 0 || len(ours) == len(all) {
		return fmt.Sprintf("to remove %s, run %s", api.Plural(len(all), "entry"), removalCommand(cmd, all, token))
	}
	return fmt.Sprintf("to remove only what memwatchd wrote, run %s; add --ids of other entries to remove these too",
		removalCommand(cmd, ours, token))
}

// chooseEntries lets the user choose entries by their numbers, and returns their ids.
func chooseEntries(ctx context.Context, in io.Reader, out io.Writer, ids []string) ([]string, error) {
	lines := bufio.NewReader(in)
	for {
		fmt.Fprint(out, "Permanently remove from files, archive, journal and index (1,3-5, all; empty: none): ")
		line, err := ReadAnswer(ctx, lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		chosen, bad := parseChoice(line, len(ids))
		if bad == "" {
			var list []string
			for _, n := range chosen {
				list = append(list, ids[n-1])
			}
			return list, nil
		}
		fmt.Fprintf(out, "%q is not a number or a range from 1 to %d\n", bad, len(ids))
		if err != nil {
			return nil, nil
		}
	}
}

// parseChoice returns the chosen numbers from 1 to n, each once, or the first invalid part.
// A no, as for other questions, chooses none.
func parseChoice(line string, n int) (chosen []int, bad string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == '，' || unicode.IsSpace(r) })
	if len(words) == 1 && slices.Contains([]string{"n", "no", "none"}, strings.ToLower(words[0])) {
		return nil, ""
	}
	for _, word := range words {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		if strings.EqualFold(word, "all") {
			first, last = "1", strconv.Itoa(n)
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 1 || to < from || to > n {
			return nil, word
		}
		for i := from; i <= to; i++ {
			if !slices.Contains(chosen, i) {
				chosen = append(chosen, i)
			}
		}
	}
	return chosen, ""
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
