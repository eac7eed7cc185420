package todosync

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"

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
	if diff := cmp.Diff(want, d.writes); diff != "" {
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

func TestSyncer(t *testing.T) {
	// begin returns a disk with two open copies, already recorded.
	begin := func(t *testing.T) *disk {
		d := newDisk(t)
		d.save(before, []byte(openTask))
		d.save(today, []byte(openTask))
		d.run(t, time.Hour)
		d.wrote(t)
		return d
	}
	for name, f := range map[string]func(*testing.T, *disk){
		"ticks, once": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			d.run(t, 3*time.Second)
			d.is(t, before, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
		"what cannot be read for a moment": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			d.unread[today] = 2
			d.run(t, time.Minute)
			d.is(t, before, doneTask)
		},
		"in one write": func(t *testing.T, d *disk) {
			d.save(before, []byte("## Tasks\n- [ ] One\n- [ ] Two\n"))
			d.run(t, time.Minute)
			d.saveAsUser("2026-02-05/c.md", "## Tasks\n- [x] One\n")
			d.saveAsUser(today, "## Tasks\n- [x] Two\n")
			d.saveAsUser(before, "## Tasks\n- [ ] One\n- [ ] Two\n")
			d.run(t, time.Hour)
			d.wrote(t, before)
			d.is(t, before, "## Tasks\n- [x] One\n- [x] Two\n")
		},
		"a person unticks": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			d.run(t, time.Minute)
			d.saveAsUser(before, openTask)
			d.run(t, time.Hour)
			d.saveAsUser(today, doneTask+"- [ ] More\n")
			d.run(t, time.Hour)
			d.boot(d.syncer.State)
			d.run(t, time.Hour)
			d.saveAsUser("2026-02-06/c.md", doneTask)
			d.run(t, time.Hour)
			d.is(t, before, openTask)
			d.wrote(t, before)
		},
		"unticked before anything was written": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 5*time.Second)
			if st := d.syncer.Status(); st.Planned != 1 || len(st.Waiting) != 1 || st.Waiting[0].Path != before {
				t.Errorf("status %+v", st)
			}
			d.saveAsUser(today, openTask)
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"the source is unticked at the last moment": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 9*time.Second+900*time.Millisecond)
			d.saveAsUser(today, openTask) // the file becomes writable before this change is read
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"the source is removed": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 5*time.Second)
			d.saveAsUser(today, "")
			d.run(t, time.Hour)
			d.wrote(t)
		},
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
		"the target is moved away for the moment of the write": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask)
			d.locked[before] = fs.ErrNotExist
			d.failed = func(path string) { delete(d.locked, path) }
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
		"the target is empty for the moment of the write": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask)
			d.blank = map[string]bool{before: true}
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
		"the target is removed for a while": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 3*time.Second)
			d.saveAsUser(before, "")
			d.run(t, 3*time.Second)
			d.saveAsUser(before, openTask)
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"it waits until its day is too long ago": func(t *testing.T, d *disk) {
			d.locked[before] = vault.ErrBusy
			d.saveAsUser(today, doneTask)
			d.run(t, 6*24*time.Hour)
			delete(d.locked, before)
			d.boot(d.syncer.State)
			d.locked[before] = vault.ErrBusy
			d.run(t, 3*24*time.Hour)
			clear(d.locked)
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"the target becomes unclear": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			d.saveAsUser(before, openTask+"- [ ] call bob\n")
			d.run(t, time.Hour)
			d.wrote(t)
			if st := d.syncer.Status(); st.Unclear != 1 {
				t.Errorf("status %+v", st)
			}
		},
		"the target is edited elsewhere": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 5*time.Second)
			d.saveAsUser(before, "Words\n\n"+openTask)
			d.run(t, 5*time.Second)
			d.wrote(t)
			d.run(t, time.Hour)
			d.wrote(t, before)
			d.is(t, before, "Words\n\n"+doneTask)
		},
		"the day of the target is renamed": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.saveAsUser(before, openTask)
			d.run(t, time.Hour)
			d.saveAsUser(before, "")
			d.saveAsUser("2026-02-03/a.md", openTask)
			d.run(t, time.Hour)
			d.saveAsUser("2026-02-06/c.md", doneTask)
			d.run(t, time.Hour)
			d.is(t, "2026-02-03/a.md", openTask) // a user unticked it, at another path
			d.wrote(t, before)
		},
		"a restart while it waits": func(t *testing.T, d *disk) {
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.saveAsUser(today, doneTask)
			d.run(t, 5*time.Second)
			d.wrote(t)
			d.boot(d.syncer.State)
			d.run(t, time.Hour)
			d.wrote(t, before)
		},
		"done while it was off": func(t *testing.T, d *disk) {
			d.save(today, []byte(doneTask))
			d.boot(d.syncer.State)
			d.run(t, time.Minute)
			d.wrote(t, before)
		},
		"moved while it was off": func(t *testing.T, d *disk) {
			d.saveAsUser("2026-02-05/c.md", "## Tasks\n- [x] Ring\n")
			d.run(t, time.Minute)
			d.saveAsUser(before, openTask+"- [ ] Ring\n")
			d.run(t, time.Minute)
			d.save("2026-02-05/c.md", nil)
			d.save("2026-02-06/c.md", []byte("## Tasks\n- [x] Ring\n"))
			d.boot(d.syncer.State)
			d.run(t, time.Hour)
			d.wrote(t)
		},
		"the state is lost": func(t *testing.T, d *disk) {
			d.save(today, []byte(doneTask))
			d.boot(filepath.Join(t.TempDir(), "todosync.json"))
			d.run(t, time.Hour)
			d.wrote(t)
			if st := d.syncer.Status(); st.Known != 1 || st.Planned != 0 {
				t.Errorf("status %+v", st)
			}
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.run(t, time.Hour)
			d.wrote(t)
			d.saveAsUser("2026-02-06/c.md", doneTask)
			d.run(t, time.Hour)
			d.wrote(t, before)
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
		"refused until the file changes": func(t *testing.T, d *disk) {
			d.locked[before] = &vault.RefusedError{Path: before, Reason: "it has two links"}
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.wrote(t)
			delete(d.locked, before)
			d.saveAsUser(before, openTask+"- [ ] More\n")
			d.run(t, 12*time.Second)
			d.wrote(t, before)
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
		"turned off": func(t *testing.T, d *disk) {
			d.boot(d.syncer.State)
			d.syncer.Off = true
			d.run(t, time.Minute)
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			d.boot(d.syncer.State) // enabled again
			d.run(t, time.Hour)
			d.wrote(t)
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
		"writing turned off": func(t *testing.T, d *disk) {
			d.locked[before] = vault.ErrOff
			d.saveAsUser(today, doneTask)
			d.run(t, time.Hour)
			if p := d.syncer.Status(); len(p.Waiting) != 1 || p.Waiting[0].Reason != "writing is disabled" {
				t.Errorf("plan %+v", p)
			}
			d.wrote(t)
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
		"the plan shows what has not been looked at": func(t *testing.T, d *disk) {
			d.saveAsUser(today, doneTask)
			if p := d.syncer.Status(); p.Planned != 1 {
				t.Errorf("plan %+v", p)
			}
			d.run(t, time.Hour)
			d.wrote(t, before)
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, begin(t)) })
		})
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
		if diff := cmp.Diff(f, again.Files()[i]); diff != "" {
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
