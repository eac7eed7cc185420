package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/meaning"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

const (
	// parsers bounds the files read and parsed at a time: more gain nothing on
	// a small machine with two processors, and each holds a file.
	parsers = 2
	// A batch goes to the index when it has batchFiles files or weighs
	// batchWeight bytes: large enough to be quick, and small enough that three
	// batches, which a first build holds at a time, need little memory.
	batchFiles  = 256
	batchWeight = 8 << 20
	// entryWeight is the weight of an entry without its text.
	entryWeight = 1 << 10
	// Parsing a file of this size needs many times as much memory, so only one
	// such file is parsed at a time.
	largeFile = 256 << 10
)

// A pipeline makes the index match the files. Its callers pass the paths that
// may have changed, never the kind of change; the pipeline examines the files.
type pipeline struct {
	files     *files
	layout    *memory.Layout
	subjects  *subjectMap
	documents *documents
	index     *index.Index
	uses      *compactor.Uses   // nil if files cannot be written
	todos     *todosync.Syncer  // nil if files cannot be written
	embedder  *meaning.Embedder // nil if no embeddings endpoint is configured
	logger    *slog.Logger
	events    hub
	copies    copies

	overwritten *overwritten
	history     *history // nil if versions of other programs are not kept

	applyMu sync.Mutex // one Changed at a time
	largeMu sync.Mutex // one large file is parsed at a time

	saves   atomic.Int64
	applied atomic.Int64 // files of the present Changed that the index contains
	latency ops.Window   // from a save until the entry can be found

	mu         sync.Mutex
	problems   map[string][]memory.Problem // of the files that have any, or a day in the future
	unreadable map[string]readFailure      // files of which the index has an older version
	failure    error                       // of the last round, until one succeeds
}

// A readFailure is the reason why a file could not be read.
type readFailure struct {
	reason string
	passes bool // it may pass
}

type scanResult struct {
	update  index.Update
	apply   bool // the index has another version
	deleted bool
	retry   bool // examine it again later
	weight  int
	mtime   time.Time
}

// Changed examines paths of one root and makes the index match. See [watcher.Sink].
func (p *pipeline) Changed(ctx context.Context, paths []string, why watcher.Reason) (retry []string, err error) {
	p.applyMu.Lock()
	defer p.applyMu.Unlock()
	defer func() { p.recordFailure(ctx, err) }()
	defer p.applied.Store(0)
	if why == watcher.Event || why == watcher.Overdue {
		p.saves.Add(int64(len(paths)))
	}
	return p.applyPaths(ctx, paths, why)
}

// listCommits lists the commits of a root, of which many files may have changed.
// Documents that were parsed without a list may lack the times of commits.
func (p *pipeline) listCommits(r *root, changed int) {
	if r.times.list(r.Dir, changed) {
		p.documents.drop(func(path string) bool {
			of, _ := p.files.find(path)
			return of == r
		})
	}
}

// applyPaths examines paths and makes the index match. It examines a batch while it applies up to two before: the index reads the
// words of one and writes the other.
func (p *pipeline) applyPaths(ctx context.Context, paths []string, why watcher.Reason) (retry []string, err error) {
	group, applying := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for paths = p.copies.withCopies(paths); len(paths) > 0 && err == nil; {
		var results []scanResult
		results, err = p.examineBatch(applying, paths, why)
		paths = paths[len(results):]
		for _, l := range results {
			if l.retry {
				retry = append(retry, l.update.Path)
			}
		}
		group.Go(func() error {
			defer p.applied.Add(int64(len(results)))
			return p.applyResults(applying, results, why)
		})
	}
	if err := cmp.Or(group.Wait(), err); err != nil {
		return nil, err
	}
	return retry, nil
}

// applyResults makes the index match the results of a batch.
func (p *pipeline) applyResults(ctx context.Context, results []scanResult, why watcher.Reason) error {
	var updates []index.Update
	for _, l := range results {
		if l.apply {
			updates = append(updates, l.update)
		}
	}
	if err := p.applyUpdates(ctx, updates, why); err != nil {
		return err
	}
	for _, l := range results {
		p.recordResult(l)
	}
	if why == watcher.Event {
		p.measureLatency(results)
	}
	return nil
}

