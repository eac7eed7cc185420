package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"

	fzf "github.com/junegunn/fzf/src"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// addFind makes a command search while the query is typed. The command search does
// so too, without a query and flags on a terminal.
func addFind(c *cobra.Command, list flow) flow {
	return func(a *invocation, args []string) error {
		onTerminal := term.IsTerminal(a.cmd.InOrStdin()) && term.IsTerminal(a.g.Stdout) &&
			os.Getenv("TERM") != "" && os.Getenv("TERM") != "dumb"
		if c.Name() == "search" {
			plain := !onTerminal || a.g.JSON || len(args) > 0
			a.cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { plain = plain || f.Changed })
			if plain {
				return list(a, args)
			}
		}
		switch {
		case a.g.JSON:
			return Usagef("find has no JSON output: use `memwatchd search --json`")
		case !onTerminal:
			return Usagef("find needs a terminal: use `memwatchd search`")
		}
		return a.find()
	}
}

// find runs fzf on the output of search and opens the chosen place in the editor. The
// first request starts the daemon and reports errors, which fzf would not show.
func (a *invocation) find() error {
	cmd, req := a.cmd, a.req
	query, _ := req.GivenValue("query")
	for name, value := range map[string]string{"count": "false", "sync": "false", "limit": "1"} {
		if err := req.SetNamed(name, value); err != nil {
			return err
		}
	}
	if _, err := a.client.Do(cmd.Context(), req); err != nil {
		return err
	}
	program, err := InvokedPath()
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	if a.out.color {
		if err := os.Setenv("CLICOLOR_FORCE", "1"); err != nil { // for the searches of fzf
			return fmt.Errorf("find: %w", err)
		}
	}
	memory, filters := changedFlags(cmd.InheritedFlags()), changedFlags(cmd.LocalNonPersistentFlags())
	command := term.ShellLine(append([]string{program}, memory...)...)
	search := "reload:" + command + " search --typing --vimgrep --limit 50 --sync=false --count=false " +
		term.ShellLine(filters...) + " -- {q} 2>/dev/null || :"
	options, err := fzf.ParseOptions(true, []string{"--disabled", "--ansi", "--layout=reverse", "--query=" + query,
		"--header=Enter opens, Esc leaves", "--no-multi", "--delimiter=:", "--with-shell=sh -c",
		"--bind=start:" + search, "--bind=change:" + search,
		"--preview=" + command + " get --sync=false -- {1} 2>&1",
		"--preview-window=right,50%,wrap,+{2}-/3,<60(down,60%,wrap,+{2}-/3)"})
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	chosen := ""
	options.Printer = func(line string) { chosen = line }
	if _, err := fzf.Run(options); err != nil {
		return fmt.Errorf("find: %w", err)
	}
	place := vimgrepPlace().FindStringSubmatch(chosen)
	switch {
	case cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	case place == nil:
		return nil
	}
	line, _ := strconv.Atoi(place[2])
	path, _, _ := resolvePlace(a.out.memory, place[1])
	return openFile(cmd, a.out.memory, path, line)
}

// changedFlags returns the flags of a command line as arguments of another command.
func changedFlags(flags *pflag.FlagSet) (words []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

// vimgrepPlace matches the place of a line of --vimgrep.
var vimgrepPlace = lazyregexp.New(`^(.*?):(\d+):\d+:`)
