package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pageNow is when what the pages show was typed.
const pageNow = "2026-02-05T12:00:00Z"

// A typist is somebody at a shell, with the example memory and its daemon, at
// the time of the pages. Home is /home/me.
type typist struct {
	home    string
	dir     string // where commands are typed
	prelude string // what was typed before, of which nothing is shown
	env     []string
	shown   *strings.Replacer // what differs from time to time, as the pages have it
	typed   *strings.Replacer // and the other way round
	started []*scriptProcess
}

// newTypist starts a daemon on the example. The README's lies where `make run`
// puts it; otherwise it is the owner's own, and commands are typed in it.
func newTypist(t *testing.T, readme bool) *typist {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "mw") // short: a socket lies below it
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	archive := "." + host + ".md" // the machine of the pages is called desk
	today, pageDay := time.Now().UTC(), pageNow[:len(time.DateOnly)]
	s.shown = strings.NewReplacer(run, "/run/user/1000", home, "/home/me", archive, ".desk.md",
		// When something was typed into a file only the file system knows.
		"  "+today.Format(time.DateOnly), "  "+pageDay, "  "+today.AddDate(0, 0, 1).Format(time.DateOnly), "  "+pageDay)
	s.typed = strings.NewReplacer("/run/user/1000", run, "/home/me", home, ".desk.md", archive)
	files, serve := ".morph/memory", "memwatchd serve"
	if readme {
		s.prelude = `memwatchd() { command memwatchd --config example/config.yaml "$@"; }` + "\n"
		files, serve = "example/files", "memwatchd serve --config example/config.yaml"
		s.must(t, "memwatchd init --example --name example --dir example/files")
	} else {
		s.must(t, "memwatchd init --example")
	}
	if files = filepath.Join(home, files); !readme {
		s.dir = files
	}
	hourAgo := readClock(pageNow).Add(-time.Hour)
	err = filepath.WalkDir(files, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, hourAgo, hourAgo)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, serve)
	return s
}

// shell is a command line, typed.
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

// start starts a daemon, and waits until it has an index.
func (s *typist) start(t *testing.T, line string) {
	t.Helper()
	p, err := startProcess(s.shell("exec " + line))
	if err != nil {
		t.Fatal(err)
	}
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

// kept is a line that is of use for those that come after it: it names something.
var kept = regexp.MustCompile(`^(?:alias |[a-z]+=(?:\S*|\$\(.*\)|'[^']*')$|[a-z]+\(\) \{)`)

// others are the programs that a line may need beside ours.
var others = regexp.MustCompile(`\b(?:bwrap|curl|git|jq)\b`)

// lacks is why a line cannot be typed on this machine.
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

// run types a line and gives what comes. A line with & at its end starts a
// daemon. That a command fails has to be shown, by `; echo $?` or the like.
func (s *typist) run(t *testing.T, where, line string) (output string) {
	t.Helper()
	if daemon, isDaemon := strings.CutSuffix(line, " &"); isDaemon {
		s.start(t, daemon)
		return ""
	}
	if kept.MatchString(line) {
		if !strings.HasPrefix(line, "alias ") { // which the README's prelude has
			s.prelude += line + "\n"
		}
		return ""
	}
	out, err := s.shell(line).CombinedOutput()
	if err != nil {
		t.Errorf("%s: $ %s: %v\n%s", where, line, err, out)
	}
	return s.shown.Replace(string(out))
}
