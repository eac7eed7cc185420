package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// watches holds the directories watched through the operating system and those
// that cannot be watched and must be polled.
//
// A watch belongs to a directory, not to its path: after a move it keeps
// reporting the old path. Therefore each watch is stored with the identity of
// its directory, no directory is watched under two paths, and the watches below
// a path are removed before the path is watched again.
type watches struct {
	dir       string // the root
	cookieDir string
	lookup    func(string) (disk.FileID, bool)
	reason    func(dir string) string // why nothing on the file system of a directory can be watched, or ""
	logger    *slog.Logger
	opened    chan *fsnotify.Watcher // receives each notifier when it is opened
	failures  chan (<-chan error)    // receives its errors, before watches are added

	mu             sync.Mutex
	fsn            *fsnotify.Watcher // nil while none is available
	byPath         map[string]watched
	byID           map[disk.FileID]string
	polled         map[string]failure // directories that, with all below, cannot be watched
	remote         map[uint64]string  // device → why nothing on it can be watched
	walk           int                // number of the current or last walk
	moved          []string           // directories found at another path
	knownUnwatched map[string]int     // unwatched directories with files that are already known → number of the walk
	cookieWatched  bool               // the cookie directory is watched
}

type watched struct {
	id   disk.FileID
	walk int // the last walk that visited the directory
}

// A failure to watch stays recorded until a later full walk is complete. That
// walk retries the watch, and polling ends only after its differences have been
// delivered.
type failure struct {
	reason string
	walk   int
}

// beginWalk prepares a full walk, which retries the directories that could not be
// watched.
func (w *watches) beginWalk() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.walk++
	w.remote = make(map[uint64]string)
	if w.fsn == nil {
		w.openNotifier()
	}
	if w.fsn != nil && !w.cookieWatched && w.cookieDir != "" {
		w.cookieWatched = w.fsn.Add(w.cookieDir) == nil
	}
}

func (w *watches) openNotifier() {
	fsn, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		w.recordFailure("", watchErrorText(err))
		return
	}
	w.fsn = fsn
	w.failures <- fsn.Errors
	w.opened <- fsn
}

// endWalk finishes a full walk after its differences have been sent to the
// debouncer. It removes the watches of directories that the walk did not visit.
func (w *watches) endWalk() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, have := range w.byPath {
		if have.walk != w.walk {
			w.removeWatch(path)
		}
	}
	maps.DeleteFunc(w.polled, func(_ string, f failure) bool { return f.walk != w.walk })
	maps.DeleteFunc(w.knownUnwatched, func(_ string, walk int) bool { return walk != w.walk })
}

// recordDelivery records the paths of a delivery before it starts. If a path
// lies in a directory that is not watched, the event of that directory is still
// to come. If the directory is gone by then, recordDelivery records that the
// sink knows files in it; otherwise they would stay known forever.
func (w *watches) recordDelivery(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		for dir := parentDir(path); dir != "" && !w.isCoveredLocked(dir); dir = parentDir(dir) {
			w.knownUnwatched[dir] = w.walk
		}
	}
}

// watchDir watches a directory. The walk calls it before reading the directory's
// entries.
func (w *watches) watchDir(d disk.Directory) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsn == nil || w.isPolled(d.Path) {
		return
	}
	if have, ok := w.byPath[d.Path]; ok {
		if have.id == d.ID {
			w.byPath[d.Path] = watched{d.ID, w.walk}
			return
		}
		w.removeWatches(d.Path)
	}
	if other, ok := w.byID[d.ID]; ok {
		if id, ok := w.lookup(other); ok && id == d.ID {
			w.recordFailure(d.Path, fmt.Sprintf("same directory as %q", other))
			return
		}
		// The directory was moved, and the event of the move is still to come.
		// By then the record of the watch at the old path would be lost.
		w.removeWatches(other)
		w.moved = append(w.moved, other)
	}
	why, ok := w.remote[d.ID.Device]
	if !ok {
		why = w.reason(w.absPath(d.Path))
		w.remote[d.ID.Device] = why
	}
	if why != "" {
		w.recordFailure(d.Path, why)
		return
	}
	err := w.fsn.Add(w.absPath(d.Path))
	switch {
	case err == nil:
		w.byPath[d.Path] = watched{d.ID, w.walk}
		w.byID[d.ID] = d.Path
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		// The directory is gone again. If it was moved, an event reports its
		// new path.
	default:
		w.recordFailure(d.Path, watchErrorText(err))
	}
}