// recordResult records the result of an examination once the index matches it,
// and passes it on to the cache and the tasks.
func (p *pipeline) recordResult(l scanResult) {
	if !l.deleted && l.update.Doc == nil {
		return
	}
	path := l.update.Path
	p.mu.Lock()
	delete(p.unreadable, path)
	p.mu.Unlock()
	_, copied := memory.CopyOf(path)
	if k, known := p.documents.lookUp(path); l.deleted && copied && known {
		p.overwritten.copyRemoved(path, k.doc)
	}
	if l.deleted {
		p.documents.dropFile(path)
	}
	if !l.deleted {
		p.overwritten.appeared(l.update.Doc)
	}
	if copied || p.layout.InRoot(path) {
		return // no file that memwatchd writes
	}
	if l.apply {
		p.history.changed(path)
		p.overwritten.changed(path, l.update.Doc)
	}
	if p.todos != nil {
		p.todos.Changed(path, l.update.Doc)
	}
}

// listUnreadable returns the files that could not be read, for a reason that may
// pass.
func (p *pipeline) listUnreadable() (paths []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, failure := range p.unreadable {
		if failure.passes {
			paths = append(paths, path)
		}
	}
	return paths
}

func (p *pipeline) recordFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// examineBatch examines the first paths, as many as make a batch.
func (p *pipeline) examineBatch(ctx context.Context, paths []string, why watcher.Reason) ([]scanResult, error) {
	results := make([]scanResult, min(len(paths), batchFiles))
	n := len(results) // files that are examined
	var weight atomic.Int64
	var group errgroup.Group
	group.SetLimit(parsers)
	for i, path := range paths[:len(results)] {
		if ctx.Err() != nil || weight.Load() >= batchWeight {
			n = i
			break
		}
		group.Go(func() error {
			l := p.examineFile(path, why)
			results[i] = l
			weight.Add(int64(l.weight))
			return nil
		})
	}
	group.Wait()
	return results[:n], ctx.Err()
}

// examineFile reads and parses a file, or finds it gone.
func (p *pipeline) examineFile(path string, why watcher.Reason) scanResult {
	r, below := p.files.find(path)
	p.listCommits(r, 0) // waits for the first list, which is begun with the first scan
	invalidations := p.documents.countInvalidations()
	info, indexed := p.index.File(path)
	l := scanResult{update: index.Update{Path: path}}
	_, err := r.Observe(below)
	var file vault.File
	if err == nil {
		file, err = p.files.Read(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && indexed && why != watcher.Gone:
		l.retry = true // it may reappear
		return l
	case vault.Absent(err):
		l.deleted, l.apply = true, indexed
		p.forgetProblems(path)
		return l
	case errors.Is(err, vault.ErrRoot) && p.layout.InRoot(path):
		l.retry = true // the folder itself is the problem, and nothing else depends on it
		return l
	case err != nil:
		l.retry = true
		if !errors.Is(err, vault.ErrChanging) {
			p.recordUnreadable(path, err, !errors.Is(err, fs.ErrPermission) && !p.layout.InRoot(path))
		}
		return l
	case file.Unstable && why != watcher.Overdue:
		l.retry = true // the indexed version is better than a half-written one
		return l
	}
	hash := sha256.Sum256(file.Data)
	doc := p.parseFile(file)
	p.copies.record(doc.Place)
	l.weight, l.mtime, l.retry = len(file.Data)+entryWeight*len(doc.Entries), file.ModTime, file.Unstable
	if doc.Place.Root == "" {
		p.subjects.recordClaim(doc, file.Unstable)
	}
	p.recordProblems(path, doc)
	k := &cachedDocument{key: path, stamp: file.Stamp, doc: doc}
	if file.Unstable {
		p.documents.pinVersion(k)
		// When the file is complete it must be applied, changed or not: no file
		// has the zero stamp.
		file.Stamp = disk.Stamp{}
	} else if _, known := p.documents.lookUp(path); known || why == watcher.Event || why == watcher.Overdue {
		p.documents.cacheDocument(k, invalidations) // returned by documents during the next write of the file
	}
	l.update = index.Update{Path: path, Doc: doc, Stamp: file.Stamp, Hash: hash}
	l.apply = !indexed || info.Hash != hash || doc.Place.Copy != "" || info.Stamp != file.Stamp ||
		info.Kind != doc.Place.Kind || info.Owner != doc.Place.Owner
	return l
}

// parseFile parses a file, only one large file at a time. Of a conflict copy, it
// parses what the original lacks.
func (p *pipeline) parseFile(file vault.File) *memory.Document {
	if of, ok := memory.CopyOf(file.Path); ok {
		return p.parseCopy(file, of)
	}
	if doc := p.documents.findPlanned(&file); doc != nil {
		return doc
	}
	if len(file.Data) >= largeFile {
		p.largeMu.Lock()
		defer p.largeMu.Unlock()
	}
	return p.layout.Parse(file.Path, file.Data, memory.Meta{ModTime: file.ModTime, Unstable: file.Unstable})
}

// parseChange parses the new version of a file for the author of a change, from which the
// file, when it is written, gets its document.
func (p *pipeline) parseChange(file vault.File) *memory.Document {
	invalidations := p.documents.countInvalidations()
	doc := p.parseFile(file)
	p.documents.cachePlanned(&file, doc, invalidations)
	return doc
}

// applyUpdates applies updates to the index and publishes those that change a file.
func (p *pipeline) applyUpdates(ctx context.Context, updates []index.Update, why watcher.Reason) error {
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
		if after.SameVersion(before[i]) {
			continue // a rebuild
		}
		p.events.publish(ops.Change{
			Event: api.Event{Path: u.Path, Kind: now.Kind.String(), Day: now.Day}, Before: before[i], After: after,
		})
		if p.embedder != nil {
			p.embedder.Changed(u.Path, why == watcher.Event || why == watcher.Overdue)
		}
	}
	return nil
}

