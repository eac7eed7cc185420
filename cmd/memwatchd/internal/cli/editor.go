package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// readMissingText sets the text of a request whose command line has none: from
// standard input, or for a note at a terminal from an editor. It returns the path
// of the file that was edited, or "".
func readMissingText(cmd *cobra.Command, op *api.Operation, form *api.Command, req *api.Request) (edited string,
	err error) {
	for _, p := range Arguments(op, form) {
		_, given := req.GivenValue(p)
		if op.Name == "capture" && !given {
			_, given = paramGiven(req, "text")
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
