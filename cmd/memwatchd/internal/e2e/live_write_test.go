package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/vault"
)

// A chores is a daemon with copies of tasks.
type chores struct {
	*live
	before, now string // sessions of yesterday and of today
}

const oneTask = "---\ntasks: \"0/1\"\n---\n\n## Tasks\n- [ ] Renew the certificate\n"

// startChores starts a daemon that has recorded an open task in two sessions.
func startChores(t *testing.T, config string) *chores {
	t.Helper()
	return startChoresAt(t, t.TempDir(), config)
}

func startChoresAt(t *testing.T, root, config string) *chores {
	t.Helper()
	c := &chores{before: testkit.DaysAgo(1) + "/cli_1.md", now: testkit.DaysAgo(0) + "/cli_2.md"}
	testkit.WriteFile(t, filepath.Join(root, c.before), oneTask)
	testkit.WriteFile(t, filepath.Join(root, c.now), oneTask)
	c.live = startLive(t, root, config)
	c.noted()
	return c
}

// noted waits until reconciliation has seen every file.
func (c *chores) noted() {
	c.t.Helper()
	c.until("the tasks are noted", func() bool {
		s, err := c.status()
		return err == nil && s.Todosync != nil && s.Todosync.Problem == ""
	})
}

// edit replaces a word in a file in place, as some editors do.
func (c *chores) edit(path, from, to string) {
	c.t.Helper()
	text := c.read(path)
	if !strings.Contains(text, from) {
		c.t.Fatalf("%s has no %q:\n%s", path, from, text)
	}
	c.write(path, strings.Replace(text, from, to, 1))
}

// becomes waits until a file has the wanted text.
func (c *chores) becomes(path, want string) {
	c.t.Helper()
	c.until(path+" is written", func() bool { return c.read(path) == want })
}

// sentinel completes a task of its own. When the copy is ticked, everything
// saved before has been decided too.
func (c *chores) sentinel(name string) {
	c.t.Helper()
	older, newer := testkit.DaysAgo(1)+"/sentinel_"+name+".md", testkit.DaysAgo(0)+"/sentinel_"+name+".md"
	c.write(older, "## Tasks\n- [ ] sentinel "+name+"\n")
	c.sync()
	c.until("the sentinel is noted", func() bool { return c.planned() == 0 })
	c.write(newer, "## Tasks\n- [x] sentinel "+name+"\n")
	c.becomes(older, "## Tasks\n- [x] sentinel "+name+"\n")
}

func (c *chores) planned() int { return c.mustStatus().Todosync.Planned }

func (c *chores) remove(path string) {
	c.t.Helper()
	testkit.Must(c.t, os.Remove(c.path(path)))
}

// eager makes the daemon write without delay and with a high limit of writes.
const eager = "write: {quiet: 0s, fuse: 10000}\nwatch: {vanish: 100ms, reconcile: 2s}\n"

// thorough returns the number of repetitions: usually, or faults with FAULTS=1.
func thorough(usually, faults int) int {
	if os.Getenv("FAULTS") != "" {
		return faults
	}
	return usually
}

// leftovers lists the files below the root that are not Markdown files or the
// filler of a disk, and the journal's unresolved changes.
func (l *live) leftovers() (left []string) {
	l.t.Helper()
	journal := filepath.Join(filepath.Dir(l.config), "state/memwatchd/memwatchd/journal")
	records, err := os.ReadDir(journal)
	testkit.Must(l.t, err)
	for _, r := range records {
		if strings.Contains(r.Name(), "intent") {
			left = append(left, r.Name())
		}
	}
	filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it existed only for a moment
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.IsDir() && filepath.Ext(path) != ".md" && e.Name() != "filler":
			left = append(left, path)
		}
		return nil
	})
	return left
}

// wantSettled waits until no temporary files of changes are left.
func (l *live) wantSettled() {
	l.t.Helper()
	var left []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left = l.leftovers()
		if len(left) == 0 {
			return
		}
	}
	l.t.Errorf("left over: %q; status %+v", left, l.mustStatus().Write)
}

