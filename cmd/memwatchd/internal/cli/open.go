package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// newOpen returns the command open.
func newOpen(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "open place",
		Short: "Open a file of the memory in your editor",
		Long: "Open a file of the memory in $VISUAL or $EDITOR, at the line of the place.\n\n" +
			"Arguments:\n  place   path, path:line or path#id, as other commands print it",
		Example: "  memwatchd open memory/2026-02-05.md:4",
		GroupID: "ask",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return Usagef("open takes one place, but got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, dc, err := g.ConnectOrStart(cmd)
			if err != nil {
				return err
			}
			for _, flag := range []string{"socket", "subject", "context"} {
				if !strings.Contains(args[0], "#") && cmd.Flags().Changed(flag) {
					return Usagef("open: --%s has no effect on a path: omit it, or name an entry by path#id", flag)
				}
			}
			if g.Config.Name != "" && !g.knowsRoot {
				return Usagef("open: the directory of %s is unknown on this machine: run `%s` to read a file",
					g.Config.Name, g.Config.Command("get PATH"))
			}
			root := g.OpenRoot(c)
			path, line := resolvePlace(root, args[0])
			if strings.Contains(path, "#") {
				answer, err := dc.Get(cmd.Context(), api.GetRequest{ID: path})
				if err != nil {
					return err
				}
				path, line = answer.Path, answer.From
			}
			return openFile(cmd, root, path, line)
		},
	}
	if get, err := api.LookUp("get"); err == nil {
		c.ValidArgsFunction = completeArguments(get, &get.Commands[0], get.NewRequest(), g)
	}
	return AcceptGlobals(c, CallerFlags)
}

// openFile opens a file of the memory in the user's editor.
func openFile(cmd *cobra.Command, root *Root, path string, line int) error {
	dir, below := root.Locate(path)
	file := filepath.Join(dir, filepath.FromSlash(below))
	if !config.IsWithin(file, dir) {
		return Usagef("%s is not in the memory directory %s", path, dir)
	}
	switch _, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return api.Errorf(api.NotFound, "file %q not found", path).WithHint("run `memwatchd ls` to list files")
	case err != nil:
		return err
	}
	return runEditor(editorArgs(file, line), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// editorArgs returns the arguments with which the user's editor opens a file at a
// line, or at its start if the line is 0.
func editorArgs(path string, line int) []string {
	words := strings.Fields(editorCommand())
	name := ""
	if len(words) > 0 {
		name = filepath.Base(words[0])
	}
	at := strconv.Itoa(line)
	switch {
	case line == 0:
		return []string{path}
	case name == "code" || name == "codium" || name == "cursor":
		return []string{"--goto", path + ":" + at}
	case name == "hx" || name == "helix" || name == "subl" || name == "zed":
		return []string{path + ":" + at}
	}
	return []string{"+" + at, path} // vi, emacs, nano and many others
}
