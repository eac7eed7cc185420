package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A pane is a terminal of tmux with one command.
type pane struct {
	t      *testing.T
	socket string
}

// newPane runs a command of a shell in a terminal with the given number of columns.
// After the command, the terminal shows its exit status and its settings.
func newPane(t *testing.T, l *live, columns int, command string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	p := &pane{t: t, socket: filepath.Join(filepath.Dir(l.socket), "tmux")}
	script := filepath.Join(filepath.Dir(l.socket), "script")
	text := fmt.Sprintf("trap : INT\nstty -a >before\n%s\necho ended $?\nstty -a >after\ncmp before after && echo restored\nexec sleep 1000\n",
		command)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(append(l.env, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"), "-f", "/dev/null", "new-session", "-d",
		"-x", strconv.Itoa(columns), "-y", "24", "-c", l.root, "sh", script)
	t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	return p
}

func (p *pane) run(env []string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// press sends keys by their names in tmux.
func (p *pane) press(keys ...string) {
	p.t.Helper()
	p.run(nil, append([]string{"send-keys"}, keys...)...)
}

// await waits until the screen contains all texts, and returns its lines.
func (p *pane) await(texts ...string) []string {
	p.t.Helper()
	screen := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		screen = p.run(nil, "capture-pane", "-p")
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(screen, text)
		}
		if !missing {
			return strings.Split(screen, "\n")
		}
	}
	p.t.Fatalf("the screen never shows %q:\n%s", texts, screen)
	return nil
}

// findFiles are the files of the tests of the interactive search.
var findFiles = map[string]string{
	"a quince.md":  "# Garden\n\n- plum\n- a tree with\n  quinces in autumn\n",
	"音乐/一个 名字.md":  "# 音乐\n\n- 今天我参加了一场音乐会，quince 非常精彩，今天我参加了一场音乐会，非常精彩。\n",
	"odd.md":       "- \x1b[2Jquince \x1b]0;owned\a \u202e red\n- a\tquince tab\n",
	"notes/far.md": strings.Repeat("filler\n\n", 40) + "- the quince far below\n",
}

// startFinder starts a daemon on findFiles, and a search on a terminal with a fake
// editor, which writes its arguments to a file.
func startFinder(t *testing.T, columns int, command string) (*live, *pane) {
	t.Helper()
	root := t.TempDir()
	for path, text := range findFiles {
		name := filepath.Join(root, path)
		checkError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		checkError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	l := startLive(t, root, "")
	l.ready()
	editor := filepath.Join(filepath.Dir(l.socket), "editor")
	checkError(t, os.WriteFile(editor, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.args\"\necho editing\n"), 0o700))
	return l, newPane(t, l, columns, fmt.Sprintf("VISUAL=%s memwatchd --config %s %s", editor, l.config, command))
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFind types a query, moves and opens a hit in a real terminal.
func TestFind(t *testing.T) {
	l, p := startFinder(t, 160, "find")
	p.await("Enter opens, Esc leaves", "filler")
	p.press("q", "u", "i", "n")
	screen := strings.Join(p.await("> quin", "quinces in autumn", "一个 名字.md:3", "far.md:81"), "\n")
	if strings.Contains(screen, "\u202e") {
		t.Error("a control character reaches the terminal")
	}
	p.press("Space", "f", "a", "r")
	p.await("> quin far", "▌ notes/far.md:81", "- the quince far below")
	p.press("Enter")
	p.await("editing", "ended 0", "restored")
	args, err := os.ReadFile(filepath.Join(filepath.Dir(l.socket), "editor.args"))
	if want := "+81\n" + filepath.Join(l.root, "notes/far.md") + "\n"; err != nil || string(args) != want {
		t.Errorf("the editor got %q, %v, want %q", args, err, want)
	}
}

// TestFindLeaves checks that Esc leaves without opening a file, that search without a
// query does the same as find, and that the flags of find filter the hits.
func TestFindLeaves(t *testing.T) {
	for _, c := range []struct{ command, shown string }{
		{"find autumn", "a quince.md:5"}, {"search", "filler"}, {"find --path notes quince", "1/1"}, {"find --kinds note --since 1990 --until 2100 --tags none", "0/0"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			l, p := startFinder(t, 80, c.command)
			p.await("Enter opens, Esc leaves", c.shown)
			p.press("Escape")
			p.await("ended 0", "restored")
			if _, err := os.Stat(filepath.Join(filepath.Dir(l.socket), "editor.args")); err == nil {
				t.Error("the editor was started")
			}
		})
	}
}