var (
	boxes    = regexp.MustCompile(`(?m)^- \[x\]`)
	counters = regexp.MustCompile(`(?m)^tasks: "\d+/`)
)

// unticked returns a text with its boxes unticked and its counters at zero.
func unticked(text string) string {
	return counters.ReplaceAllString(boxes.ReplaceAllString(text, "- [ ]"), `tasks: "0/`)
}

// A saver saves a file as some programs do.
type saver struct {
	name    string
	save    func(path, text string) error
	appends bool // appends a line instead of replacing the file
	torn    bool // a concurrent reader may find a part
}

var savers = []saver{
	{name: "renames over", save: func(path, text string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	}},
	{name: "in place", torn: true, save: func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }},
	{name: "moves away first", torn: true, save: func(path, text string) error {
		return errors.Join(os.Rename(path, path+"~"), os.WriteFile(path, []byte(text), 0o600), os.Remove(path+"~"))
	}},
	{name: "removes first", torn: true, save: func(path, text string) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600))
	}},
	{name: "appends", appends: true, torn: true, save: func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // the file is held open
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}},
}

// personal returns the n-th version that a person saves.
func personal(n int) string {
	return fmt.Sprintf("%s\n## Words\n%s- version %d\n", oneTask, strings.Repeat("- padding\n", n%50), n)
}

func appended(n int) string { return fmt.Sprintf("- version %d\n", n) }

// needLeases skips a test if the file system has no leases. Without them a file cannot be
// locked while it is changed, and a save at that instant may be kept under another name.
func needLeases(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "probe.md"))
	testkit.Must(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	if writing, _ := (&vault.Vault{Dir: dir}).Writing("probe.md"); !writing {
		t.Skip("no leases here")
	}
}

// TestRaceWrites saves a file while the daemon ticks and opens a task in it on
// request, as fast as it can. No save is ever lost, and no temporary files are
// left.
func TestRaceWrites(t *testing.T) {
	for _, p := range savers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.race(t, thorough(40, 1000))
		})
	}
}

func (p saver) race(t *testing.T, rounds int) {
	c := startChores(t, eager)
	needLeases(t, c.root)
	path := c.path(c.before)
	was := personal(0)
	testkit.Must(t, os.WriteFile(path, []byte(was), 0o600))
	c.sync()
	var over atomic.Bool
	var asked, changed atomic.Int64
	var group sync.WaitGroup
	defer group.Wait()
	defer over.Store(true)
	group.Go(func() {
		for ; !over.Load(); asked.Add(1) {
			var a api.TodoAnswer
			req := fields{"text": "renew the certificate", "state": []string{"done", "open"}[asked.Load()%2], "sync": false}
			if err := c.ask("todo", owner.with(req), &a); err != nil && !strings.Contains(err.Error(), `"busy"`) && !strings.Contains(err.Error(), `"not_found"`) {
				t.Error(err)
				return
			}
			if slices.ContainsFunc(a.Changed, func(p api.TodoPlace) bool { return p.Path == c.before }) {
				changed.Add(1)
			}
		}
	})
	if !p.torn {
		group.Go(func() { // a reader finds a whole version
			for !over.Load() {
				text, err := os.ReadFile(path)
				var n int
				_, version, ok := strings.Cut(string(text), "- version ")
				if _, scanned := fmt.Sscan(version, &n); err != nil || !ok || scanned != nil || unticked(string(text)) != personal(n) {
					t.Errorf("torn, %v:\n%s", err, text)
					return
				}
			}
		})
	}
	want := was
	for n := 1; (n <= rounds || changed.Load() == 0 && n < 20*rounds) && !t.Failed(); n++ { // on a busy machine, changes are rare
		text := personal(n)
		if p.appends {
			text = appended(n)
			want += text
		} else {
			want = text
		}
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		testkit.Must(t, p.save(path, text))
		if n%2 == 0 {
			continue // again at once
		}
		c.until(fmt.Sprintf("version %d is there", n), func() bool {
			got, err := os.ReadFile(path)
			return err == nil && unticked(string(got)) == want
		})
	}
	over.Store(true)
	group.Wait()
	c.wantSettled()
	if got := unticked(c.read(c.before)); got != want {
		t.Errorf("in the end there is\n%s\nwant\n%s", got, want)
	}
	s := c.mustStatus().Write
	if changed.Load() == 0 || s.Applied == 0 {
		t.Errorf("it was changed %d times: %+v", changed.Load(), s)
	}
	t.Logf("%d saves; %d questions, %d changes of the file, %d of all; %d races lost", rounds, asked.Load(), changed.Load(), s.Applied, s.LostRaces)
}

