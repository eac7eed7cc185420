package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adrg/xdg"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/background"
)

// A flagRow shows the effect of a flag: want matches the outcome of the base
// command with the extra words and the flag, and not the outcome without the
// flag.
type flagRow struct {
	flag  string // with its value
	extra string
	want  *regexp.Regexp
	not   bool // want matches the outcome without the flag instead
}

// A flagTable contains the rows of the commands and the arguments of their bases.
type flagTable struct {
	base map[string]string
	rows map[string][]flagRow
}

// readFlagTable parses testdata/flags.txt, which describes its format.
func readFlagTable(t *testing.T) (*flagTable, []txtar.File) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("some rows are about systemd")
	}
	archive, err := txtar.ParseFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := &flagTable{map[string]string{}, map[string][]flagRow{}}
	command := ""
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimRight(line, "\n")
		row, isRow := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !isRow:
			name, base, ok := strings.Cut(line, ": ")
			if !ok || table.base[name] != "" {
				t.Fatalf("flags.txt: %q is no new command with a base", line)
			}
			command, table.base[name] = name, base
		default:
			words, want, ok := strings.Cut(row, " => ")
			flag, extra, _ := strings.Cut(words, " | ")
			if !ok {
				t.Fatalf("flags.txt: %q is not FLAG [| EXTRA] => PATTERN", line)
			}
			if elsewhere, ok := strings.CutPrefix(want, "in "); ok {
				checkContains(t, elsewhere)
				want = ""
			}
			want, not := strings.CutPrefix(want, "! ")
			pattern, err := regexp.Compile("(?m)" + want)
			if err != nil {
				t.Fatalf("flags.txt: %q: %v", line, err)
			}
			table.rows[command] = append(table.rows[command], flagRow{flag, extra, pattern, not})
		}
	}
	return table, archive.Files
}

// checkContains checks that a file of the module contains a text.
func checkContains(t *testing.T, place string) {
	t.Helper()
	file, text, _ := strings.Cut(place, ": ")
	data, err := os.ReadFile(filepath.Join("../../../..", file))
	if err != nil || !strings.Contains(string(data), text) {
		t.Errorf("flags.txt: %s does not contain %q: %v", file, text, err)
	}
}

// TestFlagsAct checks that each flag of each command that is not global changes
// the outcome of the command. It needs a row in testdata/flags.txt for the flag.
func TestFlagsAct(t *testing.T) {
	t.Parallel()
	table, files := readFlagTable(t)
	s := newFlagHome(t, files)
	root := app.NewRoot(io.Discard, io.Discard)
	eachCommand(root, func(c *cobra.Command, name string) {
		base, known := table.base[name]
		if !known {
			t.Errorf("flags.txt has no base of %s", name)
			return
		}
		rows := table.rows[name]
		c.InheritedFlags() // adds them to the flags
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Hidden {
				return
			}
			shown := false
			rows = slices.DeleteFunc(rows, func(r flagRow) bool {
				typed, _, _ := strings.Cut(strings.Fields(r.flag)[0], "=")
				if typed != "--"+f.Name {
					return false
				}
				s.compareRuns(t, name, base, r)
				shown = true
				return true
			})
			if _, global := globalProbes[f.Name]; !shown && !global {
				t.Errorf("flags.txt does not show the effect of %s --%s", name, f.Name)
			}
		})
		for _, r := range rows {
			t.Errorf("flags.txt: %s has no flag %s", name, r.flag)
		}
		delete(table.base, name)
	})
	for name := range table.base {
		t.Errorf("flags.txt: there is no command %s", name)
	}
}

