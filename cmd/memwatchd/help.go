package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// wrapHelp makes the help of all commands fit a terminal of so many columns.
func wrapHelp(root *cobra.Command, width int) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		for line := range strings.Lines(b.String()) {
			io.WriteString(out, wrapColumn(strings.TrimRight(line, "\n"), width)+"\n")
		}
	})
}

// column is what stands before the explanation of a flag, an argument or a command.
var column = regexp.MustCompile(`^ +\S(?:.*?\S)? {2,}`)

// wrapColumn breaks a line of help so that what is broken stands below where it
// begins: in its column, if it has one. An example stays as it is, to be copied.
func wrapColumn(line string, width int) string {
	if strings.HasPrefix(line, "  memwatchd ") {
		return line
	}
	head := column.FindString(line)
	if head == "" || width-len(head) < 16 {
		head = line[:len(line)-len(strings.TrimLeft(line, " "))]
	}
	return head + wrap(line[len(head):], width, strings.Repeat(" ", len(head)))
}