// A wave is a task in many files that is completed in one of them.
type wave struct {
	*chores
	name  string
	files int
}

func (w *wave) path(n int) string {
	return fmt.Sprintf("%s/%s_%02d.md", testkit.DaysAgo(1+n%7), w.name, n)
}

func (w *wave) text(n int) string {
	return strings.Replace(personal(n), "Renew the certificate", "Send "+w.name, 1)
}

func (w *wave) ticked(n int) string {
	return strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(w.text(n))
}

// wave completes a task that is open in a number of files, and waits until the
// daemon has begun to tick it there.
func (c *chores) wave(name string, files int) *wave {
	c.t.Helper()
	w := c.newWave(name, files)
	w.come()
	c.until("it begins", func() bool { return w.done() > 0 })
	return w
}

// newWave creates a task that is open in a number of files.
func (c *chores) newWave(name string, files int) *wave {
	c.t.Helper()
	w := &wave{c, name, files}
	for n := range files {
		c.write(w.path(n), w.text(n))
	}
	c.write(w.source(), "## Tasks\n- [ ] Send "+name+"\n")
	if c.done != nil { // it runs, or will run with another configuration
		c.until("all of it is indexed", func() bool { return c.ask("sync", owner, new(api.SyncAnswer)) == nil })
	}
	return w
}

// source returns the file in which the task is completed.
func (w *wave) source() string { return testkit.DaysAgo(0) + "/source_" + w.name + ".md" }

// come completes the task in place, which needs no space on a disk.
func (w *wave) come() {
	w.t.Helper()
	f, err := os.OpenFile(w.live.path(w.source()), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("x"), int64(len("## Tasks\n- [")))
	}
	testkit.Must(w.t, err)
	testkit.Must(w.t, f.Close())
}

// done returns the number of ticked files. Each file must have its whole old or
// its whole new version.
func (w *wave) done() (done int) {
	w.t.Helper()
	for n := range w.files {
		switch text := w.read(w.path(n)); text {
		case w.ticked(n):
			done++
		case w.text(n):
		default:
			w.t.Fatalf("%s is neither as it was nor as it is to be:\n%s", w.path(n), text)
		}
	}
	return done
}

