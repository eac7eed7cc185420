package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
)

// watches holds the directories watched through the operating system and those
// that cannot be watched and must be polled.
//
// A watch belongs to a directory, not to its path: after a move it keeps
// reporting the old path. Therefore each watch is stored with the identity of
// its directory, no directory is watched under two paths, and the watches below
// a path are removed before the path is watched again.
type watches struct {
	dir     string // the root
	cookies string
	lookup  func(string) (memory.FileID, bool)
	opened  chan *fsnotify.Watcher // receives each notifier when it is opened

	mu     sync.Mutex
	fsn    *fsnotify.Watcher // nil while none is available
	byPath map[string]watched
	byID   map[memory.FileID]string
	polled map[string]failure // directories that, with all below, cannot be watched
	remote map[uint64]string  // device → why nothing on it can be watched
	walk   int                // number of the current or last walk
	told   map[string]bool    // reasons that have been logged
	moved  []string           // directories found at another path
	ahead  map[string]int     // unwatched directories with files that are already known → number of the walk
	cookie bool               // the cookie directory is watched
	lost   bool               // the failure to watch the cookie directory has been logged
}

type watched struct {
	id   memory.FileID
	walk int // the last walk that visited the directory
}

// A failure to watch stays recorded until a later full walk is complete. That
// walk retries the watch, and polling ends only after its differences have been
// delivered.
type failure struct {
	reason string
	walk   int
}

func (w *watches) init(dir, cookies string, lookup func(string) (memory.FileID, bool)) {
	w.dir, w.cookies, w.lookup = dir, cookies, lookup
	w.opened = make(chan *fsnotify.Watcher, 1)
	w.byPath = make(map[string]watched)
	w.byID = make(map[memory.FileID]string)
	w.polled = make(map[string]failure)
	w.ahead = make(map[string]int)
}

// begin prepares a full walk, which retries the directories that could not be
// watched.
func (w *watches) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.walk++
	w.remote = make(map[uint64]string)
	if w.fsn == nil {
		w.open()
	}
	if w.fsn != nil && !w.cookie && w.cookies != "" {
		w.cookie = w.fsn.Add(w.cookies) == nil
	}
}

// open creates a notifier.
func (w *watches) open() {
	fsn, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		w.fail("", cannotWatch(err))
		return
	}
	w.fsn = fsn
	w.opened <- fsn
}

// end finishes a full walk after its differences have been sent to the settler.
// It removes the watches of directories that the walk did not visit.
func (w *watches) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, have := range w.byPath {
		if have.walk != w.walk {
			w.drop(path)
		}
	}
	maps.DeleteFunc(w.polled, func(_ string, f failure) bool { return f.walk != w.walk })
	maps.DeleteFunc(w.ahead, func(_ string, walk int) bool { return walk != w.walk })
}

// taking records the paths of a delivery before it starts. If a path lies in a
// directory that is not watched, the event of that directory is still to come.
// If the directory is gone by then, ahead records that the sink knows files in
// it; otherwise they would stay known for ever.
func (w *watches) taking(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		for dir := parent(path); dir != "" && !w.covered(dir); dir = parent(dir) {
			w.ahead[dir] = w.walk
		}
	}
}

// enter watches a directory. The walk calls it before reading the directory's
// entries.
func (w *watches) enter(d memory.Directory) {
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
		w.forgetTree(d.Path)
	}
	if other, ok := w.byID[d.ID]; ok {
		if id, ok := w.lookup(other); ok && id == d.ID {
			w.fail(d.Path, fmt.Sprintf("the same directory as %q", other))
			return
		}
		// The directory was moved, and the event of the move is still to come.
		// By then the record of the watch at the old path would be lost.
		w.forgetTree(other)
		w.moved = append(w.moved, other)
	}
	if why := w.remoteFS(d); why != "" {
		w.fail(d.Path, why)
		return
	}
	err := w.fsn.Add(w.abs(d.Path))
	switch {
	case err == nil:
		w.byPath[d.Path] = watched{d.ID, w.walk}
		w.byID[d.ID] = d.Path
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		// The directory is gone again. If it was moved, an event reports its
		// new path.
	default:
		w.fail(d.Path, cannotWatch(err))
	}
}

