package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/vault"
)

// lookAtWatches tells whether every directory can be watched.
func lookAtWatches(ctx context.Context, e *examination) []finding {
	w := watchUse(ctx)
	w.needed = 1
	if e.tree != nil {
		w.needed = e.tree.directories + 1 // that of the cookies
	}
	if e.status != nil {
		w.watched, w.polled = e.status.Watch.Directories, len(e.status.Watch.Polled)
		w.running, w.problem = true, e.status.Watch.Problem
	}
	return w.findings()
}

// watches are how many of what the kernel watches there may be, and are. Limits
// are zero where they are not known.
type watches struct {
	limit, used         int // directories and files, of all of this user's programs; used is -1 if it cannot be told
	instances, instUsed int // programs that watch
	queue               int // events that wait
	needed              int // directories that are to be watched
	running             bool
	watched, polled     int // by the daemon
	problem             string
}

// raise is how a limit is raised for good.
func raise(key string, to int) string {
	return fmt.Sprintf("echo fs.inotify.%s=%d | sudo tee -a /etc/sysctl.d/60-memwatchd.conf && sudo sysctl --system", key, to)
}

// roomyQueue is how many events wait at once when a large tree is checked out.
const roomyQueue = 16384

func (w watches) findings() (list []finding) {
	if w.limit == 0 {
		return nil // there are no such limits
	}
	enough := 524288
	for enough < 2*(w.needed+w.used) {
		enough *= 2
	}
	others := max(w.used-w.watched, 0)
	switch {
	case w.polled > 0 && w.problem != "":
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s cannot be watched: %s", term.Plural(w.polled, "directory"), w.problem)})
		if w.limit-others < w.needed+w.needed/10 {
			list[0].Command = raise("max_user_watches", enough)
		}
	case w.limit-others < w.needed:
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%d directories are to be watched, and of %d watches %d are others'", w.needed, w.limit, others),
			Advice: "what is left over is looked at every few seconds instead; allow more", Command: raise("max_user_watches", enough)})
	case w.limit-others < 2*w.needed:
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%d directories are to be watched, and there are only %d watches for it", w.needed, w.limit-others),
			Advice: "allow more before the memory grows", Command: raise("max_user_watches", enough)})
	}
	if !w.running && w.instances > 0 && w.instUsed >= w.instances {
		list = append(list, finding{Mark: problem, Text: fmt.Sprintf("all %d instances of inotify are in use, and the daemon needs one", w.instances),
			Command: raise("max_user_instances", 2*w.instances)})
	} else if w.instances > 0 && w.instUsed >= w.instances*9/10 {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("of %d instances of inotify %d are in use", w.instances, w.instUsed), Command: raise("max_user_instances", 2*w.instances)})
	}
	if w.queue > 0 && w.queue < roomyQueue {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("only %d events of files can wait at once; when more happens, everything is looked at again", w.queue),
			Command: raise("max_queued_events", roomyQueue)})
	}
	if list == nil {
		return well("%d of %d watches are needed", w.needed, w.limit)
	}
	return list
}

// lookAtOpenFiles tells whether the daemon may open enough files.
func lookAtOpenFiles(_ context.Context, e *examination) []finding {
	pid, open := os.Getpid(), 0
	if e.status != nil {
		pid, open = e.status.PID, e.status.OpenFiles
	}
	limit, ok := openLimit(pid)
	if !ok {
		return nil
	}
	return openFilesOf(open, limit)
}

// fewFiles is a limit of open files with which a daemon still works that has a
// few clients, but not many.
const fewFiles = 1024

func openFilesOf(open int, limit uint64) []finding {
	advice := "LimitNOFILE= of a service, or ulimit -n before the daemon is started, allows more"
	switch {
	case uint64(open)*10 >= limit*9:
		return []finding{{Mark: problem, Text: fmt.Sprintf("the daemon has %d of %d files open that it may", open, limit), Advice: advice}}
	case limit < fewFiles || uint64(open)*2 >= limit:
		return []finding{{Mark: warning, Text: fmt.Sprintf("the daemon may have %d files open, and has %d", limit, open), Advice: advice}}
	case open == 0:
		return well("%d may be open", limit)
	}
	return well("%d of %d", open, limit)
}

// lookAtDisk tells whether there is room for what is kept.
func lookAtDisk(_ context.Context, e *examination) (list []finding) {
	c := e.config
	var index int64
	if e.status != nil {
		index = e.status.Index.Size
	} else {
		index, _, _ = sizeOf(c.Index.Dir)
	}
	for _, d := range []struct {
		what, dir string
		need      uint64
	}{
		{"the memory", c.Memory.Dir, 0},
		{"the state", c.State.Dir, 0},
		{"the index", c.Index.Dir, uint64(max(index, 0))}, // a second one, when it is made anew
	} {
		dir := d.dir
		for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
			dir = filepath.Dir(dir) // where it is going to be made
		}
		if kind, err := vault.FileSystemOf(dir); err == nil {
			list = append(list, roomFor(d.what, d.dir, kind, d.need)...)
		}
	}
	return list
}