// wantOnce waits until all files are ticked, and checks that each was written
// once and that no temporary files are left.
func (w *wave) wantOnce() {
	w.t.Helper()
	w.until("all are ticked", func() bool { return w.done() == w.files })
	w.wantSettled()
	var want []string
	for n := range w.files {
		want = append(want, w.path(n)+" done")
	}
	slices.Sort(want)
	var got []string
	w.until("the journal has the last change", func() bool {
		var a api.JournalAnswer
		w.must("journal", owner.with(fields{"limit": 1000}), &a)
		got = nil
		for _, j := range a.Writes {
			if strings.Contains(j.Path, "/"+w.name+"_") {
				got = append(got, j.Path+" "+j.State)
			}
		}
		return len(got) >= len(want)
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("the journal has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// startWaves starts a daemon that already has a record of tasks: changes seen
// at the first start are only recorded.
func startWaves(t *testing.T) *chores {
	t.Helper()
	c := startChores(t, eager)
	c.sentinel("first")
	return c
}

// TestRaceWriteInterrupted kills, stops or reloads the daemon at any moment while it writes.
// Each file has its old or its new version, the next daemon completes the rest, once, and a
// daemon that is stopped ends soon and without error, and leaves no temporary files.
func TestRaceWriteInterrupted(t *testing.T) {
	for name, interrupt := range map[string]func(*chores){
		"killed": func(c *chores) {
			time.Sleep(rand.N(60 * time.Millisecond))
			c.kill()
		},
		"stopped": func(c *chores) {
			testkit.Must(c.t, c.stop()) // within a minute
			if left := c.leftovers(); len(left) > 0 {
				c.t.Errorf("left over: %q", left)
			}
		},
		"reloaded": func(c *chores) { // with valid and invalid configurations
			for _, config := range []string{eager, "write: {quit: 1s}\n", eager + "journal: {keep: 91d}\n"} {
				c.configure(config)
				c.cmd.Process.Signal(syscall.SIGHUP)
				time.Sleep(rand.N(60 * time.Millisecond))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startWaves(t)
			halfway := 0
			for round := range thorough(4, 100) {
				w := c.wave("w"+letters(round), 12)
				time.Sleep(rand.N(60 * time.Millisecond))
				interrupt(c)
				done := w.done()
				if done < w.files {
					halfway++
				}
				if c.done == nil {
					c.start()
				}
				w.wantOnce()
				if t.Failed() {
					t.Fatalf("round %d, when %d of %d were ticked", round, done, w.files)
				}
				for n := range w.files { // keeps the number of files constant
					c.remove(w.path(n))
				}
				c.remove(w.source())
			}
			t.Logf("%d times there was something left to do", halfway)
		})
	}
}

// mix lists requests that agents send at the same time, each with a unique word
// in all its text.
var mix = []struct {
	op  string
	req func(word string) fields
}{
	{"note", func(word string) fields { return fields{"text": "noted " + word, "topic": "mix"} }},
	{"capture", func(word string) fields { return fields{"bullets": []string{"captured " + word}} }},
	{"session", func(word string) fields {
		return fields{"session": "mix", "draft": fields{"facts": []fields{{"text": "said " + word}}}}
	}},
	{"session", func(word string) fields {
		return fields{"session": "mix", "draft": fields{"tasks": []fields{{"text": "do " + word}}}}
	}},
	{"item_put", func(word string) fields { return fields{"namespace": "fact", "key": "key " + word, "value": "v"} }},
	{"remember", func(word string) fields { // the title is in the summary, too
		return fields{"title": "of " + strings.TrimSuffix(word, "."), "text": "keep " + word, "explicit": true}
	}},
}

// TestMixKilled kills the daemon at any moment while agents and a person write
// to the same files. Acknowledged writes are there, nothing is duplicated, and
// no temporary files are left.
func TestMixKilled(t *testing.T) {
	t.Parallel()
	c := startChores(t, eager)
	log := "memory/" + testkit.DaysAgo(0) + ".md"
	c.write(log, "# Log\n")
	acked := map[string]string{} // word → operation that wrote it
	for round := range thorough(5, 60) {
		var mu sync.Mutex
		var all sync.WaitGroup
		dead := make(chan struct{})
		for i, m := range mix {
			all.Go(func() {
				for n := 0; ; n++ {
					word := fmt.Sprintf("q%dw%dn%d.", round, i, n)
					answer := json.RawMessage{}
					if err := c.ask(m.op, owner.with(m.req(word)), &answer); err == nil {
						mu.Lock()
						acked[word] = m.op
						mu.Unlock()
						continue
					} else if !strings.Contains(err.Error(), `"busy"`) { // caused by the person's saves
						if strings.HasPrefix(err.Error(), m.op+" ") && !strings.Contains(err.Error(), `"unavailable"`) {
							t.Errorf("%v", err)
						}
						return
					}
				}
			})
		}
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-dead:
					return
				case <-time.After(time.Millisecond):
				}
				word := fmt.Sprintf("q%dpn%d.", round, n)
				f, err := os.OpenFile(c.path(log), os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString("- typed " + word + "\n")
					f.Close()
				}
				if err == nil {
					mu.Lock()
					acked[word] = "a person"
					mu.Unlock()
				}
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
		time.Sleep(50*time.Millisecond + rand.N(500*time.Millisecond))
		c.kill()
		close(dead)
		all.Wait()
		c.start()
		c.sync()
		c.wantSettled()
		c.wantMix(acked)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d were acknowledged", len(acked))
}

var (
	mixWord = regexp.MustCompile(`q\d+(?:w\d+|p)n\d+\.`)
	mixID   = regexp.MustCompile(`<!-- id=(\w+)`)
)

// wantMix checks that each acknowledged word is in the files once and other
// words at most once, and that no section of a session's file and no id is
// duplicated.
func (c *chores) wantMix(acked map[string]string) {
	c.t.Helper()
	count := map[string]int{}
	err := filepath.WalkDir(c.root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range mixWord.FindAllString(string(data), -1) {
			count[word]++
		}
		seen := map[string]bool{}
		for _, id := range mixID.FindAllString(string(data), -1) {
			if seen[id] {
				c.t.Errorf("%s has %s twice", path, id)
			}
			seen[id] = true
		}
		for line := range strings.Lines(string(data)) {
			if heading := strings.TrimSpace(line); strings.HasSuffix(path, "mix.md") && strings.HasPrefix(heading, "#") {
				if seen[heading] {
					c.t.Errorf("%s has %q twice", path, heading)
				}
				seen[heading] = true
			}
		}
		return err
	})
	testkit.Must(c.t, err)
	for word, by := range acked {
		if count[word] != 1 {
			c.t.Errorf("%s of %s is there %d times", word, by, count[word])
		}
	}
	for word, n := range count {
		if n > 1 && acked[word] == "" {
			c.t.Errorf("%s is there %d times", word, n)
		}
	}
}

// A sitting is an editor with an open file.
type sitting struct {
	name    string
	program string
	needs   []string
	keys    func(*screen) // adds a line without saving
	save    func(*screen) // saves and ends
	reason  string        // why the write-back waits
}

const ownLine = "- a line of mine"

var sittings = []sitting{
	{
		name: "vim", program: "vim -u DEFAULTS", needs: []string{"vim", "tmux"}, reason: "the file is open in vim",
		keys: func(s *screen) { s.send("G", "o"); s.send("-l", "--", ownLine); s.send("Escape") },
		save: func(s *screen) { s.send("-l", ":wq"); s.send("Enter") },
	},
	{
		name: "emacs", program: "emacs -nw -q", needs: []string{"emacs", "tmux"}, reason: "the file has unsaved changes in Emacs",
		keys: func(s *screen) { s.send("M->"); s.send("-l", "--", ownLine); s.send("Enter") },
		save: func(s *screen) { s.send("C-x", "C-s"); s.wait("Wrote "); s.send("C-x", "C-c") },
	},
}

// sit opens a file of a new memory in an editor and changes it there, without
// saving.
func (e sitting) sit(t *testing.T) (*chores, *screen) {
	t.Helper()
	needs(t, e.needs...)
	c := startChoresAt(t, filepath.Join(homeDir(t), "root"), eager)
	s := newScreen(t, e.program+" "+c.path(c.before), 100)
	s.wait("Renew the certificate")
	e.keys(s)
	s.wait(ownLine)
	return c, s
}

// waitsFor waits until the status reports that a file is not written for a
// reason.
func (c *chores) waitsFor(path, reason string) {
	c.t.Helper()
	c.until(path+" waits: "+reason, func() bool {
		return slices.ContainsFunc(c.mustStatus().Todosync.Waiting, func(w api.Skipped) bool {
			return w.Path == path && strings.Contains(w.Reason, reason)
		})
	})
}

var tickedTask = strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(oneTask)

// TestWriteWaitsForEditor checks that the daemon does not write a file with
// unsaved changes in an editor. It ticks the box after the file is saved.
func TestWriteWaitsForEditor(t *testing.T) {
	t.Parallel()
	for _, e := range sittings {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c, s := e.sit(t)
			c.edit(c.now, "[ ]", "[x]")
			c.waitsFor(c.before, e.reason)
			others := c.wave("letter", 3) // need not wait
			c.until("others are written", func() bool { return others.done() == others.files })
			if text := c.read(c.before); text != oneTask {
				t.Errorf("it was not left alone:\n%s", text)
			}
			e.save(s)
			s.end()
			c.becomes(c.before, tickedTask+ownLine+"\n")
			os.Remove(c.path(c.before) + "~") // Emacs keeps a backup
			others.wantOnce()
		})
	}
}
