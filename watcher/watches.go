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

// watches are the directories that the operating system tells us of, and those
// that it does not and which must be polled.
//
// A watch belongs to a directory, not to its path: one that was moved goes on
// reporting under the path it had. So each watch is kept with the identity of
// its directory, a directory is never watched under two paths, and what was
// watched below a path is forgotten before the path is watched anew.
type watches struct {
	dir     string // the root
	cookies string
	lookup  func(string) (memory.FileID, bool)
	opened  chan *fsnotify.Watcher // each notifier as it is opened

	mu     sync.Mutex
	fsn    *fsnotify.Watcher // nil while there is none to be had
	byPath map[string]watched
	byID   map[memory.FileID]string
	polled map[string]failure // directories that, with all below, cannot be watched
	remote map[uint64]string  // device → why nothing on it can be
	walk   int                // number of the walk that is under way or was last
	told   map[string]bool    // reasons that have been logged
	moved  []string           // directories that were met elsewhere
	ahead  map[string]int     // directories that are not watched, but of which files are known already → number of the walk
	cookie bool               // the cookies' directory is watched
	lost   bool               // that it is not has been logged
}

type watched struct {
	id   memory.FileID
	walk int // the last walk that came by
}

// A failure to watch holds until a later walk of the whole root is through: it
// tries again, and what it finds there must have been told before nobody polls
// any more.
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

// begin prepares a walk of the whole root: what could not be watched before is
// tried again.
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

// open asks for a notifier.
func (w *watches) open() {
	fsn, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		w.fail("", cannotWatch(err))
		return
	}
	w.fsn = fsn
	w.opened <- fsn
}

// end finishes a walk of the whole root, when everything that differed has been
// told. What it did not come by is not to be watched any more.
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

// taking is told of paths before they are taken over. A directory in which one
// of them is and which is not watched has an event that is still to come. If it
// is gone by then, what was taken over would stay for ever.
func (w *watches) taking(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		for dir := parent(path); dir != "" && !w.covered(dir); dir = parent(dir) {
			w.ahead[dir] = w.walk
		}
	}
}

// enter watches a directory, and is called before its entries are read.
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
		// It was moved, and its event is still to come: by then nobody would know
		// that it was watched there.
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
		// Gone again. If it was moved, its new place will be reported.
	default:
		w.fail(d.Path, cannotWatch(err))
	}
}

func (w *watches) fail(path, reason string) { w.polled[path] = failure{reason, w.walk} }

// forget forgets a directory and reports whether something may be known of
// files in it. With below, everything below it is forgotten too: it has been
// moved.
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

// met returns the directories that were met at another path than before, since
// the last call.
func (w *watches) met() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	moved := w.moved
	w.moved = nil
	return moved
}

// reset forgets everything: the root is another directory, or missing.
func (w *watches) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetTree("")
	clear(w.polled)
}

func (w *watches) forgetTree(dir string) {
	for path := range w.byPath {
		if within(path, dir) {
			w.drop(path)
		}
	}
}

// drop forgets one watch. That the notifier has forgotten it already is well.
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

// lostSight reports whether a directory is watched, but cannot be read any more.
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
// Those that the walk under way has not tried again do not count.
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

// remoteFS says why nothing on the directory's file system can be watched.
func (w *watches) remoteFS(d memory.Directory) string {
	why, ok := w.remote[d.ID.Device]
	if !ok {
		why = Remote(w.abs(d.Path))
		w.remote[d.ID.Device] = why
	}
	return why
}

// unwatched lists the directories that must be polled, and why.
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

// news returns one of the directories that cannot be watched for each reason
// that has not been told before and still holds.
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

// hasCookies reports whether cookies can be used: whether all events of one
// notifier arrive in the order in which they happened, and it is told of the
// cookies' directory.
func (w *watches) hasCookies() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ordered && w.cookie
}

// cookiesLost reports, once, that the cookies' directory is not watched.
func (w *watches) cookiesLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := ordered && w.cookies != "" && w.fsn != nil && !w.cookie
	news := lost && !w.lost
	w.lost = lost
	return news
}

// lostCookies is called when the cookies' directory is gone or they do not
// arrive; the next walk watches it again.
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

// rel is the path below the root of an event's name.
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

// cannotWatch says why a directory cannot be watched, and what can be done.
func cannotWatch(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "no more watches to be had (raise fs.inotify.max_user_watches)"
	case errors.Is(err, syscall.EMFILE):
		return "too many open files or notifiers (raise fs.inotify.max_user_instances, or ulimit -n)"
	}
	return err.Error()
}

// within reports whether path is dir or below it; everything is within "".
func within(path, dir string) bool {
	return dir == "" || strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// parent is the directory that a path is in, "" for the root.
func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}
