package daemon

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// maxListed bounds the problems and skipped files in a status; check lists all.
const maxListed = 20

// State returns how far answers can be trusted. Since every answer includes it,
// State does nothing that takes time.
func (d *daemon) State() api.IndexStatus { return d.indexState(d.memory.watcher.Status()) }

// indexState returns the state of the index, which also counts as degraded while the daemon
// cannot read some files.
func (d *daemon) indexState(w watcher.Status) api.IndexStatus {
	x := d.index.Status()
	s := api.IndexStatus{
		Revision: x.Revision, Generation: x.Epoch, Degraded: x.Degraded, Problem: x.Problem,
	}
	for _, r := range d.roots {
		s.Pending += r.watcher.Status().Pending
	}
	s.Pending = max(s.Pending-int(d.pipeline.applied.Load()), 0)
	switch {
	case x.Degraded:
		s.Done, s.Total = x.Files, max(x.Files, d.memory.Catalogue.Len())
	case d.toRebuild.Load() > 0:
		s.Done, s.Total = int(d.rebuilt.Load()), int(d.toRebuild.Load())
	}
	if failure := d.pipeline.lastFailure(); failure != nil && s.Problem == "" {
		s.Problem = failure.Error()
	}
	if state := rootState(w); state == api.RootHolding || state == watcher.RootMissing || w.Unread ||
		len(d.pipeline.listUnreadable()) > 0 {
		// Answers come from the last known files, and report that.
		s.Degraded = true
		s.Problem = cmp.Or(s.Problem, strings.Join(w.Warnings, "; "))
	}
	return s
}

func rootState(w watcher.Status) string {
	if w.Held > 0 {
		return api.RootHolding
	}
	return w.Root
}

// Report returns the status of the daemon.
func (d *daemon) Report() api.Status {
	x, w := d.index.Status(), d.memory.watcher.Status()
	s := api.Status{
		Version: build.Version(), PID: os.Getpid(), Started: d.started.UTC().Truncate(time.Second),
		Uptime: time.Since(d.started).Truncate(time.Second).String(),
		Root:   d.config.Memory.Dir, RootState: rootState(w),
		Files: x.Files, Entries: x.Entries, Saves: int(d.pipeline.saves.Load()),
		Index: d.indexState(w),
		Watch: api.WatchStatus{
			Directories: w.Directories, Limit: watcher.WatchLimit(), Polled: []string{}, Overflows: w.Overflows,
			LastReconcile: w.LastReconcile, Problem: strings.Join(w.Warnings, "; "),
		},
		Latency:  api.Latency{SaveToSearch: d.pipeline.latency.Quantiles()},
		Problems: d.listProblems(), Sockets: d.sockets,
		OpenFiles: countOpenFiles(), Goroutines: runtime.NumGoroutine(),
		MemoryBytes: readMetric("/memory/classes/total:bytes") - readMetric("/memory/classes/heap/released:bytes"),
	}
	s.Index.Size = d.index.Size()
	s.Index.Degraded = s.Index.Degraded || x.Problem != "" // answers may be complete all the same
	for _, u := range w.Polled {
		s.Watch.Polled = append(s.Watch.Polled, cmp.Or(u.Path, "."))
	}
	skipped := d.memory.Catalogue.Skipped()
	s.SkippedFiles = len(skipped)
	s.Skipped = listSkipped(skipped)
	s.ProblemCount = len(s.Problems)
	s.Problems = s.Problems[:min(len(s.Problems), maxListed)]
	s.LLM, s.Topic, s.Roots = d.modelStatus(), d.topicStatus(), d.rootStatus()
	s.Share, s.Embed = d.shareStatus(), d.embedStatus()
	s.Write, s.Compactor = d.writeStatus(), d.maintenance.status(d.config.Write.Enabled)
	s.Healthy = w.Root != watcher.RootMissing && w.Held == 0 && s.Index.Problem == "" && d.writer != nil
	return s
}

// listSkipped returns the first paths for a status.
func listSkipped(list []disk.Skipped) []api.Skipped {
	out := []api.Skipped{}
	for _, s := range list[:min(len(list), maxListed)] {
		out = append(out, api.Skipped{Path: s.Path, Reason: s.Reason})
	}
	return out
}

