package e2e

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// passing matches output that differs between runs.
var passing = regexp.MustCompile(`"took_ms": ?[\d.]+|` +
	`\d{4}-\d\d-\d\dT[\d:.]+Z|` +
	`revision \d+, \d+ pending|"pid": ?\d+|memwatchd \S+, process \d+, up \w+|(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d +listening|` +
	`"(?:score|revision|pending|p50|p99|size)": ?[\d.]+|` +
	`"token": ?"\w+"|"id": ?"[a-z2-7]{6}"|  [a-z2-7]{6}\b|\b0hxj[0-9a-z]{4}\b|` +
	`[\d.]+ [KM]iB\b`)

func steady(s string) string { return passing.ReplaceAllString(s, "_") }

// TestPagesAsTyped checks the console blocks of the pages by running their
// commands on the example memory. With -update it rewrites the outputs. A line
// that begins with "> " continues the previous command. After the first command
// that cannot run on this machine, the rest of the page is skipped, because it
// may depend on that command.
func TestPagesAsTyped(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if !strings.Contains(p.text, "```console\n") {
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(p.path, "docs/"), ".md"), func(t *testing.T) {
			t.Parallel()
			s := newTypist(t, p.path == "README.md")
			untyped := ""
			text := p.replaced("console", func(text string) string {
				var out strings.Builder
				for _, step := range stepsOf(text) {
					if why := lacks(step.line); why != "" && untyped == "" {
						line, _, _ := strings.Cut(step.line, "\n")
						untyped = fmt.Sprintf("not typed from $ %s on: %s", line, why)
					}
					got := step.output
					if untyped == "" {
						got = s.run(t, p.path, step.line)
					}
					if steady(got) == steady(step.output) {
						got = step.output // keeps the figures of the page
					}
					if diff := cmp.Diff(steady(step.output), steady(got)); diff != "" && !*update {
						t.Errorf("%s: $ %s (-page +now):\n%s", p.path, step.line, diff)
					}
					out.WriteString(step.typed() + got)
				}
				return out.String()
			})
			if *update {
				testkit.Must(t, os.WriteFile(filepath.Join(repository, p.path), []byte(text), 0o644))
			}
			if untyped != "" {
				t.Skip(untyped)
			}
		})
	}
}

type step struct{ line, output string }

// typed returns the command with its prompts.
func (s step) typed() string {
	return strings.ReplaceAll("$ "+strings.ReplaceAll(s.line, "\n", "\n> ")+"\n", "> \n", ">\n")
}

func stepsOf(console string) []step {
	var steps []step
	for line := range strings.Lines(console) {
		if typed, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{line: strings.TrimSuffix(typed, "\n")})
			continue
		}
		if len(steps) == 0 {
			steps = append(steps, step{line: "false # a block begins with what is typed"})
		}
		last := &steps[len(steps)-1]
		if (strings.HasPrefix(line, "> ") || line == ">\n") && last.output == "" {
			last.line += "\n" + strings.TrimPrefix(strings.TrimSuffix(line[1:], "\n"), " ")
		} else {
			last.output += line
		}
	}
	return steps
}

// TestPagesProse checks that the commands of the pages exist, with their flags, and
// linked files and headings. It also checks that the README of the repository or of a
// directory of pages links to each page.
func TestPagesProse(t *testing.T) {
	all := map[string]*docPage{}
	linked := map[string]bool{"README.md": true}
	for _, p := range pages(t) {
		all[p.path] = p
	}
	for _, p := range pages(t) {
		p.each("sh", func(where, text string) {
			for line := range strings.Lines(text) {
				checkCommands(t, where, line)
			}
		})
		p.prose(func(where, line string) {
			for _, span := range codeSpan.FindAllString(line, -1) {
				checkCommands(t, where, strings.Trim(span, "`"))
			}
		})
		p.links(func(where, target string) {
			if strings.Contains(target, "://") {
				return
			}
			file, fragment, _ := strings.Cut(target, "#")
			to := p.path
			if file != "" {
				to = path.Join(path.Dir(p.path), file)
			}
			if path.Base(p.path) == "README.md" {
				linked[to] = true
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
				t.Errorf("%s: there is no %s", where, target)
			} else if fragment != "" && (all[to] == nil || !all[to].anchors()[fragment]) {
				t.Errorf("%s: there is no heading %s", where, target)
			}
		})
	}
	for name := range all {
		if !linked[name] {
			t.Errorf("no README.md links to %s", name)
		}
	}
}

// commandWords matches a memwatchd command within a line.
var commandWords = regexp.MustCompile(`(?:^|[\s;|&(])memwatchd( [^|;&>)]*)`)

// allCommands is the root command. Nothing frees a root: cobra keeps the completions of
// its flags.
var allCommands = sync.OnceValue(func() *cobra.Command {
	root := app.NewRoot(nil, nil)
	root.InitDefaultHelpCmd()
	return root
})

// checkCommands reports the commands and flags in a line that do not exist.
func checkCommands(t *testing.T, where, line string) {
	t.Helper()
	for _, m := range commandWords.FindAllStringSubmatch(line, -1) {
		words := strings.Fields(m[1])
		if len(words) == 0 || strings.HasPrefix(words[0], "<") {
			continue
		}
		cmd, rest, err := allCommands().Find(words)
		if err == nil && cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "…" &&
			cmd.ValidateArgs(rest[:1]) != nil {
			err = cli.UnknownCommand(cmd, rest[0])
		}
		if err != nil {
			t.Errorf("%s: %s: %v", where, m[1], err)
			continue
		}
		for _, word := range rest {
			name, isFlag := strings.CutPrefix(word, "--")
			name, _, _ = strings.Cut(name, "=")
			if isFlag && name != "" && name != "help" && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				t.Errorf("%s: %s: there is no flag --%s", where, m[1], name)
			}
		}
	}
}
