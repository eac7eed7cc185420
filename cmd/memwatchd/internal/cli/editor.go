package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// readMissingText sets the text of a request whose command line has none: from
// standard input, or for a note at a terminal from an editor. It returns the path
// of the file that was edited, or "".
func readMissingText(cmd *cobra.Command, op *api.Operation, form *api.Command, req *api.Request) (edited string,
	err error) {
	for _, p := range Arguments(op, form) {
		_, given := req.GivenValue(p.Name)
		if op.Name == "capture" && !given {
			_, given = req.GivenValue("text")
		} else if !p.Need {
			continue
		}
		if given {
			continue
		}
		if !p.Stdin {
			return "", nil // the daemon reports the missing argument
		}
		in := cmd.InOrStdin()
		switch {
		case in == (noInput{}):
			return "", nil
		case !term.IsTerminal(in):
			if err := setValue(req, p, "-", in); !errors.Is(err, errEmptyInput) {
				return "", err
			}
			return "", nil // the daemon reports the missing text
		case op.Name == "note":
			edited, text, err := editText(in, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return "", fmt.Errorf("%s: %w", op.Name, err)
			}
			return edited, req.Set(p, text)
		}
	}
	return "", nil
}

// editText returns the text that a person writes in $VISUAL or $EDITOR, and the
// path of its file, which the caller removes. If the editor fails, the file stays
// unless it is blank.
func editText(in io.Reader, out, errs io.Writer) (path, text string, err error) {
	file, err := os.CreateTemp("", "memwatchd-*.md") // readable by the user only
	if err != nil {
		return "", "", err
	}
	path = file.Name()
	err = file.Close()
	if err == nil {
		err = runEditor([]string{path}, in, out, errs)
	}
	data, failure := os.ReadFile(path)
	err = cmp.Or(err, failure)
	switch blank := strings.TrimSpace(string(data)) == ""; {
	case blank:
		os.Remove(path)
		return "", "", fmt.Errorf("%w; nothing was saved", cmp.Or(err, errors.New("the text is empty")))
	case err != nil:
		return "", "", fmt.Errorf("%w; nothing was saved (your text is in %s)", err, path)
	}
	return path, string(data), nil
}

// editorCommand returns the user's editor, which may contain flags.
func editorCommand() string { return cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi") }

// runEditor runs the user's editor with arguments and waits for its end. As in
// other programs, a shell splits the command.
func runEditor(args []string, in io.Reader, out, errs io.Writer) error {
	c := exec.Command("/bin/sh", append([]string{"-c", "exec " + editorCommand() + ` "$@"`, "sh"}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = in, out, errs
	if err := c.Run(); err != nil {
		return fmt.Errorf("editor %s: %w", editorCommand(), err)
	}
	return nil
}

func newOpen(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "open place",
		Short: "Open a file of the memory in your editor",
		Long: "Open a file of the memory in $VISUAL or $EDITOR, at the line of the place.\n\n" +
			"Arguments:\n  place   path, path:line or path#id, as other commands print it",
		Example: "  memwatchd open memory/2026-02-05.md:4",
		GroupID: "ask",
		Args:    OneArg("open takes one place"),
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
			path, line, _ := resolvePlace(root, args[0])
			if strings.Contains(path, "#") {
				answer, err := client.Call(cmd.Context(), dc, api.GetRequest{ID: path})
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
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return api.Errorf(api.NotFound, "file %q not found", path).WithHint("run `memwatchd ls` to list files")
	case err != nil:
		return err
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if realDir, err := filepath.EvalSymlinks(dir); err != nil || !config.IsWithin(real, realDir) ||
		!info.Mode().IsRegular() {
		return Usagef("%s is not a file of the memory directory %s, or a link out of it", path, dir)
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
