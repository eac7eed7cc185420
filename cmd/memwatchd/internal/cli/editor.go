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
// standard input, or for a note at a terminal from an editor.
func readMissingText(cmd *cobra.Command, op *api.Operation, form *api.Command, req *api.Request) error {
	for _, p := range Arguments(op, form) {
		if _, given := req.GivenValue(p); given || !p.Need {
			continue
		}
		if !p.Stdin {
			return nil // the daemon reports the missing argument
		}
		in := cmd.InOrStdin()
		switch {
		case in == (noInput{}):
			return nil
		case !term.IsTerminal(in):
			if err := setValue(req, p, "-", in); !errors.Is(err, errEmptyInput) {
				return err
			}
			return nil // the daemon reports the missing text
		case op.Name == "note":
			text, err := editText(in, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("%s: %w", op.Name, err)
			}
			return req.Set(p, text)
		}
	}
	return nil
}

// editText returns the text that a person writes in $VISUAL or $EDITOR.
func editText(in io.Reader, out, errs io.Writer) (string, error) {
	file, err := os.CreateTemp("", "memwatchd-*.md") // readable by the user only
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return "", err
	}
	if err := runEditor([]string{file.Name()}, in, out, errs); err != nil {
		return "", fmt.Errorf("%w; nothing was saved", err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", errors.New("the text is empty; nothing was saved")
	}
	return string(text), nil
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
