package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
)

// A pair is two machines that exchange one memory.
type pair struct {
	machines [2]*live
	exchange func()                 // brings what is new to both machines, or begins to
	offline  func(do func(l *live)) // does something on both machines while they cannot exchange it
	lost     func(l *live) string   // why the exchange itself lost an entry, or ""
}

// newPair creates two machines. With hosts, each writes to files of its own.
func newPair(t *testing.T, hosts bool, root func(i int) string, config func(i int) string) *pair {
	p := &pair{exchange: func() {}, lost: func(*live) string { return "" }}
	for i, name := range []string{"desk", "laptop"} {
		p.machines[i] = newLive(t, root(i), config(i))
		if hosts {
			p.machines[i].env = append(p.machines[i].env, "MEMWATCHD_MEMORY_HOST="+name)
		}
	}
	return p
}

// found exchanges and checks that both machines find a number of entries with a word.
func (p *pair) found(t *testing.T, word string, want int) {
	t.Helper()
	p.exchange()
	for _, l := range p.machines {
		n := 0
		for end := time.Now().Add(3 * time.Minute); n != want && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			n = l.count(word)
			if n != want && p.offline == nil {
				break // git exchanges at once
			}
		}
		if why := p.lost(l); n < want && why != "" {
			t.Skipf("%d of %d entries with %s are found: %s", n, want, word, why)
		}
		if n != want {
			t.Fatalf("%d entries with %s are found, not %d; files: %q", n, word, want, l.contents())
		}
	}
}

// writeTogether writes to both machines by turns, offline and at the same time, and returns
// the number of entries with each word.
func (p *pair) writeTogether(t *testing.T, facts, each int, pause func(l *live)) map[string]int {
	write := func(l *live, op, word string, n int, more fields) {
		text := fmt.Sprintf("%s %s number%d", word, l.root, n)
		l.must(op, owner.with(fields{"text": text}).with(more), new(struct{}))
	}
	offline := p.offline
	if offline == nil {
		offline = func(do func(l *live)) { do(p.machines[0]); do(p.machines[1]) }
	}
	for n := range 4 {
		write(p.machines[n%2], "note", "turnabout", n, nil)
		p.found(t, "turnabout", n+1)
	}
	// Facts in one file with a generated summary, which is new on both machines at first.
	for n := range facts {
		offline(func(l *live) {
			write(l, "remember", "remembered", n, fields{"explicit": true, "title": fmt.Sprintf("Title %d of %s", n, l.root)})
		})
		p.found(t, "remembered", 2*(n+1))
	}
	var group sync.WaitGroup
	for i, l := range p.machines {
		group.Go(func() {
			for n := range each {
				write(l, "note", "simultaneous", n, nil)
				l.must("session", owner.with(fields{"session": fmt.Sprintf("cli_%d", i), "draft": fields{
					"tasks": []fields{{"text": fmt.Sprintf("sessionword %d number%d", i, n)}}}}), new(struct{}))
				pause(l)
			}
		})
	}
	group.Wait()
	want := map[string]int{"turnabout": 4, "remembered": 2 * facts, "simultaneous": 2 * each, "sessionword": 2 * each}
	for word, n := range want {
		p.found(t, word, n)
	}
	return want
}

// TestGitMachines checks that everything that two machines write to one memory, which they
// exchange with git and the merge driver, is found on both, and that their files are equal.
func TestGitMachines(t *testing.T) {
	t.Parallel()
	needs(t, "git")
	origin := filepath.Join(t.TempDir(), "origin.git")
	runGit(t, "/", "init", "-q", "--bare", "-b", "main", origin)
	p := newPair(t, os.Getenv("FAULTS") != "", func(i int) string {
		l := &live{t: t, root: filepath.Join(t.TempDir(), "memory")}
		runGit(t, "/", "clone", "-q", origin, l.root)
		if i == 0 {
			l.write(".gitattributes", "*.md merge=memwatchd\n")
			l.write(".gitignore", ".memwatchd-*\n")
			l.syncGit()
		}
		return l.root
	}, func(int) string { return "" })
	a, b := p.machines[0], p.machines[1]
	p.exchange = func() {
		for _, l := range []*live{a, b, a} {
			l.syncGit()
		}
	}
	a.start()
	b.start()
	p.writeTogether(t, 3, thorough(6, 12), (*live).syncGit)
	if !maps.Equal(a.contents(), b.contents()) || len(a.copies()) > 0 {
		t.Errorf("the machines differ, or have conflict copies: %q, %q", a.contents(), b.contents())
	}
}

