package todosync

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A disk is a directory with controlled time. It implements both the files and
// their writer: a file saved by a user is not written for a while.
type disk struct {
	*world
	syncer  *Syncer
	quiet   time.Duration
	saved   map[string]time.Time
	locked  map[string]error // the error of a write to the file
	unread  map[string]int   // how many reads of the file fail
	failed  func(string)     // called when a write fails
	blank   map[string]bool  // the next write sees an empty file, as during a save by a program
	writes  []string
	written string // ID of the last change
}

func newDisk(t *testing.T) *disk {
	d := &disk{world: newWorld(t, "2026-02-06", 7), quiet: 10 * time.Second, saved: map[string]time.Time{}, locked: map[string]error{}, unread: map[string]int{}}
	d.boot(filepath.Join(t.TempDir(), "todosync.json"))
	return d
}

// boot simulates a restart of the process.
func (d *disk) boot(state string) {
	d.syncer = &Syncer{
		Files: d, Writer: d, List: d.list, Parse: d.parseFile, Subject: d.rules.Subject, State: state,
		Logger: slog.New(slog.DiscardHandler),
		Now:    func() time.Time { return time.Now().AddDate(26, 1, 5) }, // a synctest bubble starts at 2000-01-01
	}
}

func (d *disk) list() []Listed {
	var list []Listed
	for _, path := range sortedKeys(d.files) {
		doc := d.parse(path)
		list = append(list, Listed{path, doc.Place.Day, sha256.Sum256(doc.Source)})
	}
	return list
}

func (d *disk) parseFile(f vault.File) *memory.Document {
	return d.layout.Parse(f.Path, f.Data, memory.Meta{})
}

// Load implements [Files].
func (d *disk) Load(path string) (*memory.Document, error) {
	if _, ok := d.files[path]; !ok {
		return nil, fs.ErrNotExist
	}
	if d.unread[path] > 0 {
		d.unread[path]--
		return nil, errors.New("not now")
	}
	return d.parse(path), nil
}

// Write implements [Writer].
func (d *disk) Write(_ context.Context, c vault.Change) (vault.Written, error) {
	old, ok := d.files[c.Path]
	if !ok {
		return vault.Written{}, fs.ErrNotExist
	}
	if err := d.locked[c.Path]; err != nil {
		if d.failed != nil {
			d.failed(c.Path)
		}
		return vault.Written{}, err
	}
	if d.blank[c.Path] {
		delete(d.blank, c.Path)
		_, err := c.Edit(&vault.File{Path: c.Path})
		return vault.Written{}, err
	}
	if wait := d.quiet - time.Since(d.saved[c.Path]); wait > 0 && !c.Requested {
		return vault.Written{}, &vault.WaitError{Path: c.Path, Reason: "the file was changed a moment ago", For: wait}
	}
	out, err := c.Edit(&vault.File{Path: c.Path, Data: old})
	if err != nil || out == nil || bytes.Equal(out, old) {
		return vault.Written{}, err
	}
	d.files[c.Path] = out
	d.writes = append(d.writes, c.Path)
	d.written = fmt.Sprint("change of ", c.Path, " at ", time.Now())
	d.syncer.Changed(c.Path, d.parse(c.Path)) // as a watcher would
	return vault.Written{ID: d.written, Changed: true}, nil
}

// saveAsUser saves a file, or removes it if text is empty.
func (d *disk) saveAsUser(path, text string) {
	d.save(path, []byte(text))
	d.saved[path] = time.Now()
	doc, _ := d.Load(path)
	d.syncer.Changed(path, doc)
}

func (d *disk) run(t *testing.T, passes time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.syncer.Run(ctx) }()
	if !d.syncer.Started() {
		if err := d.syncer.Start(ctx); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(passes)
	synctest.Wait()
	cancel()
	<-done
}

func (d *disk) wrote(t *testing.T, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, d.writes); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	d.writes = nil
}

func (d *disk) is(t *testing.T, path, want string) {
	t.Helper()
	if got := string(d.files[path]); got != want {
		t.Errorf("%s is %q, want %q", path, got, want)
	}
}