// newFlagHome returns a shell session with the example memory and files in its
// home.
func newFlagHome(t *testing.T, files []txtar.File) *typist {
	t.Helper()
	s := newTypist(t, false)
	s.env = append(s.env, "EDITOR=echo", "MEMWATCHD_HOOKS_STORE_RESPONSES=true",
		"UNIT="+filepath.Join(s.home, ".config/systemd/user/memwatchd.service"),
		"PATH="+filepath.Join(s.home, "bin")+":"+os.Getenv("PATH"))
	for _, f := range files {
		path := filepath.Join(s.home, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.must(t, "memwatchd sync")
	return s
}

// TestGlobalFlagsAct checks that each command obeys or rejects each global flag. It
// runs most commands in this process.
func TestGlobalFlagsAct(t *testing.T) {
	table, files := readFlagTable(t)
	s := newFlagHome(t, files)
	t.Cleanup(xdg.Reload) // after the environment is restored
	for _, pair := range s.env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	xdg.Reload()
	t.Chdir(s.dir)
	background.Disabled = true
	root := app.NewRoot(io.Discard, io.Discard)
	eachCommand(root, func(c *cobra.Command, name string) {
		base, _, _ := strings.Cut(table.base[name], " <")
		if base == "" || base == neverRun {
			base = name
		}
		if name == "init" || name == "serve" || name == "find" {
			return // rows of flags.txt and TestFind show their effect
		}
		if _, limited := c.Annotations["global flags"]; c.HasSubCommands() && !limited && name != "todo" {
			return // it shows its help
		}
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			own := c.Flags().Lookup(f.Name)
			if own != nil && own.Hidden {
				s.checkRejected(t, name, f)
			} else {
				s.checkGlobal(t, name, base, globalProbes[f.Name])
			}
		})
		if c.Flags().Lookup("external-key") != nil && name != "mcp" && name != "mcp install" {
			s.checkGlobal(t, name, base, globalProbes["external-key"])
		}
	})
}

// eachCommand calls f for each visible command that can run, with its words.
func eachCommand(c *cobra.Command, f func(c *cobra.Command, name string)) {
	if c.Runnable() && !c.Hidden && c.HasParent() {
		f(c, strings.TrimPrefix(c.CommandPath(), "memwatchd "))
	}
	for _, sub := range c.Commands() {
		eachCommand(sub, f)
	}
}

// A globalProbe is a value of a global flag, and a pattern for the outcome.
type globalProbe struct {
	words string
	want  *regexp.Regexp
}

var globalProbes = map[string]globalProbe{
	"config":       {"--config none.yaml", regexp.MustCompile(`open none\.yaml`)},
	"name":         {"--name elsewhere", regexp.MustCompile(`elsewhere`)},
	"dir":          {"--dir elsewhere", regexp.MustCompile(`elsewhere`)},
	"socket":       {"--socket elsewhere.sock", regexp.MustCompile(`elsewhere\.sock`)},
	"subject":      {"--subject '?x'", regexp.MustCompile(`subject starts with a question mark`)},
	"context":      {"--context secret", regexp.MustCompile(`secret\\?" is not one of private, public, unknown`)},
	"json":         {"--json", regexp.MustCompile(`(?m)^(\{|\[|data: )|^exit 5`)},
	"no-color":     {"--no-color", regexp.MustCompile(`\A[^\x1b]*\z`)},
	"external-key": {"--external-key telegram:9 --subject x", regexp.MustCompile(`exclude each other`)},
}

// neverRun is the base of commands that would stop the daemon or wait.
const neverRun = "-"

// checkGlobal checks a global flag with a value that changes nothing.
func (s *typist) checkGlobal(t *testing.T, name, base string, p globalProbe) {
	t.Helper()
	without := ""
	switch p.words {
	case globalProbes["no-color"].words:
		t.Setenv("CLICOLOR_FORCE", "1")
		defer t.Setenv("CLICOLOR_FORCE", "0")
		if without = s.runHere(t, name, base); !strings.Contains(without, "\x1b") {
			return // nothing of this answer is colored
		}
	}
	switch with := s.runHere(t, name, base+" "+p.words); {
	case !p.want.MatchString(with):
		t.Errorf("memwatchd %s %s: got %q, want %s", base, p.words, with, p.want)
	}
}