// recordFailure records a directory that cannot be watched. It logs each reason once while
// the reason lasts.
func (w *watches) recordFailure(path, reason string) {
	known := false
	for _, f := range w.polled {
		known = f.reason == reason
		if known {
			break
		}
	}
	w.polled[path] = failure{reason, w.walk}
	if !known {
		w.logger.Warn("cannot watch a directory, polling", "path", path, "err", reason)
	}
}

// removeRecord removes the record of a directory and reports whether the sink
// may know files in it. If below is set, removeRecord also removes everything
// below the directory, because it was moved.
func (w *watches) removeRecord(path string, below bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ahead := w.knownUnwatched[path]
	delete(w.knownUnwatched, path)
	_, ok := w.byPath[path]
	if ok && below {
		w.removeWatches(path)
	} else if ok {
		w.removeWatch(path)
	}
	return ok || ahead
}

// takeMoved returns the old paths of the directories found at another path
// since the last call.
func (w *watches) takeMoved() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	moved := w.moved
	w.moved = nil
	return moved
}

// removeAll removes all watches: the root is another directory, or missing.
func (w *watches) removeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removeWatches("")
	clear(w.polled)
}

func (w *watches) removeWatches(dir string) {
	for path := range w.byPath {
		if disk.Within(path, dir) {
			w.removeWatch(path)
		}
	}
}

// removeWatch removes one watch. It ignores the error if the notifier has already
// removed the watch.
func (w *watches) removeWatch(path string) {
	if w.fsn != nil {
		w.fsn.Remove(w.absPath(path))
	}
	id := w.byPath[path].id
	delete(w.byPath, path)
	if w.byID[id] == path {
		delete(w.byID, id)
	}
}

// isUnreadable reports whether a directory is watched but no longer readable.
func (w *watches) isUnreadable(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.byPath[path]
	return ok && unix.Access(w.absPath(path), unix.R_OK|unix.X_OK) != nil
}

// isCovered reports whether a directory is watched or polled.
func (w *watches) isCovered(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isCoveredLocked(path)
}

func (w *watches) isCoveredLocked(path string) bool {
	_, ok := w.byPath[path]
	return ok || w.isPolled(path)
}

// isPolled reports whether a directory is among those that cannot be watched.
// Failures that the current walk has not retried do not count.
func (w *watches) isPolled(path string) bool {
	for len(w.polled) > 0 {
		if f, ok := w.polled[path]; ok && f.walk == w.walk {
			return true
		}
		if path == "" {
			break
		}
		path = parentDir(path)
	}
	return false
}

// listUnwatched returns the directories that must be polled, with the reasons.
func (w *watches) listUnwatched() []Unwatched {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Unwatched
	for _, dir := range slices.Sorted(maps.Keys(w.polled)) {
		list = append(list, Unwatched{dir, w.polled[dir].reason})
	}
	return list
}

func (w *watches) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byPath)
}

// hasCookies reports whether cookies work: all events of one notifier must
// arrive in the order in which they happened, and the cookie directory must be
// watched.
func (w *watches) hasCookies() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ordered && w.cookieWatched
}

// disableCookies disables cookies because their directory is missing or their
// events do not arrive. The next walk watches the directory again.
func (w *watches) disableCookies() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cookieWatched && w.fsn != nil {
		w.fsn.Remove(w.cookieDir)
	}
	w.cookieWatched = false
}

func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsn != nil {
		w.fsn.Close()
	}
}

func (w *watches) absPath(path string) string { return filepath.Join(w.dir, filepath.FromSlash(path)) }

// relPath returns the path of an event relative to the root, and reports whether
// the event is inside the root.
func (w *watches) relPath(name string) (string, bool) {
	if name == w.dir {
		return "", true
	}
	root := w.dir
	if !strings.HasSuffix(root, "/") {
		root += "/"
	}
	path, ok := strings.CutPrefix(name, root)
	return filepath.ToSlash(path), ok
}

// watchErrorText describes why a directory cannot be watched and how to fix it.
func watchErrorText(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "watch limit reached (raise fs.inotify.max_user_watches)"
	case errors.Is(err, syscall.EMFILE):
		return "too many open files or notifiers (raise fs.inotify.max_user_instances, or ulimit -n)"
	}
	return err.Error()
}

// parentDir returns the directory of a path, or "" for the root.
func parentDir(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}
