package cli

import (
	"context"
	"embed"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// The tags of a parameter define its completions: fixed values, or names that
// the daemon provides. The shell runs the program with the current words.

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace
)

// isCompletion reports whether a shell runs the program for completion.
func isCompletion(args []string) bool {
	return len(args) > 0 &&
		slices.Contains([]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0])
}

// CompleteFlag sets the completion of a flag if the command line requests completions
// or is unknown. Otherwise it does nothing, because cobra never frees a completion.
func (g *Globals) CompleteFlag(c *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if g.Args != nil && !isCompletion(g.Args) {
		return
	}
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // no such flag, or two completions
	}
}

// noInput replaces standard input during completion, because the input of the
// shell is not meant for the program.
type noInput struct{}

// Read implements [io.Reader].
func (noInput) Read([]byte) (int, error) { return 0, io.EOF }

// completeGlobals registers the completions of the global flags.
func completeGlobals(root *cobra.Command, g *Globals) {
	root.CompletionOptions.SetDefaultShellCompDirective(noFiles)
	for flag, complete := range map[string]cobra.CompletionFunc{
		"context": CompleteWords(Contexts...),
		"config":  cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"dir":     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"socket":  cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		"subject": func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return g.requestNames(cmd, nil, "subject", typed)
		},
	} {
		g.CompleteFlag(root, flag, complete)
	}
}

// Contexts are the values of --context.
var Contexts = []string{"private", "public", "unknown"}

// CompleteWords returns a completion function for one of several words, or for a list
// of them: it completes the text after the last comma.
func CompleteWords(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, w := range words {
			if strings.HasPrefix(before+w, typed) {
				names = append(names, before+w)
			}
		}
		return names, noFiles
	}
}

func completeArguments(op *api.Operation, form *api.Command, req *api.Request, g *Globals) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		for i, p := range Arguments(op, form) {
			if i == len(args) || i < len(args) && p.Arg == "rest" {
				names, directive := g.completeParam(cmd, p, req, typed)
				// A file name must not become a flag.
				return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }),
					directive
			}
		}
		return nil, noFiles
	}
}

func completeFlag(p *api.Param, req *api.Request, g *Globals) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return g.completeParam(cmd, p, req, typed)
	}
}

// completeParam completes a parameter. In a list it completes the text after the last
// comma.
func (g *Globals) completeParam(cmd *cobra.Command, p *api.Param, req *api.Request, typed string) ([]string,
	cobra.ShellCompDirective) {
	if !slices.Contains(completed, p.Complete) {
		return CompleteWords(p.Enum...)(cmd, nil, typed)
	}
	before := ""
	if p.Kind() == "strings" && p.Arg == "" {
		before = typed[:strings.LastIndexByte(typed, ',')+1]
	}
	names, directive := g.requestNames(cmd, req, p.Complete, typed[len(before):])
	for i := range names {
		names[i] = before + names[i]
	}
	return names, directive
}

// completed are the kinds of names that the daemon completes.
var completed = []string{"path", "subject", "session", "section", "tag"}

// NamesTimeout bounds the time for names from the daemon, because the user
// continues typing. If the daemon fails or does not answer in time, there are
// no names and no error message.
var NamesTimeout = 300 * time.Millisecond

// WithoutSync requests an answer without waiting for the latest changes.
var WithoutSync = api.Fresh{Sync: new(bool)}

// requestNames requests the names of a kind in the scope of the flags. Paths are
// completed one directory at a time.
func (g *Globals) requestNames(cmd *cobra.Command, req *api.Request, kind, typed string) (names []string,
	directive cobra.ShellCompDirective) {
	directive = noFiles
	_, c, err := g.Connect(cmd)
	if err != nil {
		return nil, directive
	}
	if req != nil && c.Scope.Subject == nil {
		c.Scope.ExternalKey = req.Scope().ExternalKey
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), NamesTimeout)
	defer cancel()
	answer, err := client.Call(ctx, c, api.CompleteRequest{What: kind, Prefix: typed, Steps: kind == "path",
		Limit: 1000, Fresh: WithoutSync})
	if err != nil {
		return nil, directive
	}
	for _, name := range answer.Values {
		// Shells read one name per line and trim it.
		if name == strings.TrimSpace(name) && name == term.EscapeLine(name) {
			names = append(names, name)
		}
		if kind == "path" && strings.HasSuffix(name, "/") {
			directive = noFiles | noSpace // a path below the directory follows
		}
	}
	return names, directive
}

// shellScripts are the completion scripts. The scripts that cobra generates
// lose names with spaces, colons or quotation marks, and execute the typed
// text.
//
//go:embed shell
var shellScripts embed.FS

// newCompletion returns the command that prints a completion script. The script
// runs the program itself: __complete, which belongs to cobra.
func newCompletion(g *Globals) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return AcceptGlobals(&cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for a shell", GroupID: "shell",
		Long: "Print the completion script for a shell. To have it in every new one:\n\n" +
			"bash:\n" +
			"  mkdir -p ~/.local/share/bash-completion/completions\n" +
			"  memwatchd completion bash > ~/.local/share/bash-completion/completions/memwatchd\n" +
			"zsh, with ~/.zfunc in $fpath before compinit:\n" +
			"  mkdir -p ~/.zfunc\n" +
			"  memwatchd completion zsh > ~/.zfunc/_memwatchd\n" +
			"fish:\n" +
			"  mkdir -p ~/.config/fish/completions\n" +
			"  memwatchd completion fish > ~/.config/fish/completions/memwatchd.fish",
		ValidArgs: shells,
		Args:      OneArg("completion: name a shell: bash, zsh or fish"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := config.CheckOneOf(args[0], shells); err != nil {
				return Usagef("completion: %w", err)
			}
			script, err := shellScripts.ReadFile("shell/memwatchd." + args[0])
			if err != nil {
				return err
			}
			_, err = g.Stdout.Write(script)
			return err
		},
	})
}
