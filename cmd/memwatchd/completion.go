package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// newCompletion makes the command that prints what a shell needs to complete
// our commands. The shell then asks the program itself, as __complete.
func newCompletion(g *globals) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script for a shell",
		Long: "Print the completion script for a shell. To have it in every new one:\n\n" +
			"  bash  memwatchd completion bash > ~/.local/share/bash-completion/completions/memwatchd\n" +
			"  zsh   memwatchd completion zsh > \"${fpath[1]}/_memwatchd\"\n" +
			"  fish  memwatchd completion fish > ~/.config/fish/completions/memwatchd.fish",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errUsage{fmt.Errorf("completion: say for which shell: bash, zsh or fish")}
			}
			if err := oneOf(args[0], shells); err != nil {
				return errUsage{fmt.Errorf("completion: %w", err)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			write := map[string]func(io.Writer) error{
				"bash": func(w io.Writer) error { return cmd.Root().GenBashCompletionV2(w, true) },
				"zsh":  cmd.Root().GenZshCompletion,
				"fish": func(w io.Writer) error { return cmd.Root().GenFishCompletion(w, true) },
			}[args[0]]
			return write(g.stdout)
		},
	}
}
