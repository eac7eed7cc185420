package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
)

// What may stand where somebody types is told by the tags of the parameters:
// those values that there are, or the names of something, for which the daemon is
// asked. A shell calls the program with what stands there so far.

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace
)

// isCompletion reports whether a shell asks, rather than a person.
func isCompletion(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd, bashRequest}, args[0])
}

// noInput stands for the standard input while a shell asks: what comes there is
// not for us.
type noInput struct{}

// Read implements [io.Reader].
func (noInput) Read([]byte) (int, error) { return 0, io.EOF }

// completeGlobals says what may stand behind the flags that every command has.
func completeGlobals(root *cobra.Command, g *Globals) {
	root.CompletionOptions.SetDefaultShellCompDirective(noFiles)
	for flag, complete := range map[string]cobra.CompletionFunc{
		"context": CompleteWords(Contexts...),
		"config":  cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"dir":     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"socket":  cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		"name":    configured,
		"subject": func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return (&naming{g: g, cmd: cmd}).names("subject", typed)
		},
	} {
		if err := root.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // a mistake of ours: every test would hit it
		}
	}
}

// Contexts are those in which something may be asked.
var Contexts = []string{"private", "public", "unknown"}

// CompleteWords completes what can only be one of some words.
func CompleteWords(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, typed) }), noFiles
	}
}

// configured are the names of memories that have a configuration.
func configured(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	files, _ := filepath.Glob(filepath.Join(xdg.ConfigHome, "memwatchd", "*.yaml"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	return names, noFiles
}

// completeArguments says what may stand where an argument of a command is typed.
func completeArguments(op *api.Operation, way *api.Command, req *api.Request, g *Globals) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		for i, p := range Arguments(op, way) {
			if i == len(args) || i < len(args) && p.Arg == "rest" {
				n := naming{g: g, cmd: cmd, way: way, req: req, args: args[:i], words: args[i:]}
				names, directive := n.param(p, typed)
				// What a task or a file is called is not to become a flag.
				return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }), directive
			}
		}
		return nil, noFiles
	}
}

// completeFlag says what may stand behind a flag of a command.
func completeFlag(p *api.Param, way *api.Command, req *api.Request, g *Globals) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		n := naming{g: g, cmd: cmd, way: way, req: req, args: args}
		return n.param(p, typed)
	}
}

// A naming looks for what may stand in one place of a command line.
type naming struct {
	g     *Globals
	cmd   *cobra.Command
	way   *api.Command
	req   *api.Request // with the flags that are there
	args  []string     // the arguments before this one
	words []string     // those of this one, if it may have several, before the one that is typed
}

// param completes a parameter: in a list, what stands behind the last comma.
func (n *naming) param(p *api.Param, typed string) ([]string, cobra.ShellCompDirective) {
	before := ""
	if p.Kind() == "strings" && p.Arg == "" {
		before = typed[:strings.LastIndexByte(typed, ',')+1]
	}
	names, directive := p.Enum, noFiles
	if p.Complete != "" {
		names, directive = n.names(p.Complete, typed[len(before):])
	}
	var out []string
	for _, found := range names {
		if p.Complete != "" || strings.HasPrefix(found, typed[len(before):]) {
			out = append(out, before+found)
		}
	}
	return out, directive
}

// names are those of a sort that begin with what is typed.
func (n *naming) names(sort, typed string) ([]string, cobra.ShellCompDirective) {
	list := n.ask(sort, typed)
	directive := noFiles
	if sort == "path" && slices.ContainsFunc(list, func(name string) bool { return strings.HasSuffix(name, "/") }) {
		directive |= noSpace // what lies below a directory follows
	}
	if sort == "change" {
		directive |= cobra.ShellCompDirectiveKeepOrder
	}
	return list, directive
}