const (
	openTask = "## Tasks\n- [ ] Call Bob\n"
	doneTask = "## Tasks\n- [x] Call Bob\n"
	before   = "2026-02-04/a.md"
	today    = "2026-02-06/b.md"
)

// TestOldDaysAreNotRead checks that a changed file is not read if its day is no longer
// synchronized.
func TestOldDaysAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.run(t, time.Second)
		const old = "2025-12-01/old.md"
		d.saveAsUser(old, openTask)
		d.saveAsUser(before, openTask)
		d.unread[old], d.unread[before] = 1, 1
		d.run(t, time.Minute)
		if d.unread[before] != 0 || d.unread[old] != 1 {
			t.Errorf("unread are %v", d.unread)
		}
	})
}

// begin runs a test of a disk with two open copies, already recorded.
func begin(t *testing.T, name string, test func(*testing.T, *disk)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk(t)
			d.save(before, []byte(openTask))
			d.save(today, []byte(openTask))
			d.run(t, time.Hour)
			d.wrote(t)
			test(t, d)
		})
	})
}

// taskText returns a section of tasks: those with a plus are done, those with a minus
// open, and a star is a paragraph.
func taskText(tasks string) string {
	text := "## Tasks\n"
	for task := range strings.SplitSeq(tasks, ",") {
		switch name := strings.ReplaceAll(task[min(1, len(task)):], "_", " "); {
		case task == "":
			return ""
		case task == "*":
			text = "Words\n\n" + text
		case task[0] == '+':
			text += "- [x] " + name + "\n"
		default:
			text += "- [ ] " + name + "\n"
		}
	}
	return text
}

// play performs the steps of a script, which semicolons separate:
//
//	save PATH TASKS   a user saves a file, or removes it if there are no tasks
//	put PATH TASKS    likewise, without an event
//	run DURATION      time passes
//	restart off       the process starts again, with ticking disabled if that is written
//	lose              likewise, without its state
//	lock PATH CAUSE   writes of the file fail
//	unlock
//	unread PATH N     reads of the file fail
//	blank PATH        the next write sees an empty file
//	wrote PATH...     the files that were written since the last check
//	is PATH TASKS     the content of a file
//	status N M K      the numbers of planned, unclear and waiting ticks
func (d *disk) play(t *testing.T, script string) {
	t.Helper()
	for step := range strings.SplitSeq(script, ";") {
		words := append(strings.Fields(step), "", "")
		path := cmp.Or(map[string]string{"before": before, "today": today, "third": "2026-02-05/c.md", "other": "2026-02-06/c.md"}[words[1]],
			words[1])
		switch text := words[2]; words[0] {
		case "save":
			d.saveAsUser(path, taskText(text))
		case "put":
			d.save(path, []byte(taskText(text)))
		case "run":
			passes, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatal(err)
			}
			d.run(t, passes)
		case "restart":
			d.boot(d.syncer.State)
			d.syncer.Off = words[1] == "off"
		case "lose":
			d.boot(filepath.Join(t.TempDir(), "todosync.json"))
		case "lock":
			d.locked[path] = map[string]error{"busy": vault.ErrBusy, "off": vault.ErrOff, "gone": fs.ErrNotExist,
				"refused": &vault.RefusedError{Path: path, Reason: "it has two links"}}[text]
			if text == "gone" { // for a moment
				d.failed = func(path string) { delete(d.locked, path) }
			}
		case "unlock":
			clear(d.locked)
		case "unread":
			d.unread[path] = len(text)
		case "blank":
			d.blank = map[string]bool{path: true}
		case "wrote":
			var want []string
			for _, path := range strings.Fields(step)[1:] {
				want = append(want, map[string]string{"before": before}[path])
			}
			d.wrote(t, want...)
		case "is":
			d.is(t, path, taskText(text))
		case "status":
			st := d.syncer.Status()
			got := fmt.Sprintf("status %d %d %d", st.Planned, st.Unclear, len(st.Waiting))
			if got != strings.TrimSpace(step) {
				t.Errorf("%s, want%s: %+v", got, step, st)
			}
		default:
			t.Fatalf("no step is called %q", words[0])
		}
	}
}