// syncGit commits what is new, and exchanges it with the other machine.
func (l *live) syncGit() {
	l.t.Helper()
	runGit(l.t, l.root, "add", "-A")
	runGit(l.t, l.root, "commit", "-q", "--allow-empty", "-m", "notes")
	for {
		if runGit(l.t, l.root, "ls-remote", "origin", "main") != "" {
			runGit(l.t, l.root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
		}
		push := gitCommand(l.root, "push", "-q", "origin", "main")
		out, err := push.CombinedOutput()
		if err == nil {
			return
		}
		if l.t.Context().Err() != nil || !strings.Contains(string(out), "rejected") {
			l.t.Fatalf("git push: %v: %s", err, out)
		}
	}
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com",
		"-c", "merge.memwatchd.driver=memwatchd merge -- %O %A %B %P"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// count returns the number of entries with a word.
func (l *live) count(word string) int {
	l.t.Helper()
	var a api.SearchAnswer
	l.must("search", owner.with(fields{"query": word, "typos": "keep", "limit": 1}), &a)
	return a.Total
}

// contents returns the content of each Markdown file.
func (l *live) contents() map[string]string {
	files := map[string]string{}
	filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && !strings.Contains(path, "/.") {
			text, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(l.root, path)
			files[rel] = string(text)
		}
		return nil
	})
	return files
}

func (l *live) copies() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(l.contents())), func(path string) bool {
		_, copied := memory.CopyOf(path)
		return !copied
	})
}

// TestSyncthing checks that everything that two machines write to one memory, which
// Syncthing copies between them, is found on both, and that no conflict copies are left
// in the end. Syncthing and memwatchd have their default settings: conflict copies are
// merged while the machines write, before Syncthing deletes the oldest of more than
// ten.
func TestSyncthing(t *testing.T) {
	faults(t)
	needs(t, "syncthing")
	for _, hosts := range []bool{true, false} {
		t.Run(fmt.Sprintf("hosts %t", hosts), func(t *testing.T) {
			t.Parallel()
			runSyncthing(t, hosts)
		})
	}
}

func runSyncthing(t *testing.T, hosts bool) {
	self, err := os.Hostname()
	testkit.Must(t, err)
	// Both daemons run on one machine, but only the first one maintains the memory.
	p := newPair(t, hosts, func(int) string { return t.TempDir() },
		func(i int) string { return fmt.Sprintf("compactor: {host: %q}\n", []string{self, "another"}[i]) })
	machines := map[*live]*syncMachine{}
	for _, l := range p.machines {
		machines[l] = &syncMachine{live: l, home: t.TempDir(), port: freePort(t), gui: freePort(t)}
		machines[l].watchCopies()
		l.start()
		machines[l].generate()
	}
	a, b := machines[p.machines[0]], machines[p.machines[1]]
	a.configure(b)
	b.configure(a)
	a.startSync()
	b.startSync()
	p.lost = func(l *live) string {
		if name := machines[l].replaced.Load(); name != nil {
			return "Syncthing replaced " + *name + " by another conflict copy of the same second"
		}
		return ""
	}
	p.offline = func(do func(l *live)) {
		b.stopSync()
		do(a.live)
		do(b.live)
		b.startSync()
	}
	want := p.writeTogether(t, 13, 15, func(*live) { time.Sleep(time.Second) })

	a.live.write("memory/2026-02-05.md", "## Tasks\n\n- [ ] tickword zero\n- [ ] tickword one\n")
	a.live.write("notes/line.md", "# Budget\n\nlineword is 100 this year\n")
	p.found(t, "tickword", 2)
	p.found(t, "lineword", 1)
	p.offline(func(l *live) {
		word, number := "zero", "120"
		if l == b.live {
			word, number = "one", "150"
		}
		l.must("todo", owner.with(fields{"text": "tickword " + word, "state": "done"}), new(api.TodoAnswer))
		l.write("notes/line.md", fmt.Sprintf("# Budget\n\nlineword is %s this year\n", number))
	})
	p.found(t, "lineword", 2)
	equal := func() bool {
		time.Sleep(time.Second)
		return maps.Equal(a.live.contents(), b.live.contents())
	}
	a.live.within(3*time.Minute, "both machines have the same files", equal)
	a.live.must("conflicts_merge", owner.with(fields{"keep": "both"}), new(api.ConflictsAnswer))
	a.live.within(3*time.Minute, "both machines have the same files, without conflict copies", func() bool {
		return len(a.live.copies())+len(b.live.copies()) == 0 && equal()
	})
	if tasks := a.live.contents()["memory/2026-02-05.md"]; strings.Count(tasks, "- [x] tickword") != 2 {
		t.Errorf("a tick is lost: %q", tasks)
	}
	want["lineword"] = 2
	for word, n := range want {
		p.found(t, word, n)
	}
}

