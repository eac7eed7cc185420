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
	"github.com/memwatchd/memwatchd/memory"
)

// TestSyncthing checks that everything that two machines write to one memory, which
// Syncthing copies between them, is found on both at once, and that no conflict
// copies are left after merging. With memory.host there are none in the first
// place.
func TestSyncthing(t *testing.T) {
	faults(t)
	needs(t, "syncthing")
	for _, hosts := range []bool{true, false} {
		t.Run(fmt.Sprintf("hosts %t", hosts), func(t *testing.T) { runSyncthing(t, hosts) })
	}
}

func runSyncthing(t *testing.T, hosts bool) {
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var machines [2]*syncMachine
	for i, name := range []string{"desk", "laptop"} {
		maintainer := []string{self, "another"}[i] // the first one merges
		config := fmt.Sprintf("write: {quiet: 1s}\ncompactor: {host: %q}\nconflicts: {auto: additions}\n", maintainer)
		m := &syncMachine{home: t.TempDir(), port: freePort(t), gui: freePort(t)}
		m.live = newLive(t, t.TempDir(), config)
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
	note := func(m *syncMachine, word string, n int) {
		m.live.must("note", owner.with(fields{"text": fmt.Sprintf("%s %s number%d", word, filepath.Base(m.home), n)}), new(api.NoteAnswer))
	}
	found := func(word string, want int) {
		t.Helper()
		copies := 0
		for _, m := range machines {
			n := 0
			for end := time.Now().Add(time.Minute); n != want && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				n = m.live.count(word)
			}
			if name := m.replaced.Load(); n < want && name != nil {
				t.Skipf("%d of %d entries with %s are found: Syncthing replaced %s by another conflict copy of the same second",
					n, want, word, *name)
			}
			if n != want {
				t.Fatalf("%d entries with %s are found, not %d; files: %q", n, word, want, m.live.contents())
			}
			copies = max(copies, len(m.live.copies()))
		}
		t.Logf("%s: %d of %d found on both, %d conflict copies", word, want, want, copies)
		if hosts && copies > 0 {
			t.Errorf("%s: %d conflict copies in spite of memory.host", word, copies)
		}
	}

	for n := range 10 {
		note(machines[n%2], "turnabout", n)
		for _, m := range machines {
			m.live.until("the note is copied", func() bool { return m.live.count("turnabout") == n+1 })
		}
	}
	found("turnabout", 10)

	b.stopSync()
	for n := range 5 {
		note(a, "offline", n)
		note(b, "offline", n)
	}
	b.startSync()
	found("offline", 10)

	var group sync.WaitGroup
	for i, m := range machines {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		group.Go(func() {
			for n := range 30 {
				note(m, "simultaneous", n)
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

	same := func() bool {
		a.live.must("conflicts_merge", owner.with(fields{"keep": "both"}), new(api.ConflictsAnswer))
		return len(a.live.copies())+len(b.live.copies()) == 0 && maps.Equal(a.live.contents(), b.live.contents())
	}
	a.live.within(3*time.Minute, "both machines have the same files, without conflict copies", func() bool {
		time.Sleep(time.Second)
		return same()
	})
	for word, want := range map[string]int{"turnabout": 10, "offline": 10, "simultaneous": 60, "sessionword": 30} {
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
<folder id="memory" label="memory" path=%q type="sendreceive" rescanIntervalS="10" fsWatcherEnabled="true" fsWatcherDelayS="1">
<filesystemType>basic</filesystemType><device id=%q></device><device id=%q></device><maxConflicts>-1</maxConflicts>
</folder>
%s%s
<gui enabled="true" tls="false"><address>127.0.0.1:%d</address><apikey>test</apikey></gui>
<options><listenAddress>tcp://127.0.0.1:%d</listenAddress><globalAnnounceEnabled>false</globalAnnounceEnabled>
<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>
<urAccepted>-1</urAccepted><crashReportingEnabled>false</crashReportingEnabled><startBrowser>false</startBrowser>
<reconnectionIntervalS>1</reconnectionIntervalS></options>
</configuration>
`, m.live.root, m.id, other.id, device(m), device(other), m.gui, m.port)
	if err := os.WriteFile(filepath.Join(m.home, "config.xml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(m.live.root, ".stfolder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.live.root, ".stignore"), []byte("(?d).memwatchd-*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *syncMachine) startSync() {
	t := m.live.t
	t.Helper()
	m.cmd = exec.Command("syncthing", "serve", "--home", m.home, "--no-browser", "--no-restart", "--logfile",
		filepath.Join(m.home, "log"))
	m.cmd.Env = append(os.Environ(), "HOME="+m.home, "STNOUPGRADE=1")
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
