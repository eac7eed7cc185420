package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

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
	if err := p.await(regexp.MustCompile("index is complete"), time.Minute); err != nil {
		t.Fatalf("$ %s: %v", line, err)
	}
}

// end stops the daemons.
func (s *typist) end(t *testing.T) {
	for _, p := range s.started {
		p.cmd.Process.Signal(os.Interrupt)
		if <-p.ended; exitCode(p.cmd.ProcessState) != "0" || t.Failed() {
			t.Errorf("a daemon ended with %s:\n%s", exitCode(p.cmd.ProcessState), p.text())
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
	if err != nil && !foundNothing(err) {
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
