package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A way is one way to change the content of a file: an editor, a tool or a
// program.
type way struct {
	name  string
	needs []string
	once  bool // one save causes one read of the file while there are no requests
	save  func(*edit)
}

type edit struct {
	*live
	path     string // absolute path of the file
	fresh    string // path of another file with the new content
	old, new string
	screen   *screen // of the editor
}

// TestEditors checks that after each kind of save exactly the new content is
// found, and that concurrent requests return all entries of either the old or
// the new version.
func TestEditors(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			needs(t, w.needs...)
			w.try(t)
		})
	}
}

var ways = []way{
	{"vim", []string{"vim", "tmux"}, true, vim("vim -u DEFAULTS")},
	{"vim, copying", []string{"vim", "tmux"}, true, vim("vim -u DEFAULTS -c 'set backupcopy=yes'")},
	{"vim, renaming", []string{"vim", "tmux"}, true, vim("vim -u DEFAULTS -c 'set backupcopy=no'")},
	{"vim, without backup", []string{"vim", "tmux"}, true, vim("vim -u DEFAULTS -c 'set nobackup nowritebackup'")},
	{"neovim", []string{"nvim", "tmux"}, true, vim("nvim -u NORC")},
	{"emacs", []string{"emacs", "tmux"}, true, func(e *edit) {
		e.open("emacs -nw -q", "the old version")
		e.keys("C-x", "h", "C-w", "C-x", "i")
		e.screen.wait("Insert file:")
		e.keys("C-a", "C-k") // removes the proposed directory
		e.text(e.fresh)
		e.keys("Enter")
		e.screen.wait("the new version")
		e.keys("C-x", "C-s")
		e.screen.wait("Wrote ")
		e.saved()
		e.keys("C-x", "C-c")
		e.screen.end()
	}},
	{"nano", []string{"nano", "tmux"}, true, func(e *edit) {
		e.open("nano -I", "the old version")
		e.keys("M-\\", "M-a", "M-/", "C-k")
		e.screen.wait("Modified")
		e.keys("C-r")
		e.screen.wait("insert")
		e.text(e.fresh)
		e.keys("Enter")
		e.screen.wait("the new version")
		e.keys("C-s")
		e.screen.wait("Wrote ")
		e.saved()
		e.keys("C-x")
		e.screen.end()
	}},
	{"sed -i", []string{"sed"}, true, func(e *edit) {
		e.run("sed", "-i", "-e", "$r "+e.fresh, "-e", "d", e.path)
	}},
	{"mv over", []string{"cp", "mv"}, true, func(e *edit) {
		other := filepath.Join(filepath.Dir(e.root), "other.md")
		e.run("cp", e.fresh, other)
		e.run("mv", "-f", other, e.path)
	}},
	{"cp over", []string{"cp"}, true, func(e *edit) { e.run("cp", e.fresh, e.path) }},
	{"rsync", []string{"rsync"}, true, func(e *edit) {
		e.run("rsync", "-I", e.fresh, e.path)
	}},
	{"git checkout", []string{"git"}, false, func(e *edit) { e.git("checkout", "-q", "work") }},
	{"slow writer", []string{"sh", "sleep"}, false, func(e *edit) {
		e.run("sh", "-c", `{ for n in 0 1 2 3 4 5 6 7; do dd if="$1" bs="$2" skip=$n count=1 2>/dev/null; sleep 0.05; done; } >"$3"`,
			"sh", e.fresh, fmt.Sprint(len(e.new)/8+1), e.path)
	}},
	{"written twice", nil, false, func(e *edit) {
		e.put(e.new[:len(e.new)/2])
		e.put(e.new)
	}},
}

// vim returns a save with vim or a compatible editor.
func vim(command string) func(*edit) {
	return func(e *edit) {
		e.open(command, "the old version")
		e.text(":%d|0r " + e.fresh + "|$d")
		e.keys("Enter")
		e.screen.wait("the new version")
		e.text(":w")
		e.keys("Enter")
		e.screen.wait("written")
		e.saved()
		e.text(":q")
		e.keys("Enter")
		e.screen.end()
	}
}

// content returns a version of the file. Both versions have the same number of
// entries with the same search word, but no entry with the same text at the
// same place. A mixed answer is therefore detectable.
func content(name string, first int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nsummary: a day\n---\n# Notes of the %s version\n\n", name)
	for i := range 400 {
		if i%40 == first {
			fmt.Fprintf(&b, "- quince %d of the %s version: %s\n", i, name, strings.Repeat(name+", ", 6)+"end")
		} else {
			fmt.Fprintf(&b, "- %s filler %d, of which nobody asks: %s\n", name, i, strings.Repeat("lorem ", i%30))
		}
	}
	return b.String()
}

