package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/vault"
)

// inspectWatches reports whether the limits of inotify suffice.
func inspectWatches(e *examination) findings {
	w := readWatches()
	w.needed = 1
	if e.survey != nil {
		w.needed = e.survey.directories + 1 // the directory of the cookies
	}
	if e.status != nil {
		w.running, w.watched = true, e.status.Watch.Directories
	}
	return w.findings()
}

// A watches contains the limits of inotify and their use. Limits are zero if
// they are unknown.
type watches struct {
	limit, used         int // directories and files, of all programs of this user
	instances, instUsed int // programs that watch
	needed              int // directories of the memory
	running             bool
	watched             int // by the daemon
}

// raiseLimitCommand returns a command that raises a limit of inotify permanently.
func raiseLimitCommand(key string, to int) string {
	return fmt.Sprintf("echo fs.inotify.%s=%d | sudo tee -a /etc/sysctl.d/60-memwatchd.conf && sudo sysctl --system",
		key, to)
}

func (w watches) findings() (list findings) {
	if w.limit == 0 {
		return nil // the system has no such limits
	}
	enough := 524288
	for enough < 2*(w.needed+w.used) {
		enough *= 2
	}
	available := w.limit - max(w.used-w.watched, 0)
	raise := raiseLimitCommand("max_user_watches", enough)
	switch {
	case available < w.needed:
		list.add(warning, "The daemon polls the directories that it cannot watch. Raise the limit.", raise,
			"The memory has %d directories, and %d of %d watches are left.", w.needed, available, w.limit)
	case available < 2*w.needed:
		list.add(note, "Raise the limit before the memory grows.", raise,
			"The memory has %d directories, and %d of %d watches are left.", w.needed, available, w.limit)
	}
	more := raiseLimitCommand("max_user_instances", 2*w.instances)
	switch {
	case w.instances == 0:
	case !w.running && w.instUsed >= w.instances:
		list.add(problem, "The daemon needs one.", more, "All %d instances of inotify are in use.", w.instances)
	case w.instUsed >= w.instances*9/10:
		list.add(note, "", more, "%d of %d instances of inotify are in use.", w.instUsed, w.instances)
	}
	return list.orPassed("The memory needs %d of %d watches.", w.needed, w.limit)
}

// inspectOpenFiles reports whether the daemon can open enough files.
func inspectOpenFiles(e *examination) findings {
	pid, open := os.Getpid(), 0
	if e.status != nil {
		pid, open = e.status.PID, e.status.OpenFiles
	}
	limit, ok := openLimit(pid)
	if !ok {
		return nil
	}
	return openFileFindings(uint64(open), limit)
}

// minOpenFiles is a limit of open files that suffices for a few clients only.
const minOpenFiles = 1024

func openFileFindings(open, limit uint64) (list findings) {
	if limit < minOpenFiles || open*2 >= limit {
		m := warning
		if open*10 >= limit*9 {
			m = problem
		}
		list.add(m, "Raise LimitNOFILE= of the service, or ulimit -n before the start.", "",
			"The daemon has %d of %d files open.", open, limit)
	}
	return list.orPassed("The daemon has %d of %d files open.", open, limit)
}

// inspectDisk reports the free space of the disks that the daemon writes to.
func inspectDisk(e *examination) (list findings) {
	c := e.config
	need := map[string]uint64{c.Memory.Dir: 0, c.State.Dir: 0, c.Index.Dir: 0}
	if e.status != nil {
		need[c.Index.Dir] = uint64(max(e.status.Index.Size, 0)) // a rebuild needs space for a second index
	}
	for _, path := range []string{c.Memory.Dir, c.State.Dir, c.Index.Dir} {
		dir := path
		for _, err := os.Stat(dir); errors.Is(err,
			fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
			dir = filepath.Dir(dir) // the parent of a directory that does not exist yet
		}
		if kind, err := vault.FileSystemOf(dir); err == nil {
			list = append(list, spaceFindings(path, kind, need[path])...)
		}
	}
	return list
}

// Free space in bytes.
const (
	noSpace     = 8 << 20   // too little for any write
	littleSpace = 128 << 20 // too little for the usual growth
)

// spaceFindings reports the free space of the disk of dir, where need bytes may be
// written at once.
func spaceFindings(dir string, kind vault.FileSystem, need uint64) (list findings) {
	free := term.FormatBytes(int64(min(kind.Free, math.MaxInt64)))
	advice := "Free space on that disk."
	switch {
	case kind.Total == 0:
		return nil // the file system does not report it
	case kind.Files < 16:
		list.add(problem, advice, "", "The disk of %s has room for %d files.", dir, kind.Files)
	case kind.Free < noSpace:
		list.add(problem, advice, "", "The disk of %s has %s free.", dir, free)
	case kind.Free < littleSpace || kind.Free < 2*need:
		list.add(warning, advice, "", "The disk of %s has %s free.", dir, free)
	}
	return list.orPassed("The disk of %s has %s free.", dir, free)
}

// inspectClock reports whether the clock can be right.
func inspectClock(e *examination) findings {
	var newest time.Time
	if e.survey != nil {
		newest = e.survey.newest
	}
	return clockFindings(e.now, build.ReadInfo().Time, newest)
}

// clockFindings compares now with times that are not later: that of the build, and
// the modification of the newest file.
func clockFindings(now, built, newest time.Time) (list findings) {
	advice := "Set the clock, or synchronize it with the network."
	switch {
	case now.Before(built) || now.Year() < 2024:
		list.add(warning, advice, "timedatectl", "The clock reads %s, before this program was built.",
			now.Format(time.DateTime))
	case newest.Sub(now) > 5*time.Minute:
		list.add(warning, advice, "timedatectl", "The clock reads %s, and a file has the later time %s.",
			now.Format(time.DateTime), newest.In(now.Location()).Format(time.DateTime))
	}
	return list.orPassed("The clock reads %s.", now.Format(time.DateTime))
}
