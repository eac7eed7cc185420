// Man writes the manual of memwatchd into a directory: one page for each command, from
// its help, below man1.
//
//	go build -o write-man ./cmd/memwatchd/internal/man && ./write-man DIR
//
// It is not part of the program, which needs no generator of pages.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

func main() {
	err := writeManual(app.NewRoot(io.Discard, io.Discard), build.ReadInfo(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// writeManual writes the pages to man1 below dir. The pages carry the
// date of the build's commit, so that two builds of a commit have identical
// pages. writeManual modifies the commands of root; root must not be used
// afterwards.
func writeManual(root *cobra.Command, b build.Info, dir string) error {
	dir = filepath.Join(dir, "man1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.Long = manualIntro + exitStatuses()
	root.DisableAutoGenTag = true
	prepareForManual(root)
	header := &doc.GenManHeader{Section: "1", Date: &b.Time, Source: "memwatchd " + b.Version}
	return doc.GenManTree(root, header, dir)
}

// codeLines matches the indent of lines that help prints unchanged.
var codeLines = lazyregexp.New(`(?m)^  `)

// prepareForManual converts the help of a command and its subcommands to
// Markdown. Lines that help indents by two columns become code.
func prepareForManual(c *cobra.Command) {
	c.Long = codeLines().ReplaceAllString(strings.ReplaceAll(cmp.Or(c.Long, c.Short), ":\n  ", ":\n\n  "), "    ")
	for _, below := range c.Commands() {
		prepareForManual(below)
	}
}

const manualIntro = "Memwatchd watches a directory of Markdown files that is the memory of an agent or a person, " +
	"keeps a full-text index of it fresh, and answers requests of people on the command line and of agents.\n\n" +
	"`memwatchd serve` runs the daemon. Most other commands are requests to the daemon. They act as the owner of the memory in a " +
	"private context, unless `--subject` and `--context` select another one. `memwatchd config` prints every key of the configuration.\n"

// exitStatuses returns the section about the exit status, as Markdown.
func exitStatuses() string {
	var b strings.Builder
	b.WriteString("\n# EXIT STATUS\n")
	for _, e := range cli.ExitStatuses {
		fmt.Fprintf(&b, "\n**%d**\n: %s\n", e.Code, e.Text)
	}
	return b.String()
}