func TestSyncer(t *testing.T) {
	const wait = "save before -Call_Bob,-More; save today +Call_Bob; run 5s;" // the file was changed a moment ago
	for name, script := range map[string]string{
		"ticks, once":                      "save today +Call_Bob; run 3s; is before +Call_Bob; run 1h; wrote before",
		"what cannot be read for a moment": "save today +Call_Bob; unread today II; run 1m; is before +Call_Bob",
		"in one write": "put before -One,-Two; run 1m; save third +One; save today +Two; save before -One,-Two; run 1h;" +
			"wrote before; is before +One,+Two",
		"a person unticks": "save today +Call_Bob; run 1m; save before -Call_Bob; run 1h; save today +Call_Bob,-More; run 1h;" +
			"restart; run 1h; save other +Call_Bob; run 1h; is before -Call_Bob; wrote before",
		"unticked before anything was written":      wait + "status 1 0 1; save today -Call_Bob; run 1h; wrote",
		"the source is unticked at the last moment": wait + "run 4.9s; save today -Call_Bob; run 1h; wrote",
		"the source is removed":                     wait + "save today; run 1h; wrote",
		"the target is removed for a while":         wait + "save before; run 3s; save before -Call_Bob; run 1h; wrote",
		"the target is edited elsewhere": wait + "save before *,-Call_Bob; run 5s; wrote; run 1h; wrote before;" +
			"is before *,+Call_Bob",
		"a restart while it waits":       wait + "wrote; restart; run 1h; wrote before",
		"the target is moved away":       "save before -Call_Bob; lock before gone; save today +Call_Bob; run 1h; wrote before",
		"the target is empty":            "save before -Call_Bob; blank before; save today +Call_Bob; run 1h; wrote before",
		"the target becomes unclear":     "save today +Call_Bob; save before -Call_Bob,-call_bob; run 1h; wrote; status 0 1 0",
		"it waits for too long":          "lock before busy; save today +Call_Bob; run 144h; restart; run 72h; unlock; run 1h; wrote",
		"refused until the file changes": "lock before refused; save today +Call_Bob; run 1h; wrote; unlock; save before -Call_Bob,-More; run 12s; wrote before",
		"writing turned off":             "lock before off; save today +Call_Bob; run 1h; status 1 0 1; wrote",
		"turned off":                     "restart off; run 1m; save today +Call_Bob; run 1h; restart; run 1h; wrote",
		"not looked at":                  "save today +Call_Bob; status 1 0 0; run 1h; wrote before",
		"done while it was off":          "put today +Call_Bob; restart; run 1m; wrote before",
		"moved while it was off": "save third +Ring; run 1m; save before -Call_Bob,-Ring; run 1m; put third; put other +Ring;" +
			"restart; run 1h; wrote",
		"the day of the target is renamed": "save today +Call_Bob; run 1h; save before -Call_Bob; run 1h; save before;" +
			"save 2026-02-03/a.md -Call_Bob; run 1h; save other +Call_Bob; run 1h; is 2026-02-03/a.md -Call_Bob; wrote before",
		"the state is lost": "put today +Call_Bob; lose; run 1h; wrote; status 0 0 0; save before -Call_Bob,-More; run 1h; wrote;" +
			"save other +Call_Bob; run 1h; wrote before",
	} {
		begin(t, name, func(t *testing.T, d *disk) { d.play(t, script) })
	}
}

