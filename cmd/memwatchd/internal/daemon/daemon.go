// Package daemon runs the daemon of one memory directory: it connects the
// watcher to the index, the reconciliation of tasks and the maintenance, and
// serves the operations of package ops over package ipc.
//
// Run is the entry point. It takes the locks of the directory, opens all
// components, serves requests until its context ends, then closes the
// components. SIGHUP makes it start again with a new configuration.
package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/meaning"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// A daemon holds everything that runs on one root.
type daemon struct {
	config  *config.Config
	logger  *slog.Logger
	started time.Time
	sockets []string

	memory   *root   // the memory directory
	roots    []*root // it and the folders
	obsidian vault.Obsidian
	subjects *subjectMap
	index    *index.Index
	pipeline *pipeline
	writer   *vault.Writer    // nil without a journal, which every write requires
	todos    *todosync.Syncer // nil if there is no writer

	model *llm.Client // nil if no model is configured
	topic *topic      // nil if no topic is configured

	transcripts transcripts
	share       *sharing // nil if nothing is shared

	embedder     *meaning.Embedder // nil if no embeddings endpoint is configured
	embedFailure *api.EmbedStatus  // why embedder is nil although one is configured

	maintenance *maintenance // nil if there is no writer
	writerErr   error        // why writer is nil

	writeRoot atomic.Pointer[disk.FileID] // root of the last requested change

	supervisor supervisor // the service manager to notify; zero if there is none

	rebuilding         sync.Mutex
	rebuilt, toRebuild atomic.Int64 // numbers of files of a rebuild; zero without one

	scanned         chan struct{} // closed when every file has been seen
	indexIncomplete chan struct{} // receives when the index was set aside and every file must be applied again
	locks           []*vault.Lock
}

var _ ops.Indexer = (*daemon)(nil)

