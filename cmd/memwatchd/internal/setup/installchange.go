package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A fileChange is a planned or written change of one file.
type fileChange struct {
	Agent     string           `json:"agent"`
	Component agents.Component `json:"part"`
	Scope     string           `json:"scope"` // user
	File      string           `json:"file"`
	Action    string           `json:"action"` // create, change or none
	Command   agents.Command   `json:"command,omitempty"`
	Diff      []api.DiffHunk   `json:"diff,omitempty"`
	Note      string           `json:"note,omitempty"` // a confirmation that the agent requires
	Written   bool             `json:"written"`

	title    string // of the agent
	settings *settingsFile
	replaced agents.Command // the first command of memwatchd in the file before; nil for none
	hadParts bool           // the file had a part of memwatchd before
	after    []byte
	diff     api.FileDiff
}

func (c *fileChange) isNeeded() bool { return c.Action != "none" }

func (c *fileChange) writeFile() error {
	var err error
	if c.after == nil {
		err = c.settings.remove(c.File)
		dir := filepath.Dir(c.File) // of the skill, or of a file of hooks
		if err == nil && slices.Contains([]string{"memwatchd", "hooks"}, filepath.Base(dir)) {
			syscall.Rmdir(dir) // fails if it has other files or is a link
		}
	} else {
		err = c.settings.replace(c.after)
	}
	c.Written = err == nil
	if c.Written && c.after != nil {
		err = c.settings.recordChange(c.after, c.hadParts)
	}
	return err
}

// printChange adds a line for people. announced is for a change that is about to be made.
func (c *fileChange) printChange(b *strings.Builder, p *cli.Printer, remove, announced bool) {
	done, nothing := "added to", " has memwatchd in"
	if remove {
		done, nothing = "removed from", " has no entry of memwatchd in"
	}
	text := done
	switch {
	case !c.isNeeded() && announced:
		return
	case announced:
		text = "would be " + done
	case !c.isNeeded():
		text = c.title + nothing
	case !c.Written:
		from := c.File
		if c.settings.info == nil {
			from = ""
		}
		b.WriteString(p.OutsideDiff(from, c.File, c.diff))
		text = ""
	case !remove && c.replaced != nil:
		text = "replaced " + term.EscapeLine(c.replaced.String()) + " in"
	}
	if text != "" {
		fmt.Fprintf(b, "%s: %s %s\n", p.Style(term.AsTitle, c.Agent), text,
			p.Style(term.AsPath, term.EscapeLine(abbreviateHome(c.File))))
	}
	if c.Note != "" && !announced {
		fmt.Fprintf(b, "  %s\n", term.EscapeLine(c.Note))
	}
}

// abbreviateHome returns a path with ~ for the home directory.
func abbreviateHome(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || !config.IsWithin(path, home) {
		return path
	}
	return "~" + strings.TrimPrefix(path, filepath.Clean(home))
}
