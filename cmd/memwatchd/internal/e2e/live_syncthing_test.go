package e2e

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	if err != nil {
		t.Fatal(err)
	}
	var machines [2]*syncMachine
	for i, name := range []string{"desk", "laptop"} {
		m := &syncMachine{home: t.TempDir(), port: freePort(t), gui: freePort(t)}
		// Both daemons run on one machine, but only the first one maintains the memory.
		m.live = newLive(t, t.TempDir(), fmt.Sprintf("compactor: {host: %q}\n", []string{self, "another"}[i]))
		if hosts {
			m.live.env = append(m.live.env, "MEMWATCHD_MEMORY_HOST="+name)
		}
		m.watchCopies()
		m.live.start()
		m.generate()
		machines[i] = m
	}
	a, b := machines[0], machines[1]
	a.configure(b)
	b.configure(a)
	a.startSync()
	b.startSync()
	began, most := time.Now(), 0
	text := func(m *syncMachine, word string, n int) fields {
		return owner.with(fields{"text": fmt.Sprintf("%s %s number%d", word, filepath.Base(m.home), n)})
	}
	found := func(word string, want int) {
		t.Helper()
		for _, m := range machines {
			n := 0
			for end := time.Now().Add(3 * time.Minute); n != want && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				n = m.live.count(word)
			}
			if name := m.replaced.Load(); n < want && name != nil {
				t.Skipf("%d of %d entries with %s are found: Syncthing replaced %s by another conflict copy of the same second",
					n, want, word, *name)
			}
			if n != want {
				t.Fatalf("%d entries with %s are found, not %d; files: %q", n, word, want, m.live.contents())
			}
			most = max(most, len(m.live.copies()))
		}
		t.Logf("%v: %s: %d found on both, at most %d conflict copies", time.Since(began).Round(time.Second), word, want, most)
	}
	offline := func(do func(m *syncMachine)) {
		b.stopSync()
		do(a)
		do(b)
		b.startSync()
	}

	for n := range 4 {
		machines[n%2].live.must("note", text(machines[n%2], "turnabout", n), new(api.NoteAnswer))
		found("turnabout", n+1)
	}
	for n := range 13 {
		offline(func(m *syncMachine) {
			fact := text(m, "remembered", n)
			fact["explicit"], fact["title"] = true, fmt.Sprintf("Title %d of %s", n, filepath.Base(m.home))
			m.live.must("remember", fact, new(api.RememberAnswer))
		})
		found("remembered", 2*(n+1))
	}

	a.live.write("memory/2026-02-05.md", "## Tasks\n\n- [ ] tickword zero\n- [ ] tickword one\n- [ ] tickword two\n- [ ] tickword three\n")
	a.live.write("notes/line.md", "# Budget\n\nlineword is 100 this year\n")
	found("tickword", 4)
	found("lineword", 1)
	offline(func(m *syncMachine) {
		words, number := []string{"zero", "two"}, "120"
		if m == b {
			words, number = []string{"one", "three"}, "150"
		}
		for _, word := range words {
			m.live.must("todo", owner.with(fields{"text": "tickword " + word, "state": "done"}), new(api.TodoAnswer))
		}
		m.live.write("notes/line.md", fmt.Sprintf("# Budget\n\nlineword is %s this year\n", number))
	})
	found("lineword", 2)

	var group sync.WaitGroup
	for i, m := range machines {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		group.Go(func() {
			for n := range 30 {
				m.live.must("note", text(m, "simultaneous", n), new(api.NoteAnswer))
				time.Sleep(time.Duration(500+r.IntN(3000)) * time.Millisecond)
			}
		})
	}
	group.Wait()
	found("simultaneous", 60)

	for i, m := range machines {
		group.Go(func() {
			for n := range 15 {
				m.live.must("session", owner.with(fields{"session": fmt.Sprintf("cli_%d", i), "draft": fields{
					"tasks": []fields{{"text": fmt.Sprintf("sessionword %d number%d", i, n)}}}}), new(api.SessionAnswer))
			}
		})
	}
	group.Wait()
	found("sessionword", 30)

	a.live.within(3*time.Minute, "both machines have the same files", func() bool {
		time.Sleep(time.Second)
		return maps.Equal(a.live.contents(), b.live.contents())
	})
	t.Logf("conflict copies left to a person: %q", a.live.copies())
	a.live.must("conflicts_merge", owner.with(fields{"keep": "both"}), new(api.ConflictsAnswer))
	a.live.within(3*time.Minute, "both machines have the same files, without conflict copies", func() bool {
		time.Sleep(time.Second)
		return len(a.live.copies())+len(b.live.copies()) == 0 && maps.Equal(a.live.contents(), b.live.contents())
	})
	if tasks := a.live.contents()["memory/2026-02-05.md"]; strings.Count(tasks, "- [x] tickword") != 4 {
		t.Errorf("a tick is lost: %q", tasks)
	}
	for word, want := range map[string]int{"turnabout": 4, "remembered": 26, "simultaneous": 60, "sessionword": 30, "lineword": 2} {
		found(word, want)
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