func (d *daemon) writeStatus() api.WriteStatus {
	s := api.WriteStatus{Enabled: d.config.Write.Enabled, Waiting: []api.Skipped{}, Refused: []api.Skipped{}}
	if d.writer == nil {
		s.Problem = "journal is unavailable, no files are changed: " + d.writerErr.Error()
		return s
	}
	w := d.writer.Status()
	s.Applied, s.LostRaces, s.Problem = w.Applied, w.LostRaces, w.Unable
	s.Waiting, s.Refused = listSkipped(w.Waiting), listSkipped(w.Refused)
	return s
}

func (p *pipeline) lastFailure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// listProblems lists the problems of the memory as a whole, then those of files by
// path and line.
func (d *daemon) listProblems() []api.FileProblem {
	var list []api.FileProblem
	add := func(path, code, message string) {
		list = append(list, api.FileProblem{Path: path, Problem: api.Problem{Code: code, Message: message}})
	}
	if _, err := d.subjects.identities(); err != nil {
		add(memory.IdentitiesPath, "identities_broken", err.Error()+"; the last valid links stay in effect")
	}
	for _, c := range d.subjects.listConflicts() {
		add(c.Dir, "subject_conflict", "conflicting subject_id in its files: "+strings.Join(c.Subjects, ", "))
	}
	for _, text := range d.obsidian.Problems {
		add("", "obsidian_setting", "a setting of Obsidian has no effect: "+text)
	}
	d.listRootProblems(add)
	d.listUnknownUsers(add)
	d.pipeline.overwritten.problems(add)
	d.transcripts.list(add)
	for of, paths := range d.pipeline.copies.byFile() {
		if len(paths) >= manyCopies {
			add(of, "conflict_copies", fmt.Sprintf("%d conflict copies; Syncthing keeps 10 by default and deletes the oldest; "+
				"run `memwatchd conflicts merge`", len(paths)))
		}
	}
	if d.writer != nil {
		for _, text := range d.writer.Journal.Problems() {
			add("", "journal_damaged", "journal: "+text)
		}
	}
	for _, f := range d.index.Files(func(f *index.FileInfo) bool { return f.Truncated }) {
		add(f.Path, "too_many_words", "the file has more different words than the index keeps of one file; searches "+
			"find only a part of its text. Split the file")
	}
	p := d.pipeline
	tomorrow := p.lastValidDay()
	p.mu.Lock()
	for path, problems := range p.problems {
		if day := p.layout.Place(path).Day; day > tomorrow {
			add(path, "day_in_future", day+" is later than tomorrow; if that is a mistake, rename the file")
		}
		for _, problem := range problems {
			list = append(list, api.FileProblem{Path: path, Problem: api.Problem(problem)})
		}
	}
	for path, failure := range p.unreadable {
		add(path, "unreadable", "unreadable, using the last readable version: "+failure.reason)
	}
	p.mu.Unlock()
	slices.SortFunc(list, compareProblems)
	return list
}

func compareProblems(a, b api.FileProblem) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
		strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
}

