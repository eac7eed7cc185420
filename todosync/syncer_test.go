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
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A testDisk is a directory with controlled time. It implements both the files and
// their writer: a file saved by a user is not written for a while.
type testDisk struct {
	*world
	syncer *Syncer
	saved  map[string]time.Time
	locked map[string]error // the error of a write to the file
	unread map[string]int   // how many reads of the file fail
	failed func(string)     // called when a write fails
	tries  int              // writes that failed
	blank  string           // the next write of this file sees it empty, as during a save by a program
	writes []string
	kept   []byte // an earlier state
}

func newDisk(t *testing.T) *testDisk {
	d := &testDisk{world: newWorld(t, "2026-02-06", 7), saved: map[string]time.Time{}, locked: map[string]error{}, unread: map[string]int{}}
	d.boot(filepath.Join(t.TempDir(), "todosync.json"))
	return d
}

// boot simulates a restart of the process.
func (d *testDisk) boot(state string) {
	d.syncer = &Syncer{
		Files: d, Writer: d, List: d.list, Parse: d.parseFile, Subject: d.rules.Subject, State: state,
		Logger: slog.New(slog.DiscardHandler),
		Now:    testNow,
	}
}

// testNow returns the time; a synctest bubble starts at 2000-01-01.
func testNow() time.Time { return time.Now().AddDate(26, 1, 5) }

func (d *testDisk) list() []Listed {
	var list []Listed
	for _, path := range sortedKeys(d.files) {
		doc := d.parse(path)
		list = append(list, Listed{path, doc.Place.Day, sha256.Sum256(doc.Source)})
	}
	return list
}

func (d *testDisk) parseFile(f vault.File) *memory.Document {
	return d.layout.Parse(f.Path, f.Data, memory.Meta{})
}