const editedPath = "2026-02-04/telegram_1.md"

func (w way) try(t *testing.T) {
	base := homeDir(t)
	e := &edit{
		path:  filepath.Join(base, "root", editedPath),
		fresh: filepath.Join(base, "fresh.md"),
		old:   content("old", 3), new: content("new", 29),
	}
	testkit.WriteFile(t, e.path, e.old)
	testkit.WriteFile(t, e.fresh, e.new)
	testkit.WriteFile(t, filepath.Join(base, "root/2026-02-04/other.md"), "- something else\n")
	// A slow save must still count as one save, also on a busy machine.
	e.live = newLive(t, filepath.Join(base, "root"), "watch: {settle: 1s, max_wait: 10s}\n")
	if w.name == "git checkout" {
		e.branch()
	}
	e.start()

	// First without concurrent requests.
	e.wantOnly(e.old)
	before := e.mustStatus().Index.Revision
	w.save(e)
	e.wantOnly(e.new)
	if looks := e.mustStatus().Index.Revision - before; w.once && looks != 1 {
		t.Errorf("one save was taken over %d times", looks)
	}

	// Then with concurrent requests. A request between two saves may return the
	// first version.
	if w.name == "written twice" {
		e.wantSound()
		return
	}
	if w.name == "git checkout" {
		e.git("checkout", "-q", "main")
	} else {
		e.put(e.old)
	}
	e.wantOnly(e.old)
	ended := e.watch()
	w.save(e)
	e.wantOnly(e.new)
	ended()
	e.wantSound()
}

// want returns the expected entries of a version.
func (e *edit) want(content string) []string {
	var list []string
	for i, line := range strings.Split(content, "\n") {
		if strings.HasPrefix(line, "- quince") {
			list = append(list, fmt.Sprintf("%s:%d-%d %s", editedPath, i+1, i+1, line))
		}
	}
	slices.Sort(list)
	return list
}

// wantOnly checks with each kind of request that the given version is found and
// the other one is not.
func (e *edit) wantOnly(content string) {
	e.t.Helper()
	if got, err := os.ReadFile(e.path); err != nil || string(got) != content {
		e.t.Fatalf("the save did not make the content that it should: %d bytes, want %d, %v", len(got), len(content), err)
	}
	// Only the first request has to wait for the save.
	for _, who := range []fields{public, owner} {
		var a *api.SearchAnswer
		e.until("an answer is synced", func() bool { a = e.search(who, "quince", nil); return a.Index.Synced })
		if a.Index.Degraded {
			e.t.Errorf("degraded: %+v", a.Index)
		}
		if got, want := texts(a), e.want(content); !slices.Equal(got, want) {
			e.t.Errorf("after the save %v finds\n%s\nwant\n%s", who, first(got), first(want))
		}
		file, err := e.get(who, editedPath)
		if err != nil || file.Text != content {
			e.t.Errorf("after the save get answers %d bytes, want %d: %v", len(file.Text), len(content), err)
		}
	}
	word, other := "new", "old"
	if content == e.old {
		word, other = other, word
	}
	if a := e.search(owner, word, nil); a.Total != 400 {
		e.t.Errorf("after the save %d entries are found by %q, want 400", a.Total, word)
	}
	if a := e.search(owner, other, nil); a.Total != 0 {
		e.t.Errorf("after the save %d entries are found by %q that is not there any more", a.Total, other)
	}
}

// watch sends all kinds of requests until stop is called. Each answer must be
// one version, and never the old one after the new one.
func (e *edit) watch() (stop func()) {
	var over atomic.Bool
	var group sync.WaitGroup
	versions := [][]string{e.want(e.old), e.want(e.new)}
	for _, who := range []fields{
		owner.with(fields{"sync": true}), owner.with(fields{"sync": false}),
		public.with(fields{"sync": true}), public.with(fields{"sync": false}),
	} {
		group.Go(func() {
			seen := 0
			for asked := 0; !over.Load(); asked++ {
				var hits []string
				if asked%4 == 3 {
					file, err := e.get(who, editedPath)
					switch {
					case err != nil:
						e.t.Errorf("%v, question %d: %v", who, asked, err)
						return
					case file.Text == e.old:
						hits = versions[0]
					case file.Text == e.new:
						hits = versions[1]
					default:
						hits = []string{fmt.Sprintf("a text of %d bytes", len(file.Text))}
					}
				} else {
					var a api.SearchAnswer
					if err := e.ask("search", who.with(fields{"query": "quince", "limit": 100}), &a); err != nil {
						e.t.Errorf("%v, question %d: %v", who, asked, err)
						return
					}
					hits = texts(&a)
				}
				now := slices.IndexFunc(versions, func(v []string) bool { return slices.Equal(v, hits) })
				if now < seen {
					e.t.Errorf("%v, question %d: the answer is neither version, or the old one after the new one:\n%s", who, asked, first(hits))
					return
				}
				seen = now
			}
		})
	}
	stop = func() {
		over.Store(true)
		group.Wait()
	}
	e.t.Cleanup(stop) // stops the requests even if the save failed
	return stop
}

