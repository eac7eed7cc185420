package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/ops"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

const (
	// parsers bounds the files read and parsed at a time: more gain nothing on
	// a small machine with two processors, and each holds a file.
	parsers = 2
	// A batch goes to the index when it has batchFiles files or weighs
	// batchWeight bytes: large enough to be quick, and small enough that the
	// first build needs little memory.
	batchFiles  = 512
	batchWeight = 8 << 20
	// entryWeight is the weight of an entry beside its text.
	entryWeight = 1 << 10
	// Parsing a file of this size needs many times as much memory, so only one
	// such file is parsed at a time.
	largeFile = 256 << 10
)

// A pipeline makes the index match the files. Its callers pass the paths that
// may have changed, never the kind of change; the pipeline examines the files.
type pipeline struct {
	vault     *vault.Vault
	layout    *memory.Layout
	people    *people
	documents *documents
	index     *index.Index
	compactor *compactor.Compactor
	todos     *todosync.Syncer // nil if files cannot be written
	logger    *slog.Logger
	events    hub

	changing sync.Mutex // one Changed at a time
	large    sync.Mutex // one large file is parsed at a time

	saves   atomic.Int64
	latency ops.Window // from a save until the entry can be found

	mu      sync.Mutex
	known   map[string]known
	unread  map[string]bool // files that could not be read, for a reason that may pass
	failure error           // of the last round, until one succeeds
}

// known holds the problems of a file that was examined.
type known struct {
	day      string // of the path, if it was later than tomorrow
	problems []memory.Problem
	reading  string // why it could not be read; the index has an older version
}

// look is the result of examining one file.
type look struct {
	update index.Update
	apply  bool // the index has another version
	gone   bool
	again  bool // examine it again later
	failed bool // it could not be read, for a reason that may pass
	weight int
	mtime  time.Time
}

// Known lists the paths in the index with their stamps.
func (p *pipeline) Known() iter.Seq2[string, memory.Stamp] { return p.index.Known() }

// Changed examines paths and makes the index match. See [watcher.Sink].
func (p *pipeline) Changed(ctx context.Context, paths []string, why watcher.Why) (again []string, err error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	defer func() { p.settle(ctx, err) }()
	if why == watcher.Event || why == watcher.Overdue {
		p.saves.Add(int64(len(paths)))
	}
	named := topDirs(paths)
	moved := p.reread(p.people.changed(named))
	again, gone, err := p.follow(ctx, paths, why)
	for err == nil && (len(moved) > 0 || gone) {
		if gone { // it may have been a user's MEMORY.md
			moved = append(moved, p.reread(p.people.changed(named))...)
		}
		var more []string
		more, gone, err = p.follow(ctx, moved, watcher.Scan)
		again, moved = append(again, more...), nil
	}
	if err != nil {
		return nil, err
	}
	return again, nil
}

// follow examines paths and makes the index match. It reports whether one of
// them is gone.
func (p *pipeline) follow(ctx context.Context, paths []string, why watcher.Why) (again []string, gone bool, err error) {
	for len(paths) > 0 {
		looks, n, err := p.lookAt(ctx, paths, why)
		if err != nil {
			return nil, false, err
		}
		var updates []index.Update
		for _, l := range looks {
			if l.again {
				again = append(again, l.update.Path)
			}
			if l.apply {
				updates = append(updates, l.update)
			}
		}
		if err := p.apply(ctx, updates); err != nil {
			return nil, false, err
		}
		for _, l := range looks {
			p.followed(l)
			gone = gone || l.gone
		}
		if why == watcher.Event {
			p.measure(looks)
		}
		paths = paths[n:]
	}
	return again, gone, nil
}

// followed records the result of a look once the index matches it, and passes
// it on to the cache and the tasks.
func (p *pipeline) followed(l look) {
	p.mu.Lock()
	switch {
	case l.failed:
		p.unread[l.update.Path] = true
	case l.gone, l.update.Doc != nil:
		delete(p.unread, l.update.Path)
	}
	p.mu.Unlock()
	if !l.gone && l.update.Doc == nil {
		return
	}
	if l.gone {
		p.documents.drop(l.update.Path)
	}
	if p.todos != nil {
		// Also if the index has this version already: a rebuild may have read
		// it first.
		p.todos.Changed(l.update.Path, l.update.Doc)
	}
}

