package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// In the README today is this day, whenever it is read.
const (
	readmeToday     = "2026-02-05"
	readmeYesterday = "2026-02-04"
)

var (
	consoleBlock = regexp.MustCompile("(?s)(```console\n)(.*?)(```\n)")
	// An age at the end of a line depends on the hour.
	readmeAge = regexp.MustCompile(`(?m)  (now|\d+[mh])$`)
)

// What the README shows of a session is what comes when one types it: on the
// example, with the days as they are when it is read. With -update the outputs
// are written anew.
func TestReadmeSession(t *testing.T) {
	const path = "../../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	s := newReadmeSession(t)
	blocks := 0
	text = consoleBlock.ReplaceAllFunc(text, func(block []byte) []byte {
		blocks++
		m := consoleBlock.FindSubmatch(block)
		var b strings.Builder
		for _, step := range strings.Split("\n"+string(m[2]), "\n$ ")[1:] {
			command, want, _ := strings.Cut(strings.TrimSuffix(step, "\n")+"\n", "\n")
			got, ok := s.run(t, command)
			if !ok {
				got = want
			}
			if diff := cmp.Diff(plainAges(want), plainAges(got)); diff != "" && !*update {
				t.Errorf("$ %s (-README +now):\n%s", command, diff)
			}
			if plainAges(want) == plainAges(got) {
				got = want // and not another age each time
			}
			b.WriteString("$ " + command + "\n" + got)
		}
		return []byte(string(m[1]) + b.String() + string(m[3]))
	})
	if blocks == 0 {
		t.Fatal("the README shows no session")
	}
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func plainAges(s string) string { return readmeAge.ReplaceAllString(s, "  AGE") }

// A readmeSession is a shell in a directory with the example in it.
type readmeSession struct {
	dir              string
	env              []string
	toReadme, toLife *strings.Replacer
}

func newReadmeSession(t *testing.T) *readmeSession {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw") // short: a socket lies below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &readmeSession{dir: dir}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TZ=UTC", "XDG_RUNTIME_DIR=" + dir, "GORACE=atexit_sleep_ms=0"}
	if out, err := s.shell("memwatchd init --example --name example --dir example/files").CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	days, err := filepath.Glob(filepath.Join(dir, "example", "files", "memory", "*.md"))
	if err != nil || len(days) != 2 {
		t.Fatalf("the example's days are %q: %v", days, err)
	}
	yesterday, today := strings.TrimSuffix(filepath.Base(days[0]), ".md"), strings.TrimSuffix(filepath.Base(days[1]), ".md")
	s.toReadme = strings.NewReplacer(today, readmeToday, yesterday, readmeYesterday)
	s.toLife = strings.NewReplacer(readmeToday, today, readmeYesterday, yesterday)
	daemon, err := startProcess(s.shell("exec memwatchd serve --config example/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.cmd.Process.Signal(os.Interrupt)
		if <-daemon.ended; exitCode(daemon.cmd.ProcessState) != "0" || t.Failed() {
			t.Errorf("the daemon ended with %s:\n%s", exitCode(daemon.cmd.ProcessState), daemon.text())
		}
	})
	if err := daemon.await(regexp.MustCompile("index is whole"), time.Minute); err != nil {
		t.Fatal(err)
	}
	return s
}

// shell is a command of a shell in which memwatchd is what the README's alias
// makes of it.
func (s *readmeSession) shell(command string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", `memwatchd() { command memwatchd --config example/config.yaml "$@"; }`+"\n"+command)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// run types a command, unless there is no such program here.
func (s *readmeSession) run(t *testing.T, command string) (output string, ok bool) {
	t.Helper()
	program, _, _ := strings.Cut(command, " ")
	if program == "alias" {
		return "", true // see shell
	}
	if _, err := exec.LookPath(program); err != nil && program != "echo" {
		t.Logf("%s is not installed", program)
		return "", false
	}
	out, err := s.shell(s.toLife.Replace(command)).CombinedOutput()
	if err != nil {
		t.Errorf("$ %s: %v\n%s", command, err, out)
	}
	return s.toReadme.Replace(string(out)), true
}
