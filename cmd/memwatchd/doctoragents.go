package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// lookAtCompletion tells whether the shell completes our commands.
func lookAtCompletion(context.Context, *examination) []finding {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return completionOf(filepath.Base(os.Getenv("SHELL")), home, xdg.DataHome, xdg.ConfigHome, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// completionOf looks where a shell finds what it completes with. Where zsh looks
// is known to zsh only; these are the usual places.
func completionOf(shell, home, data, config string, exists func(string) bool) []finding {
	var places []string
	advice := ""
	switch shell {
	case "bash":
		places = []string{filepath.Join(data, "bash-completion/completions/memwatchd"), "/etc/bash_completion.d/memwatchd", "/usr/share/bash-completion/completions/memwatchd", "/usr/local/share/bash-completion/completions/memwatchd"}
	case "zsh":
		places = []string{filepath.Join(home, ".zfunc/_memwatchd"), filepath.Join(home, ".zsh/completions/_memwatchd"), filepath.Join(data, "zsh/site-functions/_memwatchd"), "/usr/share/zsh/site-functions/_memwatchd", "/usr/local/share/zsh/site-functions/_memwatchd", "/opt/homebrew/share/zsh/site-functions/_memwatchd"}
		advice = "~/.zfunc has to be in $fpath before compinit"
	case "fish":
		places = []string{filepath.Join(config, "fish/completions/memwatchd.fish"), "/usr/share/fish/vendor_completions.d/memwatchd.fish", "/usr/local/share/fish/vendor_completions.d/memwatchd.fish"}
	default:
		return nil
	}
	for _, place := range places {
		if exists(place) {
			return well("%s, in %s", shell, place)
		}
	}
	to := quoted(places[0])
	return []finding{{Mark: note, Text: shell + " does not complete commands of memwatchd", Advice: advice,
		Command: "mkdir -p " + quoted(filepath.Dir(places[0])) + " && memwatchd completion " + shell + " > " + to}}
}
