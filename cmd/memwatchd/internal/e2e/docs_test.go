package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

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

const repository = "../../../.."

// A docPage is a file of the documentation. Its path is relative to the repository.
type docPage struct{ path, text string }

// fenced matches a block, with the word after its opening fence and its text.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// pages returns the README and all pages of docs, including one level of
// directories.
func pages(t *testing.T) (list []*docPage) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("there are no pages %s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			testkit.Must(t, err)
			name, err := filepath.Rel(repository, path)
			testkit.Must(t, err)
			p := &docPage{name, string(text)}
			p.prose(func(where, line string) {
				if strings.HasPrefix(strings.TrimSpace(line), "```") {
					t.Fatalf("%s: a fence without another one, that is indented, or has more behind it than a word", where)
				}
			})
			list = append(list, p)
		}
	}
	return list
}

// each calls f for each block of a kind, with the path:line of its start.
func (p *docPage) each(kind string, f func(where, text string)) {
	for _, m := range fenced.FindAllStringSubmatchIndex(p.text, -1) {
		if p.text[m[2]:m[3]] == kind {
			f(fmt.Sprintf("%s:%d", p.path, strings.Count(p.text[:m[4]], "\n")+1), p.text[m[4]:m[5]])
		}
	}
}

// replaced returns the page with the blocks of a kind replaced by the results
// of f.
func (p *docPage) replaced(kind string, f func(text string) string) string {
	return fenced.ReplaceAllStringFunc(p.text, func(block string) string {
		if m := fenced.FindStringSubmatch(block); m[1] == kind {
			return "```" + kind + "\n" + f(m[2]) + "```"
		}
		return block
	})
}

// prose calls f for each line outside the blocks, with its path:line.
func (p *docPage) prose(f func(where, line string)) {
	text := fenced.ReplaceAllStringFunc(p.text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	for i, line := range strings.Split(text, "\n") {
		f(fmt.Sprintf("%s:%d", p.path, i+1), line)
	}
}

var (
	heading  = regexp.MustCompile(`^#{1,6} (.*)$`)
	codeSpan = regexp.MustCompile("`[^`]+`")
	link     = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
)

// anchors returns the link targets of the page's headings.
func (p *docPage) anchors() map[string]bool {
	seen := map[string]bool{}
	p.prose(func(_, line string) {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			return
		}
		name := anchor(m[1])
		for i, base := 1, name; seen[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		seen[name] = true
	})
	return seen
}

// anchor returns the link target of a heading: lower case, words joined by
// dashes, no other punctuation.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// links calls f for each link target on the page, with its path:line.
func (p *docPage) links(f func(where, target string)) {
	p.prose(func(where, line string) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "`"), -1) {
			f(where, m[1])
		}
	})
}

// pageNow is the time at which the commands of the pages ran.
const pageNow = "2026-02-05T12:00:00Z"

// A typist is a shell session with the example memory and its daemon at the
// time of the pages. Its home directory is shown as /home/me.
type typist struct {
	home    string
	dir     string // working directory of commands
	prelude string // previous commands, run without showing their output
	env     []string
	shown   *strings.Replacer // replaces variable text by the text of the pages
	typed   *strings.Replacer // the reverse of shown
	started []*scriptProcess
}

// newTypist starts a daemon on the example. For the README, the memory is in
// the directory that `make run` uses. Otherwise it is the owner's own memory
// and also the working directory.
func newTypist(t *testing.T, readme bool) *typist {
	t.Helper()
	s := newHome(t)
	files, serve := ".morph/memory", "memwatchd serve"
	if readme {
		s.prelude = `memwatchd() { command memwatchd --config example/config.yaml "$@"; }` + "\n"
		files, serve = "example/files", "memwatchd serve --config example/config.yaml"
		s.must(t, "memwatchd init --example --name example --dir example/files")
	} else {
		s.must(t, "memwatchd init --example")
	}
	files = filepath.Join(s.home, files)
	if !readme {
		s.dir = files
	}
	setTimes(t, files, readClock(pageNow).Add(-time.Hour))
	s.start(t, serve)
	return s
}