// A syncMachine is a daemon and a Syncthing on a directory.
type syncMachine struct {
	live      *live
	home, id  string // of Syncthing
	port, gui int
	cmd       *exec.Cmd
	replaced  atomic.Pointer[string] // a conflict copy that was replaced
}

// watchCopies records in m.replaced when Syncthing gives the name of a conflict copy
// to another one. The name has the time in seconds, so Syncthing loses the first
// of two copies that it makes within a second.
func (m *syncMachine) watchCopies() {
	t := m.live.t
	t.Helper()
	dir := filepath.Join(m.live.root, "memory")
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o700), w.Add(dir))
	}
	testkit.Must(t, err)
	t.Cleanup(func() { w.Close() })
	go func() {
		created := map[string]bool{}
		for e := range w.Events {
			if _, copied := memory.CopyOf(e.Name); copied && e.Has(fsnotify.Create) {
				if created[e.Name] {
					m.replaced.Store(&e.Name)
				}
				created[e.Name] = true
			}
		}
	}()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// generate creates the keys of Syncthing.
func (m *syncMachine) generate() {
	t := m.live.t
	t.Helper()
	if out, err := exec.Command("syncthing", "generate", "--home", m.home, "--no-default-folder").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("syncthing", "--home", m.home, "--device-id").Output()
	testkit.Must(t, err)
	m.id = strings.TrimSpace(string(out))
}

// configure connects Syncthing to another machine, without a network.
func (m *syncMachine) configure(other *syncMachine) {
	t := m.live.t
	t.Helper()
	device := func(m *syncMachine) string {
		return fmt.Sprintf(`<device id=%q name=%q><address>tcp://127.0.0.1:%d</address></device>`, m.id, m.id[:7], m.port)
	}
	text := fmt.Sprintf(`<configuration version="36">
<folder id="memory" label="memory" path=%q type="sendreceive" rescanIntervalS="3600" fsWatcherEnabled="true" fsWatcherDelayS="10">
<filesystemType>basic</filesystemType><device id=%q></device><device id=%q></device><maxConflicts>10</maxConflicts>
</folder>
%s%s
<gui enabled="true" tls="false"><address>127.0.0.1:%d</address><apikey>test</apikey></gui>
<options><listenAddress>tcp://127.0.0.1:%d</listenAddress><globalAnnounceEnabled>false</globalAnnounceEnabled>
<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>
<urAccepted>-1</urAccepted><crashReportingEnabled>false</crashReportingEnabled><startBrowser>false</startBrowser>
<reconnectionIntervalS>1</reconnectionIntervalS></options>
</configuration>
`, m.live.root, m.id, other.id, device(m), device(other), m.gui, m.port)
	testkit.Must(t, os.WriteFile(filepath.Join(m.home, "config.xml"), []byte(text), 0o600))
	testkit.Must(t, os.MkdirAll(filepath.Join(m.live.root, ".stfolder"), 0o700))
	testkit.Must(t, os.WriteFile(filepath.Join(m.live.root, ".stignore"), []byte("(?d).memwatchd-*\n"), 0o600))
}

func (m *syncMachine) startSync() {
	t := m.live.t
	t.Helper()
	m.cmd = exec.Command("syncthing", "serve", "--home", m.home, "--no-browser", "--no-restart", "--logfile",
		filepath.Join(m.home, "log"))
	m.cmd.Env = append(os.Environ(), "HOME="+m.home, "STNOUPGRADE=1")
	testkit.Must(t, m.cmd.Start())
	t.Cleanup(m.stopSync)
}

// stopSync ends Syncthing; it can be started again.
func (m *syncMachine) stopSync() {
	if m.cmd == nil {
		return
	}
	m.cmd.Process.Signal(os.Interrupt)
	m.cmd.Wait()
	m.cmd = nil
}