// TestSyncerTroubles checks what scripts cannot describe.
func TestSyncerTroubles(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *disk){
		"the open copy was saved before, and is told after": func(t *testing.T, d *disk) {
			const third = "2026-02-05/c.md"
			d.syncer.CatchUp = func(context.Context) error {
				d.syncer.CatchUp = nil
				d.saveAsUser(third, openTask)
				return nil
			}
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before, third)
		},
		"a crash after the write": func(t *testing.T, d *disk) {
			d.saveAsUser("2026-02-03/c.md", openTask)
			d.run(t, time.Hour)
			d.locked["2026-02-03/c.md"] = vault.ErrBusy
			d.locked[before] = vault.ErrBusy
			d.saveAsUser(today, doneTask)
			d.run(t, time.Minute)
			// The file was written, but the state was not saved.
			saved, err := state.Read(d.syncer.State)
			if err != nil {
				t.Fatal(err)
			}
			clear(d.locked)
			d.run(t, time.Hour)
			d.wrote(t, "2026-02-03/c.md", before)
			d.save("2026-02-03/c.md", []byte(openTask))
			if err := state.Write(d.syncer.State, saved); err != nil {
				t.Fatal(err)
			}
			d.boot(d.syncer.State)
			d.run(t, time.Hour)
			d.wrote(t, "2026-02-03/c.md")
			d.saveAsUser(before, openTask) // the tick is recorded as such
			d.run(t, time.Hour)
			d.saveAsUser("2026-02-06/c.md", doneTask)
			d.run(t, time.Hour)
			d.is(t, before, openTask)
		},
		"a try that fails changes the file for a moment": func(t *testing.T, d *disk) {
			d.locked[before] = errors.New("input/output error")
			tries := 0
			d.failed = func(path string) {
				tries++
				d.syncer.Changed(path, d.parse(path)) // the file was briefly away
			}
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			if tries > 25 {
				t.Errorf("tried %d times within an hour", tries)
			}
			d.wrote(t)
			delete(d.locked, before)
			d.run(t, 10*time.Minute)
			d.wrote(t, before)
		},
		"more days than before": func(t *testing.T, d *disk) {
			d.save("2026-01-10/a.md", []byte("## Tasks\n- [ ] Old\n"))
			d.save("2026-01-11/a.md", []byte("## Tasks\n- [x] Old\n"))
			d.boot(d.syncer.State)
			d.syncer.Days = 60
			d.run(t, time.Hour)
			d.wrote(t)
			d.saveAsUser("2026-01-12/a.md", "## Tasks\n- [x] Old\n") // the catalogue is incomplete for this day
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"the clock was ahead": func(t *testing.T, d *disk) {
			now := d.syncer.Now
			d.syncer.Now = func() time.Time { return now().AddDate(1, 0, 0) }
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.run(t, time.Hour)
			d.syncer.Now = now
			d.saveAsUser("2026-02-05/c.md", "## Tasks\n- [x] More\n") // the catalogue has dropped this day
			d.run(t, time.Hour)
			d.wrote(t)
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
			d.syncer.Now = func() time.Time { return now().AddDate(1, 0, 0) }
			d.saveAsUser("2027-02-05/c.md", openTask)
			d.run(t, time.Hour)
			d.boot(d.syncer.State)
			d.run(t, time.Hour)
			d.wrote(t)
			d.saveAsUser(today, doneTask+"- [x] More\n")
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
		"asked for": func(t *testing.T, d *disk) {
			d.saveAsUser("2026-02-05/c.md", openTask)
			d.saveAsUser(today, openTask+"\n") // just changed, which a request ignores
			d.run(t, 5*time.Second)
			for _, o := range d.syncer.Set(t.Context(), [][]Copy{{FileOf(d.parse(today)).Copy(0)}}, memory.Done, func(*memory.Entry) bool { return true }) {
				if o.Err != nil || !o.Changed {
					t.Errorf("%+v", o)
				}
			}
			// Resulting ticks are made at once where possible.
			d.wrote(t, today, before)
			d.run(t, time.Hour)
			d.wrote(t, "2026-02-05/c.md")
		},
		"the state cannot be saved": func(t *testing.T, d *disk) {
			d.syncer.State = filepath.Join(t.TempDir(), "missing", "todosync.json")
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t)
			if st := d.syncer.Status(); st.Problem == "" || st.Planned != 1 {
				t.Errorf("status %+v", st)
			}
			d.syncer.State = filepath.Join(t.TempDir(), "todosync.json")
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
	} {
		begin(t, name, test)
	}
}