// Load implements [Files].
func (d *testDisk) Load(path string) (*memory.Document, error) {
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
func (d *testDisk) Write(_ context.Context, c vault.Change) (vault.Written, error) {
	old, ok := d.files[c.Path]
	if !ok {
		return vault.Written{}, fs.ErrNotExist
	}
	if err := d.locked[c.Path]; err != nil {
		d.tries++
		if d.failed != nil {
			d.failed(c.Path)
		}
		return vault.Written{}, err
	}
	if d.blank == c.Path {
		d.blank = ""
		_, err := c.Edit(&vault.File{Path: c.Path})
		return vault.Written{}, err
	}
	if wait := 10*time.Second - time.Since(d.saved[c.Path]); wait > 0 && !c.Requested {
		return vault.Written{}, &vault.WaitError{Path: c.Path, Reason: "the file was changed a moment ago", For: wait}
	}
	out, err := c.Edit(&vault.File{Path: c.Path, Data: old})
	if err != nil || out == nil || bytes.Equal(out, old) {
		return vault.Written{}, err
	}
	d.files[c.Path] = out
	d.writes = append(d.writes, c.Path)
	d.syncer.Changed(c.Path, d.parse(c.Path)) // as a watcher would
	return vault.Written{ID: fmt.Sprint("change of ", c.Path, " at ", time.Now()), Changed: true}, nil
}

// saveAsUser saves a file, or removes it if text is empty.
func (d *testDisk) saveAsUser(path, text string) {
	d.save(path, []byte(text))
	d.saved[path] = time.Now()
	doc, _ := d.Load(path)
	d.syncer.Changed(path, doc)
}

func (d *testDisk) run(t *testing.T, passes time.Duration) {
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

func (d *testDisk) wrote(t *testing.T, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, d.writes); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	d.writes = nil
}

const (
	openTask = "## Tasks\n- [ ] Call Bob\n"
	doneTask = "## Tasks\n- [x] Call Bob\n"
	before   = "2026-02-04/a.md"
	today    = "2026-02-06/b.md"
)

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

// pathOf returns the path of a file in a script.
func pathOf(name string) string {
	paths := map[string]string{"first": "2026-02-03/a.md", "before": before, "third": "2026-02-05/c.md", "today": today, "other": "2026-02-06/c.md"}
	return cmp.Or(paths[name], name)
}

// play performs the steps of a script, which semicolons separate:
//
//	save PATH TASKS   a user saves a file, or removes it if there are no tasks
//	put PATH TASKS    likewise, without an event
//	run DURATION      time passes while the syncer runs
//	sleep DURATION    time passes
//	restart off       the process starts again, with ticking disabled if that is written
//	lose              likewise, without its state
//	lock PATH CAUSE   writes of the file fail
//	report PATH       a write that fails reports the file as changed
//	unlock
//	unread PATH N     reads of the file fail
//	reads PATH N      the number of failures that are left
//	blank PATH        the next write sees an empty file
//	wrote PATH...     the files that were written since the last check
//	is PATH TASKS     the content of a file
//	status N M K      the numbers of planned, unclear and waiting ticks, and a problem
//	state DIR         the directory of the state, which may be missing
//	days N            the age of files after the next start
//	clock YEARS       the clock is ahead
//	keep, crash       saves the state, or starts again with the saved one
//	catchup PATH TASKS  a user saves a file, whose event arrives with the next request
//	tries N           writes have failed at most N times
//	set PATH          a request sets the first task of a file done
//	request PATH      a program has changed the file
func (d *testDisk) play(t *testing.T, script string) {
	t.Helper()
	for step := range strings.SplitSeq(script, ";") {
		words := append(strings.Fields(step), "", "")
		path := pathOf(words[1])
		switch text := words[2]; words[0] {
		case "save":
			d.saveAsUser(path, taskText(text))
		case "put":
			d.save(path, []byte(taskText(text)))
		case "run", "sleep":
			passes, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatal(err)
			}
			if words[0] == "run" {
				d.run(t, passes)
			} else {
				time.Sleep(passes)
			}
		case "report":
			d.failed = func(string) { d.syncer.Changed(path, d.parse(path)) }
		case "restart":
			d.boot(d.syncer.State)
			d.syncer.Off = words[1] == "off"
		case "lose":
			d.boot(filepath.Join(t.TempDir(), "todosync.json"))
		case "lock":
			d.locked[path] = map[string]error{"busy": vault.ErrBusy, "off": vault.ErrOff, "gone": fs.ErrNotExist,
				"error":   errors.New("input/output error"),
				"refused": &vault.RefusedError{Path: path, Reason: "it has two links"},
				"wait":    &vault.WaitError{Path: path, For: time.Minute}}[text]
			if text == "gone" { // for a moment
				d.failed = func(path string) { delete(d.locked, path) }
			}
		case "tries":
			if most, _ := strconv.Atoi(words[1]); d.tries > most {
				t.Errorf("tried %d times", d.tries)
			}
		case "set":
			tasks := [][]Copy{{fileOf(d.parse(path)).Copy(0)}}
			for _, o := range d.syncer.Set(t.Context(), tasks, memory.Done, func(*memory.Entry) bool { return true }) {
				if o.Err != nil || !o.Changed {
					t.Errorf("%+v", o)
				}
			}
		case "unlock":
			clear(d.locked)
		case "unread":
			d.unread[path] = len(text)
		case "reads":
			if d.unread[path] != len(text) {
				t.Errorf("unread are %v", d.unread)
			}
		case "state":
			d.syncer.State = filepath.Join(t.TempDir(), words[1], "todosync.json")
		case "days":
			d.syncer.Days, _ = strconv.Atoi(words[1])
		case "clock":
			years, _ := strconv.Atoi(words[1])
			d.syncer.Now = func() time.Time { return testNow().AddDate(years, 0, 0) }
		case "keep", "crash":
			var err error
			if words[0] == "keep" {
				d.kept, err = state.Read(d.syncer.State)
			} else {
				err = state.Write(d.syncer.State, d.kept)
				d.boot(d.syncer.State)
			}
			if err != nil {
				t.Fatal(err)
			}
		case "catchup":
			d.syncer.CatchUp = func(context.Context) error {
				d.syncer.CatchUp = nil
				d.saveAsUser(path, taskText(text))
				return nil
			}
		case "request":
			d.syncer.Request(t.Context(), path)
		case "blank":
			d.blank = path
		case "wrote":
			var want []string
			for _, path := range strings.Fields(step)[1:] {
				want = append(want, pathOf(path))
			}
			d.wrote(t, want...)
		case "is":
			if got, want := string(d.files[path]), taskText(text); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		case "status":
			st := d.syncer.Status()
			got := fmt.Sprintf("status %d %d %d", st.Planned, st.Unclear, len(st.Waiting))
			if st.Problem != "" {
				got += " problem"
			}
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
		"the state cannot be saved": "state missing; save today +Call_Bob; run 1h; wrote; status 1 0 0 problem; state .; run 1h; wrote before",
		"a try that fails changes the file for a moment": "lock before error; report before; save today +Call_Bob; run 1h; tries 25; wrote;" +
			"unlock; run 10m; wrote before",
		// The file was just changed, which a request ignores. Resulting ticks are made at once where possible.
		"asked for": "save third -Call_Bob; save today *,-Call_Bob; run 5s; set today; wrote today before; run 1h; wrote third",
		"old days are not read": "save 2025-12-01/old.md -Call_Bob; save before -Call_Bob,-More; unread 2025-12-01/old.md I; unread before I;" +
			"run 1m; reads before; reads 2025-12-01/old.md I",
		"the open copy was saved before, and is told after": "catchup third -Call_Bob; save today +Call_Bob; run 1h; wrote before third",
		"a crash after the write": "save first -Call_Bob; run 1h; lock first busy; lock before busy; save today +Call_Bob; run 1m; keep;" +
			"unlock; run 1h; wrote first before; put first -Call_Bob; crash; run 1h; wrote first;" + // the tick is recorded as such
			"save before -Call_Bob; run 1h; save other +Call_Bob; run 1h; is before -Call_Bob",
		"more days than before": "put 2026-01-10/a.md -Old; put 2026-01-11/a.md +Old; restart; days 60; run 1h; wrote;" +
			"save 2026-01-12/a.md +Old; run 1h; wrote", // the catalogue is incomplete for this day
		"the clock was ahead": "clock 1; save before -Call_Bob,-More; run 1h; clock 0; save third +More; run 1h; wrote;" + // it has dropped this day
			"save today +Call_Bob; run 1h; wrote before; clock 1; save 2027-02-05/c.md -Call_Bob; run 1h; restart; run 1h; wrote;" +
			"save today +Call_Bob,+More; run 1h; wrote before",
		"a request acts at once, even if its file is reported meanwhile": "put first -Call_Bob; restart; run 1h; put today +Call_Bob;" +
			"lock first wait; report today; request today; wrote before",
		"a request does not change what was just saved": "save before *,-Call_Bob; put today +Call_Bob; request today; wrote;" +
			"sleep 1m; request today; wrote before",
		"a task reopened everywhere is reported again": "save today +Call_Bob; run 1h; wrote before; save before -Call_Bob; save today -Call_Bob;" +
			"run 1h; put 2026-02-06/later.md +Call_Bob; catchup 2026-02-06/later.md +Call_Bob; request 2026-02-06/later.md; wrote before today",
		"a task reopened alone is reported again": "save today +Call_Bob; run 1h; wrote before; save before -Call_Bob;" +
			"run 1h; put 2026-02-06/later.md +Call_Bob; catchup 2026-02-06/later.md +Call_Bob; request 2026-02-06/later.md; wrote",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				newDisk(t).play(t, "put before -Call_Bob; put today -Call_Bob; run 1h; wrote;"+script)
			})
		})
	}
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