// How much room, in bytes, is too little for anything, and for comfort.
const (
	noRoom    = 8 << 20
	scantRoom = 128 << 20
)

func roomFor(what, dir string, kind vault.FileSystem, need uint64) []finding {
	advice := "make room on that disk"
	switch {
	case kind.Total == 0:
		return nil // it does not say
	case kind.Free < noRoom || kind.Files < 16:
		text := fmt.Sprintf("the disk with %s is full: %s are left at %s", what, term.Bytes(int64(kind.Free)), dir)
		if kind.Free >= noRoom {
			text = fmt.Sprintf("the disk with %s has room for %d more files only, at %s", what, kind.Files, dir)
		}
		return []finding{{Mark: problem, Text: text, Advice: advice}}
	case kind.Free < scantRoom || kind.Free < 2*need:
		return []finding{{Mark: warning, Text: fmt.Sprintf("the disk with %s is nearly full: %s are left at %s", what, term.Bytes(int64(min(kind.Free, math.MaxInt64))), dir), Advice: advice}}
	}
	return well("%s are left for %s", term.Bytes(int64(min(kind.Free, math.MaxInt64))), what)
}

// sizeOf is how much the files directly in a directory, and below it, have.
func sizeOf(dir string) (size int64, files int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			size, files = size+info.Size(), files+1
		}
		return nil
	})
	return size, files, err
}

// lookAtZone tells where days begin and end.
func lookAtZone(_ context.Context, e *examination) []finding {
	return zoneOf(e.config.Memory.Timezone, setup.MachineZone(), e.now)
}

// zoneOf judges a time zone that is configured, beside that of the machine.
func zoneOf(configured, machine string, now time.Time) []finding {
	if configured == "Local" {
		f := finding{Mark: note, Text: "memory.timezone is the machine's: days move when that does, and where a service has another"}
		if machine != "Local" {
			f.Advice = "write it into the configuration: memory.timezone: " + machine
		} else {
			f.Advice = "which one it is cannot be told; write it into the configuration, such as memory.timezone: Europe/Berlin"
		}
		return []finding{f}
	}
	there, err := time.LoadLocation(configured)
	here, err2 := time.LoadLocation(machine)
	if err == nil && err2 == nil && now.In(there).Format(time.DateTime) != now.In(here).Format(time.DateTime) {
		return []finding{{Mark: note, Text: fmt.Sprintf("days begin and end in %s, where it is %s, and not as on this machine, where it is %s",
			configured, now.In(there).Format("Mon 15:04"), now.In(here).Format("Mon 15:04")), Advice: "if that is not meant, correct memory.timezone"}}
	}
	return well("%s", configured)
}

// lookAtClock tells whether the machine's clock can be right.
func lookAtClock(_ context.Context, e *examination) []finding {
	var built, newest time.Time
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				built, _ = time.Parse(time.RFC3339, s.Value)
			}
		}
	}
	if e.tree != nil {
		newest = e.tree.newest
	}
	return clockOf(e.now, built, newest)
}

// clockOf judges a time by others that cannot be later.
func clockOf(now, built, newest time.Time) []finding {
	f := finding{Mark: warning, Advice: "set the clock, or have it set from the network", Command: "timedatectl"}
	switch {
	case now.Before(built) || now.Year() < 2024:
		f.Text = fmt.Sprintf("the clock says %s, which is before this program was made", now.Format(time.DateTime))
	case newest.Sub(now) > 5*time.Minute:
		f.Text = fmt.Sprintf("the clock says %s, and a file was changed at %s: one of them is wrong", now.Format(time.DateTime), newest.In(now.Location()).Format(time.DateTime))
	default:
		return well("%s", now.Format(time.DateTime))
	}
	return []finding{f}
}

// lookAtJournal tells how much is kept of what was changed.
func lookAtJournal(_ context.Context, e *examination) []finding {
	size, n, err := sizeOf(filepath.Join(e.config.State.Dir, "journal"))
	if err != nil {
		return nil // nothing was ever written
	}
	return journalOf(size, n, config.ShortDuration(e.config.Journal.Keep))
}

// largeJournal is a size, in bytes, that a journal of one person's memory has
// only if something writes again and again.
const largeJournal = 512 << 20

func journalOf(size int64, files int, keep string) []finding {
	if size < largeJournal {
		return well("%s of what can be undone, kept for %s", term.Bytes(size), keep)
	}
	return []finding{{Mark: warning, Text: fmt.Sprintf("the journal has %s in %s", term.Bytes(size), term.Plural(files, "file")),
		Advice: "see what is written so much (memwatchd journal); journal.keep, " + keep + " now, says how long it is kept"}}
}
