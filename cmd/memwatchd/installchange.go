package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/ipc"
)

// A change is what would be done to one file, or was.
type change struct {
	Agent   string         `json:"agent"`
	Part    agents.Part    `json:"part"`
	Scope   agents.Scope   `json:"scope"`
	File    string         `json:"file"`
	Action  string         `json:"action"` // create, change or none
	Command agents.Command `json:"command,omitempty"`
	Diff    []ipc.DiffHunk `json:"diff,omitempty"`
	Warning string         `json:"warning,omitempty"` // why the agent does not read the file
	Note    string         `json:"note,omitempty"`    // what else the agent wants
	Written bool           `json:"written"`

	title     string // of the agent
	settings  *settings
	after     []byte
	truncated bool // there is more than Diff has room for
}

func (c *change) needed() bool { return c.Action != "none" }

// compare finds out how the file changes.
func (c *change) compare() {
	switch {
	case bytes.Equal(c.settings.data, c.after):
		c.Action = "none"
		return
	case c.settings.info == nil:
		c.Action = "create"
	default:
		c.Action = "change"
	}
	diff := ipc.Diff(c.File, c.settings.data, c.after)
	c.Diff, c.truncated = diff.Hunks, diff.Truncated
}

// write changes the file.
func (c *change) write() error {
	err := c.settings.replace(c.after, c.Scope == agents.Project)
	c.Written = err == nil
	return err
}

// maxDiffLine is how many characters of a line are shown: some files are one line.
const maxDiffLine = 400

// print shows the change to a person.
func (c *change) print(b *strings.Builder, p *printer, remove bool) {
	file := p.style(asPath, escapeLine(underHome(c.File)))
	switch {
	case !c.needed() && remove:
		fmt.Fprintf(b, "%s: %s has nothing of memwatchd in %s\n", p.style(asTitle, c.Agent), c.title, file)
	case !c.needed():
		fmt.Fprintf(b, "%s: %s has memwatchd in %s\n", p.style(asTitle, c.Agent), c.title, file)
	case c.Written && remove:
		fmt.Fprintf(b, "%s: taken out of %s\n", p.style(asTitle, c.Agent), file)
	case c.Written:
		fmt.Fprintf(b, "%s: put into %s\n", p.style(asTitle, c.Agent), file)
	default:
		c.printDiff(b, p)
	}
	for _, text := range []string{c.Warning, c.Note} {
		if text != "" {
			fmt.Fprintf(b, "  %s\n", escapeLine(text))
		}
	}
}

func (c *change) printDiff(b *strings.Builder, p *printer) {
	from := c.File
	if c.settings.info == nil {
		from = "/dev/null"
	}
	fmt.Fprintf(b, "%s\n%s\n", p.style(asTitle, "--- "+diffName(from)), p.style(asTitle, "+++ "+diffName(c.File)))
	for _, h := range c.Diff {
		head, lines, _ := strings.Cut(h.Diff, "\n")
		fmt.Fprintln(b, p.style(asHunk, head))
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > maxDiffLine {
				line = string([]rune(line)[:maxDiffLine]) + "…"
			}
			p.diffLine(b, line)
		}
	}
	if c.truncated {
		fmt.Fprintln(b, p.style(asMuted, "(more is changed than is shown)"))
	}
}

// underHome is a path with ~ for the home directory.
func underHome(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || !within(path, home) {
		return path
	}
	rel, err := filepath.Rel(home, path)
	if err != nil {
		return path
	}
	return filepath.Join("~", rel)
}
