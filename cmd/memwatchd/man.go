package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan makes the command that writes the manual: a page for each command, from
// what its help says, and one for the configuration.
func newMan(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the pages of the manual into a directory", GroupID: "shell",
		Long: "Write the pages of the manual into a directory, below man1 and man5. For yourself:\n\n" +
			"  memwatchd man ~/.local/share/man\n  man memwatchd",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errUsage{fmt.Errorf("man: say into which directory")}
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := manual(cmd.Root(), thisBuild())
			for _, page := range pages {
				path := filepath.Join(args[0], fmt.Sprintf("man%d", page.section), fmt.Sprintf("%s.%d", page.name, page.section))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(page.text), 0o644); err != nil {
					return err
				}
			}
			fmt.Fprintln(g.stdout, plural(len(pages), "page")+" written to "+escapeLine(args[0]))
			return nil
		},
	}
}

// A manPage is a page of the manual.
type manPage struct {
	name    string
	section int
	text    string
}

// manual is all pages, in order. They are of the day of the build's commit: what
// is built again is the same.
func manual(root *cobra.Command, b build) []manPage {
	when := ""
	if !b.Time.IsZero() {
		when = b.Time.Format(time.DateOnly)
	}
	version := "memwatchd " + b.Version
	if m := pseudoVersion.FindStringSubmatch(b.Version); m != nil {
		version = "memwatchd " + m[2] // there is room for the commit, beside the day
	}
	var pages []manPage
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		p := newRoffPage(manName(c), 1, when, version)
		p.command(c)
		pages = append(pages, manPage{manName(c), 1, p.String()})
		for _, below := range documented(c) {
			add(below)
		}
	}
	add(root)
	p := newRoffPage("memwatchd.yaml", 5, when, version)
	p.configuration()
	return append(pages, manPage{"memwatchd.yaml", 5, p.String()})
}

// documented are the commands below another that have a page.
func documented(c *cobra.Command) (list []*cobra.Command) {
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			list = append(list, below)
		}
	}
	return list
}

// manName is the name of a command's page.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// command writes the page of a command.
func (p *roffPage) command(c *cobra.Command) {
	p.section("name")
	p.line(manName(c) + " - " + lowerFirst(c.Short))
	p.section("synopsis")
	p.synopsis(c)
	p.section("description")
	long := cmp.Or(c.Long, c.Short)
	if !c.HasParent() {
		long = manualHead
	}
	if rest, ok := strings.CutPrefix(long, c.Short); ok && (rest == "" || rest[0] == '\n') {
		long = c.Short + "." + rest // a heading, which is a sentence here
	}
	p.prose(long)
	if below := documented(c); len(below) > 0 {
		p.section("commands")
		p.commands(c, below)
	}
	p.options(c)
	if c.Example != "" {
		p.section("examples")
		var lines []string
		for line := range strings.Lines(c.Example) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "  "))
		}
		p.verbatim(lines)
	}
	if !c.HasParent() {
		p.surroundings()
	}
	p.section("see also")
	p.see(seeAlso(c))
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// synopsis is how the command is typed.
func (p *roffPage) synopsis(c *cobra.Command) {
	line := c.CommandPath()
	words := strings.Fields(strings.TrimPrefix(c.Use, c.Name()))
	text := bold(line)
	if len(documented(c)) > 0 {
		text += " " + italic("command")
	}
	for _, w := range words {
		inner := strings.Trim(w, "[]")
		if inner == w {
			text += " " + italic(w)
		} else {
			text += " [" + italic(inner) + "]"
		}
	}
	p.WriteString(text + " [" + italic("option") + " ...]\n")
}

// commands lists what stands below a command, by their groups.
func (p *roffPage) commands(c *cobra.Command, list []*cobra.Command) {
	groups := append(c.Groups(), &cobra.Group{Title: "Beside that:"})
	for _, g := range groups {
		titled := len(groups) == 1
		for _, below := range list {
			if below.GroupID != g.ID && len(groups) > 1 {
				continue
			}
			if !titled {
				p.part(strings.TrimSuffix(g.Title, ":"))
				titled = true
			}
			p.item(`\fB`+roffText(manName(below))+`\fR(1)`, below.Short+".")
		}
	}
}

// options lists the flags of a command. Those that all have are on the first page.
func (p *roffPage) options(c *cobra.Command) {
	begun := false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !begun {
			p.section("options")
			begun = true
		}
		p.item(flagTerm(f), flagText(f))
	})
	if !c.HasParent() {
		p.item(bold("--help"), "say what a command does, and which options it has")
		return
	}
	if !begun {
		p.section("options")
	} else {
		p.paragraph()
		p.begin()
	}
	var names []string
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, bold("--"+f.Name))
		}
	})
	p.WriteString("As every command it has, from\n.BR memwatchd (1):\n" + strings.Join(names, ",\n") + ".\n")
}

// flagTerm is a flag as it is typed.
func flagTerm(f *pflag.Flag) string {
	term := bold("--" + f.Name)
	if f.Shorthand != "" {
		term = bold("-"+f.Shorthand) + ", " + term
	}
	switch name, _ := pflag.UnquoteUsage(f); {
	case name != "":
		term += " " + italic(name)
	case f.DefValue == "true":
		term += "[" + bold("=false") + "]"
	}
	return term
}

// flagText is what a flag means, and what holds without it.
func flagText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if v, ok := f.Value.(*paramFlag); ok && slices.ContainsFunc(v.param.Enum, func(s string) bool { return !strings.Contains(text, s) }) {
		text += ": " + strings.Join(v.param.Enum, ", ")
	}
	if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
		text += " (default " + d + ")"
	}
	return text
}

// seeAlso are the pages beside a command's: above, below, and next to it.
func seeAlso(c *cobra.Command) (pages []string) {
	if !c.HasParent() {
		return []string{"memwatchd.yaml(5)"}
	}
	for up := c.Parent(); up != nil; up = up.Parent() {
		pages = append([]string{manName(up) + "(1)"}, pages...)
	}
	if c.Parent().HasParent() {
		for _, beside := range documented(c.Parent()) {
			if beside != c {
				pages = append(pages, manName(beside)+"(1)")
			}
		}
	}
	return append(pages, "memwatchd.yaml(5)")
}
