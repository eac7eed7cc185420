package cli

import (
	"embed"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// shellScripts are the completion scripts. The scripts that cobra generates
// lose names with spaces, colons or quotation marks, and execute the typed
// text.
//
//go:embed shell
var shellScripts embed.FS

// newCompletion returns the command that prints a completion script. The script
// runs the program itself: __complete, which belongs to cobra, or __bash.
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return UsageError{Err: fmt.Errorf("completion: name a shell: bash, zsh or fish")}
			}
			if err := config.CheckOneOf(args[0], shells); err != nil {
				return UsageError{Err: fmt.Errorf("completion: %w", err)}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			script, err := shellScripts.ReadFile("shell/memwatchd." + args[0])
			if err != nil {
				return err
			}
			_, err = g.Stdout.Write(script)
			return err
		},
	})
}