// newHome returns a shell session in an empty home directory.
func newHome(t *testing.T) *typist {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "mw") // short, because a socket is below it
	testkit.Must(t, err)
	s := &typist{home: home, dir: home}
	t.Cleanup(func() {
		s.end(t)
		os.RemoveAll(home)
	})
	run := filepath.Join(home, "run")
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC", "LANG=C.UTF-8", "XDG_RUNTIME_DIR=" + run, "GORACE=atexit_sleep_ms=0",
		stopped + "=" + pageNow, "USER=me", "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@example.org", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@example.org",
	}
	host, err := os.Hostname()
	testkit.Must(t, err)
	archive := "." + host + ".md" // the host name in the pages is desk
	today, pageDay := time.Now().UTC(), pageNow[:len(time.DateOnly)]
	program, err := exec.LookPath("memwatchd")
	testkit.Must(t, err)
	s.shown = strings.NewReplacer(program, "/usr/local/bin/memwatchd", run, "/run/user/1000", home, "/home/me", archive, ".desk.md",
		// The times of typed files come from the file system.
		"  "+today.Format(time.DateOnly), "  "+pageDay, "  "+today.AddDate(0, 0, 1).Format(time.DateOnly), "  "+pageDay)
	s.typed = strings.NewReplacer("/run/user/1000", run, "/home/me", home, ".desk.md", archive)
	return s
}

// setTimes sets the times of all files below a directory.
func setTimes(t *testing.T, dir string, to time.Time) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, to, to)
	})
	testkit.Must(t, err)
}

// shell returns a command that runs a line in the shell.
func (s *typist) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", s.typed.Replace(s.prelude+line))
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *typist) must(t *testing.T, line string) {
	t.Helper()
	if out, err := s.shell(line).CombinedOutput(); err != nil {
		t.Fatalf("$ %s: %v\n%s", line, err, out)
	}
}

// start starts a daemon and waits until its index is complete.
func (s *typist) start(t *testing.T, line string) {
	t.Helper()
	p, err := startProcess(s.shell("exec " + line))
	testkit.Must(t, err)
	s.started = append(s.started, p)
	if err := p.await(regexp.MustCompile("index is complete")); err != nil {
		t.Fatalf("$ %s: %v", line, err)
	}
}

// end stops the daemons.
func (s *typist) end(t *testing.T) {
	for _, p := range s.started {
		p.cmd.Process.Signal(os.Interrupt)
		if <-p.ended; exitCode(p.cmd.ProcessState) != "0" || t.Failed() {
			t.Errorf("a daemon ended with %s:\n%s", exitCode(p.cmd.ProcessState), p.log.String())
		}
	}
}

// kept matches a line that later lines need, because it defines a name.
var kept = regexp.MustCompile(`^(?:alias |[a-z]+=(?:\S*|\$\(.*\)|'[^']*')$|[a-z]+\(\) \{)`)

// others matches the other programs that a line may need.
var others = regexp.MustCompile(`\b(?:bwrap|curl|git|jq)\b`)

// lacks returns the reason why a line cannot run on this machine, or "".
func lacks(line string) string {
	for _, program := range others.FindAllString(line, -1) {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
		if program == "bwrap" && exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true").Run() != nil {
			return "bwrap may not make a sandbox"
		}
	}
	return ""
}

// run runs a line and returns its output. A line that ends with & starts a
// daemon. A failing command must be shown in the page, with `; echo $?` or the
// like.
func (s *typist) run(t *testing.T, where, line string) (output string) {
	t.Helper()
	if daemon, isDaemon := strings.CutSuffix(line, " &"); isDaemon {
		s.start(t, daemon)
		return ""
	}
	if kept.MatchString(line) {
		if !strings.HasPrefix(line, "alias ") { // the README's prelude defines the alias
			s.prelude += line + "\n"
		}
		return ""
	}
	out, err := s.shell(line).CombinedOutput()
	if planned := strings.Contains(string(out), cli.ErrNotWritten.Error()); err != nil && !foundNothing(err) && !planned {
		t.Errorf("%s: $ %s: %v\n%s", where, line, err, out)
	}
	return s.shown.Replace(string(out))
}

// foundNothing reports whether a command ended with the status of a search
// without hits.
func foundNothing(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == cli.ExitNothing
}