// Check compares files and index by content. It covers path and the files below
// it, or all files if path is "".
func (d *daemon) Check(ctx context.Context, path string) (*api.CheckAnswer, error) {
	path = strings.TrimSuffix(path, "/")
	among := func(p string) bool {
		below, ok := strings.CutPrefix(p, path)
		return ok && (path == "" || below == "" || below[0] == '/' || strings.HasSuffix(path, ":"))
	}
	a := &api.CheckAnswer{Problems: []api.FileProblem{}, Conflicts: []api.ClaimConflict{}, Skipped: []api.Skipped{},
		Differing: []api.Skipped{}}
	tree, err := d.walkAll(ctx)
	if errors.Is(err, vault.ErrRoot) {
		return nil, api.Errorf(api.Unavailable, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	differs := func(path, how string, args ...any) {
		a.Differing = append(a.Differing, api.Skipped{Path: path, Reason: fmt.Sprintf(how, args...)})
	}
	found := map[string]bool{}
	for _, f := range tree.Files {
		if !among(f.Path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.Files++
		found[f.Path] = true
		info, ok := d.index.File(f.Path)
		file, err := d.pipeline.files.Read(f.Path)
		a.Problems = append(a.Problems, findCredentials(f.Path, file.Data)...)
		switch {
		case err != nil:
			differs(f.Path, "cannot be read: %v", err)
		case !ok:
			differs(f.Path, "is not in the index")
		case info.Hash != sha256.Sum256(file.Data) && file.Unstable:
			differs(f.Path, "is changing; the previous version is indexed")
		case info.Hash != sha256.Sum256(file.Data):
			differs(f.Path, "is indexed with different content")
		case info.Entries != index.CountEntries(d.pipeline.parseFile(file)):
			differs(f.Path, "is indexed with %d entries", info.Entries)
		}
	}
	for _, f := range d.index.Files(nil) {
		if r, _ := d.pipeline.files.find(f.Path); among(f.Path) && !found[f.Path] && !r.isAway() {
			differs(f.Path, "is indexed but missing in the directory")
		}
	}
	slices.SortFunc(a.Differing, func(x, y api.Skipped) int { return strings.Compare(x.Path, y.Path) })
	for _, s := range tree.Skipped {
		if among(s.Path) {
			a.Skipped = append(a.Skipped, api.Skipped{Path: s.Path, Reason: s.Reason})
		}
	}
	for _, f := range d.listProblems() {
		if among(f.Path) {
			a.Problems = append(a.Problems, f)
		}
	}
	slices.SortStableFunc(a.Problems, compareProblems)
	for _, c := range d.subjects.listConflicts() {
		if among(c.Dir) {
			a.Conflicts = append(a.Conflicts, api.ClaimConflict(c))
		}
	}
	return a, nil
}

// Dismiss stops the reports of a change that another program removed.
func (d *daemon) Dismiss(id string) error { return d.pipeline.overwritten.dismiss(id) }

// findCredentials lists where a file contains live credentials. Line 0 stands for
// the file's name.
func findCredentials(path string, text []byte) (list []api.FileProblem) {
	add := func(line int, rule string) {
		list = append(list, api.FileProblem{Path: path, Problem: api.Problem{
			Code: "secret", Line: line,
			Message: "live credential (" + rule +
				") masked in all output; revoke the credential and remove it from the file",
		}})
	}
	for _, f := range secrets.Find(path) {
		add(0, f.Rule)
	}
	line, at := 1, 0
	for _, f := range secrets.Find(string(text)) {
		line, at = line+bytes.Count(text[at:f.Start], []byte("\n")), f.Start
		add(line, f.Rule)
	}
	return list
}

// Rebuild applies all files to the index again and removes earlier contents from it.
func (d *daemon) Rebuild(ctx context.Context) (err error) {
	if !d.rebuilding.TryLock() {
		return api.Errorf(api.Busy, "a rebuild is already running").WithHint("retry after the rebuild")
	}
	defer d.rebuilding.Unlock()
	if _, err = d.memory.Root(); err != nil {
		return api.Errorf(api.Unavailable, "%v", err)
	}
	paths := d.listPaths()
	total := int64(len(paths))
	defer d.toRebuild.Store(0)
	defer d.rebuilt.Store(0)
	d.toRebuild.Store(total)
	for err == nil && len(paths) > 0 {
		paths, err = d.pipeline.reindexFiles(ctx, paths)
		d.rebuilt.Store(total - int64(len(paths)))
	}
	if err != nil {
		return err
	}
	return d.index.Purge()
}

// Reindex applies files to the index again and waits for a scan.
func (d *daemon) Reindex(ctx context.Context, paths []string) (err error) {
	for err == nil && len(paths) > 0 {
		paths, err = d.pipeline.reindexFiles(ctx, paths)
	}
	if err != nil {
		return err
	}
	for _, r := range d.roots {
		r.watcher.Rescan()
	}
	return d.syncAll(ctx, rootsWait)
}

// countOpenFiles counts the process's file descriptors, or returns 0 if the system
// does not list them.
func countOpenFiles() int {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries) - 1 // excludes the descriptor of the directory itself
		}
	}
	return 0
}

func readMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// manyCopies is the number of conflict copies of one file that is a problem. Syncthing
// keeps ten by default, and deletes the oldest if it makes another one.
const manyCopies = 8