func (w *watches) fail(path, reason string) { w.polled[path] = failure{reason, w.walk} }

// forget removes the record of a directory and reports whether the sink may
// know files in it. If below is set, forget also removes everything below the
// directory, because it was moved.
func (w *watches) forget(path string, below bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ahead := w.ahead[path]
	delete(w.ahead, path)
	_, ok := w.byPath[path]
	if ok && below {
		w.forgetTree(path)
	} else if ok {
		w.drop(path)
	}
	return ok || ahead
}

// met returns the old paths of the directories found at another path since the
// last call.
func (w *watches) met() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	moved := w.moved
	w.moved = nil
	return moved
}

// reset removes all watches: the root is another directory, or missing.
func (w *watches) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetTree("")
	clear(w.polled)
}

func (w *watches) forgetTree(dir string) {
	for path := range w.byPath {
		if memory.Within(path, dir) {
			w.drop(path)
		}
	}
}

// drop removes one watch. It ignores the error if the notifier has already
// removed the watch.
func (w *watches) drop(path string) {
	if w.fsn != nil {
		w.fsn.Remove(w.abs(path))
	}
	id := w.byPath[path].id
	delete(w.byPath, path)
	if w.byID[id] == path {
		delete(w.byID, id)
	}
}

// lostSight reports whether a directory is watched but no longer readable.
func (w *watches) lostSight(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.byPath[path]
	return ok && unix.Access(w.abs(path), unix.R_OK|unix.X_OK) != nil
}

// covers reports whether a directory is watched or polled.
func (w *watches) covers(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.covered(path)
}

func (w *watches) covered(path string) bool {
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
		path = parent(path)
	}
	return false
}

// remoteFS returns the reason why nothing on the directory's file system can be
// watched, or "".
func (w *watches) remoteFS(d memory.Directory) string {
	why, ok := w.remote[d.ID.Device]
	if !ok {
		why = Remote(w.abs(d.Path))
		w.remote[d.ID.Device] = why
	}
	return why
}

// unwatched returns the directories that must be polled, with the reasons.
func (w *watches) unwatched() []Unwatched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list()
}

func (w *watches) list() []Unwatched {
	var list []Unwatched
	for _, dir := range slices.Sorted(maps.Keys(w.polled)) {
		list = append(list, Unwatched{dir, w.polled[dir].reason})
	}
	return list
}

// news returns one polled directory for each current reason that has not been
// logged before.
func (w *watches) news() []Unwatched {
	w.mu.Lock()
	defer w.mu.Unlock()
	var news []Unwatched
	told := make(map[string]bool)
	for _, u := range w.list() {
		if !w.told[u.Reason] && !told[u.Reason] {
			news = append(news, u)
		}
		told[u.Reason] = true
	}
	w.told = told
	return news
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
	return ordered && w.cookie
}

// cookiesLost reports, once, that the cookie directory is not watched.
func (w *watches) cookiesLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := ordered && w.cookies != "" && w.fsn != nil && !w.cookie
	news := lost && !w.lost
	w.lost = lost
	return news
}

// lostCookies disables cookies because their directory is missing or their
// events do not arrive. The next walk watches the directory again.
func (w *watches) lostCookies() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cookie && w.fsn != nil {
		w.fsn.Remove(w.cookies)
	}
	w.cookie = false
}

func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsn != nil {
		w.fsn.Close()
	}
}

func (w *watches) abs(path string) string { return filepath.Join(w.dir, filepath.FromSlash(path)) }

// rel returns the path of an event relative to the root, and reports whether
// the event is inside the root.
func (w *watches) rel(name string) (string, bool) {
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

// cannotWatch describes why a directory cannot be watched and how to fix it.
func cannotWatch(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "no more watches to be had (raise fs.inotify.max_user_watches)"
	case errors.Is(err, syscall.EMFILE):
		return "too many open files or notifiers (raise fs.inotify.max_user_instances, or ulimit -n)"
	}
	return err.Error()
}

// parent returns the directory of a path, or "" for the root.
func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}