// openDaemon takes the locks and opens the vault, the index and the writer.
func openDaemon(c *config.Config, logger *slog.Logger) (*daemon, error) {
	d := &daemon{config: c, logger: logger, started: time.Now(), scanned: make(chan struct{}),
		indexIncomplete: make(chan struct{}, 1)}
	for _, l := range c.IPC.Listeners {
		d.sockets = append(d.sockets, cmp.Or(l.Path, l.Address))
	}
	if err := d.openComponents(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// maxFileSize bounds the files that are read and changed, in bytes. Larger ones are skipped.
const maxFileSize = 4 << 20

// openComponents opens the parts of the daemon in an order in which each finds those that it
// needs.
func (d *daemon) openComponents() error {
	c := d.config
	layout := c.Layout()
	dirs := []string{c.StateDir, c.IndexDir}
	for _, r := range append(layout.Roots, nil) {
		dirs = append(dirs, cookieDir(c, r))
	}
	for _, dir := range dirs {
		if err := state.PrivateDir(dir); err != nil {
			key := map[bool]string{true: "XDG_CACHE_HOME", false: "XDG_STATE_HOME"}[dir == c.IndexDir]
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := d.acquireLocks(); err != nil {
		return err
	}
	var err error
	d.model, err = d.openModel()
	if err != nil {
		return err
	}
	d.topic, err = d.openTopic()
	if err != nil {
		return err
	}
	d.transcripts = transcripts{problems: map[string]string{}, Seen: map[string]string{}}
	d.memory = &root{Vault: &vault.Vault{
		Dir: c.Memory.Dir, MaxFileSize: maxFileSize, Skip: layout.Skip, SkipDir: layout.SkipDir,
	}}
	d.obsidian = d.memory.ReadObsidian()
	d.memory.Ignore = d.obsidian.Ignore
	layout.Days = d.obsidian.Days.Day
	d.subjects = &subjectMap{vault: d.memory.Vault, configured: c.Memory.Users, every: c.Memory.Layout == "users"}
	d.subjects.directories.Owner, d.subjects.directories.Incomplete = c.Memory.Owner, true
	d.subjects.directories.Roots = layout.Roots
	d.subjects.identities() // reads the links before the first request
	layout.Users = d.subjects.IsUserDir
	files := &files{layout: &layout}
	d.pipeline = &pipeline{files: files, layout: &layout, subjects: d.subjects, logger: d.logger,
		problems: map[string][]memory.Problem{}, unreadable: map[string]readFailure{}}
	d.pipeline.documents = &documents{files: files, parse: d.pipeline.parseFile,
		cached: map[string]*cachedDocument{}}
	d.pipeline.overwritten = &overwritten{files: files, layout: &layout, copies: &d.pipeline.copies, logger: d.logger,
		statePath: filepath.Join(c.StateDir, "dismissed.json")}
	d.watch(d.memory, d.logger)
	d.openRoots()
	version, err := d.indexVersion()
	if err != nil {
		return err
	}
	d.index, err = index.Open(c.IndexDir, index.Options{
		Source: d.pipeline.documents, Version: version, Logger: d.logger, Texts: d.hasEmbeddings(),
		OnIncomplete: func() {
			select {
			case d.indexIncomplete <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	d.pipeline.index = d.index
	if err := d.openEmbedder(); err != nil {
		return err
	}
	d.share, err = d.openShare()
	if err != nil {
		return err
	}
	return d.openWriting()
}

// acquireLocks ensures that no other daemon uses the same state directory, index
// directory or root. The path of the root's lock does not depend on the
// configuration.
func (d *daemon) acquireLocks() error {
	root := config.RealPath(d.config.Memory.Dir)
	if err := state.PrivateDir(config.RootLocks()); err != nil {
		return err
	}
	holder := vault.Holder{PID: os.Getpid(), Socket: d.config.Socket(), Root: root}
	for _, l := range []struct{ path, what string }{
		{config.RootLock(root), "runs on " + root},
		{filepath.Join(d.config.StateDir, "lock"), "uses the same name or directory: " + d.config.StateDir},
		{filepath.Join(d.config.IndexDir, "lock"), "uses " + d.config.IndexDir},
	} {
		lock, err := vault.AcquireLock(l.path, holder)
		if locked, ok := errors.AsType[*vault.LockedError](err); ok {
			return fmt.Errorf("another daemon %s: %w", l.what, locked)
		}
		if err != nil {
			return err
		}
		d.locks = append(d.locks, lock)
	}
	return nil
}

// documentVersion changes when the parser reads the same bytes differently.
const documentVersion = 6

// indexVersion returns the configuration and the secret rules that decide how files
// are interpreted. An index made with another version is rebuilt.
func (d *daemon) indexVersion() (string, error) {
	c := d.config
	version := []any{
		c.Memory.Owner, c.Memory.Timezone, c.Location.String(), c.Memory.Users, c.Memory.Layout == "users",
		c.Memory.Daily, c.Visibility,
		c.Todosync.Tasks, c.Hooks.Review, secrets.Version(), documentVersion, d.obsidian.Text,
	}
	for _, r := range c.Memory.Roots {
		r.Weight = 0 // concerns queries only
		version = append(version, r)
	}
	text, err := json.Marshal(version)
	return string(text), err
}

func (d *daemon) listPaths() []string {
	isCopy := func(path string) bool { _, copied := memory.CopyOf(path); return copied }
	var paths []string
	for _, r := range d.roots {
		if r.isAway() {
			continue
		}
		for _, below := range slices.DeleteFunc(r.Catalogue.Files(), isCopy) {
			paths = append(paths, r.folder.Path(below))
		}
	}
	return paths
}

func (d *daemon) close() error {
	var errs []error
	if d.share != nil {
		d.share.client.Close()
	}
	if d.embedder != nil {
		d.embedder.Close()
	}
	if d.index != nil {
		errs = append(errs, d.index.Close())
	}
	for _, l := range d.locks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// run watches, indexes and serves until the context ends.
func (d *daemon) run(ctx context.Context, listeners []*ipc.Listener) error {
	c := d.config
	m := &ops.Memory{Reading: ops.Reading{
		Index: d.index, Files: catalogueFiles{d.pipeline.documents}, Scopes: d.subjects,
		Owner: c.Memory.Owner, Location: c.Location, Recent: c.Memory.ShortTermDays,
		Injection: c.Memory.Enabled && c.Memory.Injection.Enabled, MaxItems: c.Memory.Injection.MaxItems,
		MaxChars: c.Memory.Injection.MaxChars, MaxFull: c.Memory.FullMaxChars,
		SyncTimeout: c.Tuning.SyncTimeout, Parse: d.pipeline.parseChange, Layout: d.pipeline.layout,
		DaysIn:   c.Memory.Layout,
		Disabled: !c.Memory.Enabled, Now: config.Now,
		Roots: d.searchedRoots(),
	}, Administration: ops.Administration{
		Indexer: d, ErasureFile: filepath.Join(c.StateDir, "forget.json"), EraseSpool: eraseSpool,
	}}
	server := &ipc.Server{
		Backend: m, Root: c.Memory.Dir, Version: build.Version(), Logger: d.logger, Limits: c.Tuning.Limits,
	}
	d.attachWriter(m)
	if d.model != nil {
		m.Judge, m.JudgePrivate = d.model, c.LLM.Private
		m.Reducer = d.model
	}
	if d.share != nil {
		m.Shared, m.Publisher = d.share.reader, d.share
	}
	if d.embedder != nil {
		m.Vectors = d.embedder
	}
	d.restoreClaims()
	epoch := d.index.Status().Epoch // before the watcher's first scan
	group, working := errgroup.WithContext(ctx)
	start := func(run func(context.Context) error) { group.Go(func() error { return run(working) }) }
	afterScan := func(run func(context.Context) error) {
		start(func(ctx context.Context) error {
			if err := d.awaitKnown(ctx); err != nil {
				return err
			}
			return run(ctx)
		})
	}
	for _, r := range d.roots {
		go d.pipeline.listCommits(r, 0)
		start(r.watcher.Run)
	}
	start(func(ctx context.Context) error { return d.runConfirmation(ctx, epoch) })
	start(func(ctx context.Context) error { return server.Run(ctx, listeners...) })
	start(func(ctx context.Context) error { return d.supervisor.runNotifications(ctx, listeners, d.logger) })
	start(func(ctx context.Context) error {
		return m.Reduce(ctx, func(err error) { d.logger.Warn("captured text", "err", err) })
	})
	afterScan(func(ctx context.Context) error { return d.completeForgets(ctx, m) })
	afterScan(func(ctx context.Context) error { return d.runTopic(ctx, m) })
	if d.writer != nil {
		afterScan(func(ctx context.Context) error { return d.runTranscripts(ctx, m) })
		start(d.runWriter)
		start(d.runPruning)
		start(d.maintenance.compactor.Uses.Run)
		afterScan(d.runTodos)
		afterScan(d.mergeCopies)
		if c.Hooks.Review {
			afterScan(func(ctx context.Context) error { return d.acceptReviewed(ctx, m) })
		}
		if d.pipeline.history != nil {
			afterScan(d.pipeline.history.run)
		}
		if c.Write.Enabled {
			afterScan(d.maintenance.scheduler.Run)
		}
	}
	if d.embedder != nil {
		start(d.embedder.Run)
		afterScan(d.rescanTexts)
	}
	if d.share != nil {
		start(d.watchShare)
		afterScan(d.share.Run)
	}
	err := group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// completeForgets completes the forget operations that were pending when the daemon
// stopped.
func (d *daemon) completeForgets(ctx context.Context, m *ops.Memory) error {
	for wait := time.Second; ; wait = min(2*wait, time.Hour) { // Forget rebuilds the index on each attempt
		err := m.FinishErasures(ctx)
		if err == nil && d.writer != nil {
			for _, text := range d.writer.Journal.Problems() {
				d.logger.Warn("journal", "problem", text)
			}
		}
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		d.logger.Warn("forget is incomplete, retrying", "err", err)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// awaitKnown waits until every file has been seen.
func (d *daemon) awaitKnown(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.scanned:
		return nil
	}
}

// restoreClaims restores from the index which subjects the directories belong to, so
// that none is attributed to the wrong subject before all files have been read.
// It ignores the claim of a file that has changed since.
func (d *daemon) restoreClaims() {
	known := func(f *index.FileInfo) bool { return f.Claim != "" && !d.pipeline.layout.InRoot(f.Path) }
	for _, info := range d.index.Files(known) {
		stamp, err := d.memory.Stat(info.Path)
		d.subjects.restoreFile(d.pipeline.layout.Place(info.Path), info.Claim, err == nil && stamp == info.Stamp)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(d, time.Second)):
		return nil
	}
}

// Sync returns when everything saved in the memory directory before the call is
// indexed. It returns an error if the directory is missing, because the saved files are
// then unknown.
func (d *daemon) Sync(ctx context.Context) error {
	if err := d.memory.watcher.Sync(ctx); err != nil {
		return err
	}
	if d.memory.isMissing() {
		return errors.New("sync: the memory directory is missing")
	}
	return nil
}

// Purge removes text that is no longer in the files from the index, the vectors and the
// outbox of share.
func (d *daemon) Purge(ctx context.Context) error {
	if err := d.Sync(ctx); err != nil {
		return err // a recent change may be missing from the index
	}
	err := errors.Join(d.index.Purge(), d.purgeVectors())
	if d.share != nil {
		return errors.Join(err, d.share.EraseOutbox())
	}
	// an earlier configuration may have left an outbox
	return errors.Join(err, state.RemoveFiles(filepath.Join(d.config.StateDir, shareDir), "*.jsonl*"))
}

// Subscribe calls f with each change from now on.
func (d *daemon) Subscribe(ctx context.Context, f func(ops.Change) error) error {
	return d.pipeline.events.subscribe(ctx, f)
}

// catalogueFiles loads only the files that a walk has found, so a path chosen by a
// client is never opened unless it is in the catalogue.
type catalogueFiles struct{ *documents }

// Load implements [ops.Files].
func (c catalogueFiles) Load(path string) (*memory.Document, error) {
	r, below := c.files.find(path)
	if _, known := r.Catalogue.Lookup(below); !known {
		return nil, notExistError(path)
	}
	return c.documents.Load(path)
}