// checkRejected checks that a command rejects a global flag.
func (s *typist) checkRejected(t *testing.T, name string, f *pflag.Flag) {
	t.Helper()
	value := "=x"
	if f.NoOptDefVal != "" {
		value = ""
	}
	got := s.runHere(t, name, name+" --"+f.Name+value)
	if !strings.Contains(got, "unknown flag: --"+f.Name+": memwatchd "+name+" accepts ") ||
		!strings.HasPrefix(got, "exit 2\n") && !strings.HasPrefix(name, "hook") {
		t.Errorf("memwatchd %s --%s%s: got %q", name, f.Name, value, got)
	}
}

// shellWord matches a word of a command in flags.txt.
var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// runHere returns the exit status and the output of a command that it runs in
// this process, except for hooks, which end their process.
func (s *typist) runHere(t *testing.T, name, words string) string {
	t.Helper()
	if strings.HasPrefix(name, "hook ") && !strings.HasSuffix(name, "install") {
		return s.outcome(t, "memwatchd "+words+` --debug <"$HOME/`+strings.TrimPrefix(name, "hook ")+`.json"`)
	}
	var args []string
	for _, word := range shellWord.FindAllString(os.ExpandEnv(words), -1) {
		args = append(args, strings.Trim(word, `'"`))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	var w io.Writer = &out
	if name == "events" { // it ends only if its context does
		w = writerFunc(func(p []byte) (int, error) {
			defer cancel()
			return out.Write(p)
		})
	}
	var in io.Reader = strings.NewReader("")
	if name == "mcp" {
		calls, err := os.Open(os.ExpandEnv("$HOME/mcp.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer calls.Close()
		in = calls
	}
	status := app.Run(ctx, args, in, w, w)
	return fmt.Sprintf("exit %d\n%s", status, out.String())
}

// A writerFunc is a function that implements [io.Writer].
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// compareRuns runs the base of a command without and with a flag.
func (s *typist) compareRuns(t *testing.T, name, base string, r flagRow) {
	t.Helper()
	if r.want.String() == "(?m)" {
		return // another test shows the effect
	}
	without := ""
	if base == neverRun {
		base = name
	} else {
		without = s.outcome(t, "memwatchd "+base+" "+r.extra)
	}
	with := s.outcome(t, "memwatchd "+base+" "+r.extra+" "+r.flag)
	if r.want.MatchString(without) == r.want.MatchString(with) || r.want.MatchString(with) == r.not {
		t.Errorf("memwatchd %s %s %s: %s does not match only one of both (-without the flag +with it):\n%s", base, r.extra,
			r.flag, r.want,
			gocmp.Diff(strings.Split(without, "\n"), strings.Split(with, "\n")))
	}
}

// outcome runs a command and returns its exit status, its output, and the lines
// that it added to files of the memory. An endless command is stopped after a
// second.
func (s *typist) outcome(t *testing.T, words string) string {
	t.Helper()
	before := readLines(t, s.dir)
	cmd := s.shell(words)
	cmd.WaitDelay = 20 * time.Second // shorter, and output is lost on a busy machine
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, _ := cmd.CombinedOutput() // the status is part of the outcome
	var b strings.Builder
	fmt.Fprintf(&b, "exit %s\n%s", exitCode(cmd.ProcessState), s.shown.Replace(string(out)))
	after := readLines(t, s.dir)
	for _, line := range slices.Sorted(func(yield func(string) bool) {
		for line, n := range after {
			if n > before[line] && !yield(line) {
				return
			}
		}
	}) {
		b.WriteString("\n+" + line)
	}
	return b.String()
}

// readLines counts the lines of the files below a directory, with their paths.
func readLines(t *testing.T, dir string) map[string]int {
	t.Helper()
	lines := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".memwatchd-") {
			return nil // a temporary file, which may be renamed just now
		}
		data, _ := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			lines[cmp.Or(strings.TrimPrefix(path, dir+"/"), path)+": "+strings.TrimRight(line, "\n")]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
