package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of global flags, for [AcceptGlobals].
var (
	MemoryFlags = []string{"config", "name", "dir"}
	DaemonFlags = []string{"config", "name", "dir", "socket"}
	CallerFlags = []string{"config", "name", "dir", "socket", "subject", "context"}
	OutputFlags = []string{"json", "no-color"}
)

// globalsAnnotation is the annotation with the accepted global flags.
const globalsAnnotation = "global flags"

// AcceptGlobals limits a command to the named global flags, which have an effect
// on it. A command without limit accepts all.
func AcceptGlobals(cmd *cobra.Command, flags ...[]string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[globalsAnnotation] = strings.Join(slices.Concat(flags...), " ")
	return cmd
}

// RejectGlobals makes the commands below root reject the global flags that
// [AcceptGlobals] does not name, and hides these flags in their help. A command
// that only has subcommands accepts none.
func RejectGlobals(root *cobra.Command) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
			if !c.Hidden {
				rejectGlobals(root, c)
			}
		}
	}
	visit(root)
}

func rejectGlobals(root, cmd *cobra.Command) {
	accepted, limited := cmd.Annotations[globalsAnnotation]
	if !limited {
		return
	}
	names := strings.Fields(accepted)
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			return
		}
		own := cmd.Flags().VarPF(&rejectedFlag{f.Name, cmd.CommandPath(), names, f.Value.Type()}, f.Name, "", f.Usage)
		own.NoOptDefVal = f.NoOptDefVal
		own.Hidden = true
	})
}

// RejectTogether makes a command reject two flags of which one has no effect beside
// the other. Boolean flags that are false are not set.
func RejectTogether(cmd *cobra.Command, a, b string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if isSet(cmd, a) && isSet(cmd, b) {
			return UsageError{Err: fmt.Errorf("%s: --%s has no effect with --%s: omit one of them", cmd.CommandPath(), a, b)}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

func isSet(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed && f.Value.String() != "false"
}

// A rejectedFlag takes the place of a global flag on a command on which that has no
// effect.
type rejectedFlag struct {
	name     string
	command  string
	accepted []string // global flags
	kind     string
}

// Set returns an error with the global flags that the command accepts.
func (f *rejectedFlag) Set(string) error {
	instead := "no global flags"
	if len(f.accepted) > 0 {
		instead = "only --" + strings.Join(f.accepted, ", --")
	}
	if len(f.accepted) > 1 {
		instead = strings.Replace(instead, ", --"+f.accepted[len(f.accepted)-1], " and --"+f.accepted[len(f.accepted)-1], 1)
	}
	return UsageError{Err: fmt.Errorf("unknown flag: --%s: %s accepts %s", f.name, f.command, instead)}
}

func (f *rejectedFlag) String() string { return "" }

// Type returns the type of the global flag.
func (f *rejectedFlag) Type() string { return f.kind }