// TestSyncerRequest checks that a request acts at once, even if its own file is
// reported as changed during the request, or other files changed some time ago.
func TestSyncerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first = "2026-02-03/a.md"
		d := newDisk(t)
		for _, path := range []string{first, before, today} {
			d.save(path, []byte(openTask))
		}
		d.run(t, time.Hour)
		d.save(today, []byte(doneTask))
		d.locked[first] = &vault.WaitError{Path: first, Reason: "not now", For: time.Minute}
		d.failed = func(string) { d.syncer.Changed(today, d.parse(today)) }
		d.syncer.Request(t.Context(), today)
		d.wrote(t, before)

		d = newDisk(t)
		d.save(before, []byte(openTask))
		d.save(today, []byte(openTask))
		d.run(t, time.Hour)
		d.saveAsUser(before, "words\n\n"+openTask)
		d.save(today, []byte(doneTask))
		d.syncer.Request(t.Context(), today)
		d.wrote(t)
		time.Sleep(time.Minute)
		d.syncer.Request(t.Context(), today)
		d.wrote(t, before)
	})
}

// TestSyncerReported checks that a task that was reopened everywhere is ticked again if
// a program reports it as done in a new file, and that a copy that a person reopened
// alone stays open.
func TestSyncerReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const later = "2026-02-06/later.md"
		for _, everywhere := range []bool{true, false} {
			d := newDisk(t)
			d.save(before, []byte(openTask))
			d.save(today, []byte(openTask))
			d.run(t, time.Hour)
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
			d.saveAsUser(before, openTask)
			if everywhere {
				d.saveAsUser(today, openTask)
			}
			d.run(t, time.Hour)
			d.save(later, []byte(doneTask))
			d.syncer.CatchUp = func(context.Context) error {
				d.syncer.Changed(later, d.parse(later)) // its event arrives meanwhile
				return nil
			}
			d.syncer.Request(t.Context(), later)
			if everywhere {
				d.wrote(t, before, today)
			} else {
				d.wrote(t)
			}
		}
	})
}

// TestSyncerState checks that the state survives encoding and decoding, and
// contains no text of the files.
func TestSyncerState(t *testing.T) {
	c := &Catalogue{}
	w := newWorld(t, "2026-02-06", 7)
	var files []*File
	for i := range 50 {
		path := fmt.Sprintf("2026-02-%02d/s%d.md", i%7+1, i)
		w.save(path, []byte(openTask+fmt.Sprintf("- [x] Secret %d <!-- id=x%d -->\n", i, i)))
		files = append(files, w.readFile(path))
	}
	done, _ := c.Update(files, nil, &w.rules)
	wishes, _ := c.Resolve(done, &w.rules)
	path := filepath.Join(t.TempDir(), "tasks.json")
	if err := state.Save(path, savedState{stateVersion, "root", c.Since, c.Files(), wishes}); err != nil {
		t.Fatal(err)
	}
	data, err := state.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(string(data)), "secret") {
		t.Error("the state holds text of people's files")
	}
	again, wishesAgain, err := readState(path, "root")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range c.Files() {
		for j := range f.Boxes {
			f.Boxes[j].Entry, f.Boxes[j].Task = 0, 0
		}
		if diff := gocmp.Diff(f, again.Files()[i]); diff != "" {
			t.Error(diff)
		}
	}
	if !slices.EqualFunc(wishes, wishesAgain, func(a, b TickRequest) bool { return a.compare(b) == 0 }) {
		t.Error("wishes differ")
	}
}

// TestTickUnclear checks that a tick depends on the current content of a file,
// not on the content at planning time.
func TestTickUnclear(t *testing.T) {
	w := newWorld(t, "2026-02-06", 7)
	w.save(today, []byte(doneTask))
	w.save(before, []byte(openTask+"- [ ] call bob\n"))
	wish := TickRequest{Done: w.readFile(today).Copy(0), Path: before}
	if out := w.tickAll(before, []TickRequest{wish}); out != nil {
		t.Errorf("one of two boxes is ticked:\n%s", out)
	}
	w.save(before, []byte(openTask))
	if out := w.tickAll(before, []TickRequest{wish}); string(out) != doneTask {
		t.Errorf("the box is not ticked:\n%s", out)
	}
}