// isUnread reports whether a file could not be read, for a reason that may
// pass.
func (p *pipeline) isUnread() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.unread) > 0
}

// claimsUnread reports whether one of the unread files may claim its directory.
func (p *pipeline) claimsUnread() bool {
	p.mu.Lock()
	paths := slices.Collect(maps.Keys(p.unread))
	p.mu.Unlock()
	return slices.ContainsFunc(paths, func(path string) bool { return p.layout.Place(path).Dir != "" })
}

// settle records the error of a round for the status.
func (p *pipeline) settle(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// reread lists the files of directories that became a user's or stopped being
// one: they are interpreted differently now.
func (p *pipeline) reread(dirs []string) []string {
	var paths []string
	for _, dir := range dirs {
		p.documents.forget(dir)
		for path := range p.vault.Catalogue.Files() {
			if strings.HasPrefix(path, dir+"/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// lookAt examines the first paths, as many as make a batch. It returns the
// looks and their number.
func (p *pipeline) lookAt(ctx context.Context, paths []string, why watcher.Why) ([]look, int, error) {
	paths = paths[:min(len(paths), batchFiles)]
	looks := make([]look, len(paths))
	var next, weight atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(parsers, len(paths)) {
		group.Go(func() error {
			for weight.Load() < batchWeight {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					break
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				looks[i] = p.lookOne(paths[i], why)
				weight.Add(int64(looks[i].weight))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	n := min(int(next.Load()), len(paths))
	return looks[:n], n, nil
}

// lookOne reads and parses a file, or finds it gone.
func (p *pipeline) lookOne(path string, why watcher.Why) look {
	info, indexed := p.index.File(path)
	l := look{update: index.Update{Path: path}}
	_, err := p.vault.Look(path)
	var file vault.File
	if err == nil {
		file, err = p.vault.Read(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && indexed && why != watcher.Gone:
		l.again = true // it may reappear
		return l
	case vault.Absent(err):
		l.gone, l.apply = true, indexed
		p.forget(path)
		return l
	case err != nil:
		l.again = true
		if !errors.Is(err, vault.ErrChanging) {
			l.failed = !errors.Is(err, fs.ErrPermission)
			p.unreadable(path, err)
		}
		return l
	case file.Unsettled && why != watcher.Overdue:
		l.again = true // the indexed version is better than a half-written one
		return l
	}
	hash := sha256.Sum256(file.Data)
	doc := p.parse(file)
	l.weight, l.mtime, l.again = len(file.Data)+entryWeight*len(doc.Entries), file.ModTime, file.Unsettled
	p.people.claim(doc, file.Unsettled)
	p.remember(path, doc)
	k := &keptDocument{path, file.Stamp, hash, doc}
	if file.Unsettled {
		p.documents.take(k)
		// When the file is complete it must be applied, changed or not: no file
		// has the zero stamp.
		file.Stamp = memory.Stamp{}
	} else if _, kept := p.documents.lookUp(path); kept || why == watcher.Event || why == watcher.Overdue {
		p.documents.keep(k) // returned by documents during the next write of the file
	}
	l.update = index.Update{Path: path, Doc: doc, Stamp: file.Stamp, Hash: hash}
	l.apply = !indexed || info.Hash != hash || info.Stamp != file.Stamp ||
		info.Kind != doc.Place.Kind || info.Owner != doc.Place.Owner
	return l
}

// parse parses a file, only one large file at a time.
func (p *pipeline) parse(file vault.File) *memory.Document {
	if len(file.Data) >= largeFile {
		p.large.Lock()
		defer p.large.Unlock()
	}
	return p.layout.Parse(file.Path, file.Data, memory.Meta{ModTime: file.ModTime, Unsettled: file.Unsettled})
}

func (p *pipeline) apply(ctx context.Context, updates []index.Update) error {
	if len(updates) == 0 {
		return nil
	}
	before := make([]index.FileInfo, len(updates))
	for i, u := range updates {
		before[i], _ = p.index.File(u.Path)
	}
	if err := p.index.Apply(ctx, updates); err != nil {
		return err
	}
	for i, u := range updates {
		after, _ := p.index.File(u.Path)
		now := after
		if u.Doc == nil {
			now = before[i]
		}
		p.events.publish(ops.Change{
			Event: api.Event{Path: u.Path, Kind: now.Kind.String(), Day: now.Day}, Before: before[i], After: after,
		})
	}
	return nil
}

// mend applies files to the index whether or not the index seems to have them.
// Deleted files are left to the next scan, which knows how many may be gone at
// once.
func (p *pipeline) mend(ctx context.Context, paths []string) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := p.lookOne(path, watcher.Verify)
		if l.update.Doc == nil {
			continue
		}
		if err := p.apply(ctx, []index.Update{l.update}); err != nil {
			return err
		}
		p.followed(l)
	}
	return nil
}

// measure records the time from each save until now.
func (p *pipeline) measure(looks []look) {
	for _, l := range looks {
		// A copied file keeps an older time, and clocks may differ.
		if took := time.Since(l.mtime); l.apply && took >= 0 && took < time.Minute {
			p.latency.Add(took)
		}
	}
}

// read returns a file for a rebuild. A file that is being written or cannot be
// read is returned as last read, if a version is known. It gets the zero stamp,
// which no file has, so that it is applied when it can be read.
func (p *pipeline) read(_ context.Context, path string) (index.Update, error) {
	file, err := p.vault.Read(path)
	switch {
	case errors.Is(err, vault.ErrRoot):
		return index.Update{}, err
	case vault.Absent(err), errors.Is(err, fs.ErrPermission):
		return index.Update{Path: path}, nil
	}
	if err != nil || file.Unsettled {
		if k, ok := p.documents.lookUp(path); ok {
			return index.Update{Path: path, Doc: k.doc, Hash: k.hash}, nil
		}
		file.Stamp = memory.Stamp{}
	}
	if err != nil {
		return index.Update{}, fmt.Errorf("%w: %w", index.ErrUnread, err)
	}
	return index.Update{Path: path, Doc: p.parse(file), Stamp: file.Stamp, Hash: sha256.Sum256(file.Data)}, nil
}

func (p *pipeline) remember(path string, doc *memory.Document) {
	if p.compactor != nil {
		p.compactor.Changed(path, doc)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := known{problems: doc.Problems}
	if doc.Place.Day > p.tomorrow() {
		k.day = doc.Place.Day
	}
	if len(k.problems) == 0 && k.day == "" {
		delete(p.known, path)
		return
	}
	p.known[path] = k
}

// tomorrow returns the last day that a file may be about: clocks and time zones
// differ by less.
func (p *pipeline) tomorrow() string {
	now := time.Now()
	if p.layout.Location != nil {
		now = now.In(p.layout.Location)
	}
	return now.AddDate(0, 0, 1).Format(time.DateOnly)
}

func (p *pipeline) forget(path string) {
	p.people.gone(path)
	if p.compactor != nil {
		p.compactor.Changed(path, nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, path)
}

// unreadable records that a file cannot be read, and logs and publishes each
// reason once.
func (p *pipeline) unreadable(path string, err error) {
	reason := err.Error()
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathErr.Err.Error()
	}
	p.mu.Lock()
	k := p.known[path]
	news := k.reading != reason
	k.reading = reason
	p.known[path] = k
	p.mu.Unlock()
	if news {
		p.logger.Warn("file cannot be read, what was read of it last stays", "path", path, "err", reason)
		p.events.publish(ops.Change{Event: api.Event{Event: "problem", Path: path,
			Message: "cannot be read: " + reason}})
	}
}
