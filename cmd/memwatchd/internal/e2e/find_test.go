package e2e

import (
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"

	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// findFiles are the files of the tests of the interactive search.
var findFiles = map[string]string{
	"a quince.md":  "# Garden\n\n- plum\n- a tree with\n  quinces in autumn\n",
	"音乐/一个 名字.md":  "# 音乐\n\n- 今天我参加了一场音乐会，quince 非常精彩，今天我参加了一场音乐会，非常精彩。\n",
	"odd.md":       "- \x1b[2Jquince \x1b]0;owned\a \u202e red\n- a\tquince tab\n",
	"notes/far.md": strings.Repeat("filler\n\n", 40) + "- the quince far below\n",
}

// startFinder starts a daemon on findFiles, and a search on a terminal with a fake
// editor, which writes its arguments to a file. After the search, the terminal shows
// its exit status, and whether the settings of the terminal are as before.
func startFinder(t *testing.T, columns int, command string) (*live, *screen) {
	t.Helper()
	needs(t, "tmux")
	l := newLive(t, t.TempDir(), "")
	for path, text := range findFiles {
		l.write(path, text)
	}
	l.start()
	base := filepath.Dir(l.socket)
	testkit.WriteFile(t, base+"/editor", "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.args\"\necho editing\n")
	testkit.Must(t, os.Chmod(base+"/editor", 0o700))
	testkit.WriteFile(t, base+"/script", fmt.Sprintf("cd %s; trap : INT; was=$(stty -a)\nenv %s VISUAL=%s/editor memwatchd --config %s %s\n"+
		"echo ended $?; [ \"$was\" = \"$(stty -a)\" ] && echo restored; exec sleep 1000\n",
		l.root, strings.Join(l.env, " "), base, l.config, command))
	return l, newScreen(t, "sh "+base+"/script", columns)
}

// TestFind types a query, moves and opens a hit in a real terminal.
func TestFind(t *testing.T) {
	l, p := startFinder(t, 160, "find")
	p.wait("Enter opens, Esc leaves", "filler")
	p.send("q", "u", "i", "n")
	if strings.Contains(p.wait("> quin", "quinces in autumn", "一个 名字.md:3", "far.md:81"), "\u202e") {
		t.Error("a control character reaches the terminal")
	}
	p.send("Space", "f", "a", "r")
	p.wait("> quin far", "▌ notes/far.md:81", "- the quince far below")
	p.send("Enter")
	p.wait("editing", "ended 0", "restored")
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
			p.wait("Enter opens, Esc leaves", c.shown)
			p.send("Escape")
			p.wait("ended 0", "restored")
			if _, err := os.Stat(filepath.Join(filepath.Dir(l.socket), "editor.args")); err == nil {
				t.Error("the editor was started")
			}
		})
	}
}