// reindexFiles applies the first files of a list, as many as make a batch, to the
// index whether or not the index seems to have them, and returns the rest of the list.
// Deleted files are left to the next scan, which knows how many may be gone at once.
func (p *pipeline) reindexFiles(ctx context.Context, paths []string) (rest []string, err error) {
	p.applyMu.Lock()
	defer p.applyMu.Unlock()
	results, err := p.examineBatch(ctx, paths, watcher.Verify)
	if err != nil {
		return nil, err
	}
	rest = paths[len(results):]
	results = slices.DeleteFunc(results, func(l scanResult) bool { return l.update.Doc == nil })
	for i := range results {
		results[i].apply = true
	}
	return rest, p.applyResults(ctx, results, watcher.Verify)
}

// measureLatency records the time from each save until now.
func (p *pipeline) measureLatency(results []scanResult) {
	for _, l := range results {
		// A copied file keeps an older time, and clocks may differ.
		if took := time.Since(l.mtime); l.apply && took >= 0 && took < time.Minute {
			p.latency.Add(took)
		}
	}
}

// readStable returns the document of a file, or nil if the file does not exist. A file
// that is being written or cannot be read is returned as last read, if a version is known.
func (p *pipeline) readStable(path string) (*memory.Document, error) {
	file, err := p.files.Read(path)
	switch {
	case errors.Is(err, vault.ErrRoot) && p.layout.InRoot(path):
		return nil, nil
	case errors.Is(err, vault.ErrRoot):
		return nil, err
	case vault.Absent(err), errors.Is(err, fs.ErrPermission):
		return nil, nil
	}
	if err != nil || file.Unstable {
		if k, ok := p.documents.lookUp(path); ok {
			return k.doc, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return p.parseFile(file), nil
}

func (p *pipeline) recordProblems(path string, doc *memory.Document) {
	if p.uses != nil {
		p.uses.Changed(path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(doc.Problems) == 0 && doc.Place.Day <= p.lastValidDay() {
		delete(p.problems, path)
	} else {
		p.problems[path] = doc.Problems
	}
}

// lastValidDay returns the last day that a file may be about: clocks and time
// zones differ by less.
func (p *pipeline) lastValidDay() string {
	now := time.Now()
	if p.layout.Location != nil {
		now = now.In(p.layout.Location)
	}
	return now.AddDate(0, 0, 1).Format(time.DateOnly)
}

func (p *pipeline) forgetProblems(path string) {
	p.copies.remove(path)
	p.subjects.removeFile(path)
	if p.uses != nil {
		p.uses.Changed(path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.problems, path)
}

// recordUnreadable records that a file cannot be read, and logs and publishes
// each reason once. With passes, the reason may pass.
func (p *pipeline) recordUnreadable(path string, err error, passes bool) {
	reason := err.Error()
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathErr.Err.Error()
	}
	p.mu.Lock()
	changed := p.unreadable[path].reason != reason
	p.unreadable[path] = readFailure{reason, passes}
	p.mu.Unlock()
	if changed {
		p.logger.Warn("file is unreadable, using its last readable version", "path", path, "err", reason)
		p.events.publish(ops.Change{Event: api.Event{Event: "problem", Path: path,
			Message: "unreadable: " + reason}})
	}
}