// first returns the start of a list, for a message.
func first(list []string) string {
	return fmt.Sprintf("%d: %s", len(list), strings.Join(list[:min(len(list), 3)], "\n"))
}

// wantSound checks the status of the daemon and the result of check.
func (e *edit) wantSound() {
	e.t.Helper()
	e.sync()
	s := e.mustStatus()
	if !s.Healthy || s.Index.Degraded || s.Index.Pending != 0 || s.ProblemCount != 0 {
		e.t.Errorf("after the saves the status is %+v", s)
	}
	if c := e.check(); len(c.Differing) > 0 || len(c.Problems) > 0 {
		e.t.Errorf("after the saves check says %+v", c)
	}
}

// saved waits until the file has its complete new content.
func (e *edit) saved() {
	e.t.Helper()
	e.until("the file has its new content", func() bool {
		got, err := os.ReadFile(e.path)
		return err == nil && string(got) == e.new
	})
}

func (e *edit) put(content string) {
	e.t.Helper()
	testkit.WriteFile(e.t, e.path, content)
}

// branch puts the memory under version control: the old version on main, the
// new one on the branch work.
func (e *edit) branch() {
	e.git("init", "-q", "-b", "main")
	e.git("add", ".")
	e.git("commit", "-q", "-m", "old")
	e.git("checkout", "-q", "-b", "work")
	e.put(e.new)
	e.git("commit", "-q", "-a", "-m", "new")
	e.git("checkout", "-q", "main")
}

func (e *edit) git(args ...string) {
	e.t.Helper()
	e.run("git", append([]string{"-C", e.root, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
}

// run runs a program and waits for its end.
func (e *edit) run(name string, args ...string) {
	e.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		e.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// open starts an editor in a terminal and waits until the editor shows the
// file.
func (e *edit) open(command, shows string) {
	e.t.Helper()
	e.screen = newScreen(e.t, fmt.Sprintf("%s %s", command, e.path), 100)
	e.screen.wait(shows)
}

func (e *edit) keys(keys ...string) { e.screen.send(keys...) }

func (e *edit) text(text string) { e.screen.send("-l", text) }

// A screen is a terminal with a running program.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen runs a shell command in a new terminal.
func newScreen(t *testing.T, command string, columns int) *screen {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw")
	testkit.Must(t, err)
	s := &screen{t: t, socket: filepath.Join(dir, "t")}
	cmd := exec.Command("tmux", "-u", "-S", s.socket, "-f", "/dev/null", "new-session", "-d",
		"-x", fmt.Sprint(columns), "-y", "40", command)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", s.socket, "kill-server").Run() // usually it has ended with its program
		os.RemoveAll(dir)
	})
	return s
}

func (s *screen) send(keys ...string) {
	s.t.Helper()
	args := append([]string{"-S", s.socket, "send-keys"}, keys...)
	if out, err := exec.Command("tmux", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("tmux: %v\n%s", err, out)
	}
}

// shown returns the content of the terminal.
func (s *screen) shown() (string, error) {
	out, err := exec.Command("tmux", "-S", s.socket, "capture-pane", "-p").Output()
	return string(out), err
}

// wait waits until the terminal shows all texts, and returns its content.
func (s *screen) wait(texts ...string) string {
	s.t.Helper()
	var last string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		shown, err := s.shown()
		if err != nil {
			s.t.Fatalf("the program has ended before it showed %q; last it showed\n%s", texts, last)
		}
		last = shown
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) }) {
			return shown
		}
	}
	s.t.Fatalf("the program does not show %q, but\n%s", texts, last)
	return ""
}

// end waits until the program has ended.
func (s *screen) end() {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := s.shown(); err != nil {
			return
		}
	}
	shown, _ := s.shown()
	s.t.Errorf("the program does not end; it shows\n%s", shown)
}

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
