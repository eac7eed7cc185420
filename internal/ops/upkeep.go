package ops

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// maxSync bounds the timeout of a sync request.
const maxSync = 10 * time.Minute

func (m adminOps) syncOp(ctx context.Context, c Call, r *api.SyncRequest) (*api.SyncAnswer, error) {
	timeout, err := time.ParseDuration(r.Timeout)
	if err != nil || timeout < 0 || timeout > maxSync {
		return nil, api.Errorf(api.Invalid, "timeout: %q is not a duration such as 500ms or 10s, up to 10m", r.Timeout)
	}
	defer api.PauseWork(ctx)()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = m.Indexer.Sync(ctx)
	if err == nil {
		err = m.Indexer.SyncRoots(ctx, c.View.Roots())
	}
	if err != nil {
		return nil, api.Errorf(api.Unavailable, "some changes are not indexed yet").
			WithHint("retry, or use a longer timeout")
	}
	return &api.SyncAnswer{Synced: true, Revision: m.indexState(c).Revision, TookMS: c.took()}, nil
}

func (m adminOps) rebuild(ctx context.Context, c Call, _ *api.RebuildRequest) (*api.RebuildAnswer, error) {
	if err := m.Indexer.Rebuild(ctx); err != nil {
		return nil, err
	}
	return &api.RebuildAnswer{Entries: m.Index.Status().Entries, TookMS: c.took()}, nil
}

// A Change is an event with the records of its file before and after. An event
// without records concerns the memory as a whole. The records are not sent to
// clients.
type Change struct {
	api.Event
	Before, After index.FileInfo `json:"-"`
}

// events sends the events of the memory, and of the files that the caller can
// read.
func (m adminOps) events(ctx context.Context, c Call, _ *api.EventsRequest, send func(any) error) error {
	return m.Indexer.Subscribe(ctx, func(change Change) error {
		if change.Before.Path == "" && change.After.Path == "" {
			return send(change.Event)
		}
		if err := m.renewView(&c); err != nil { // permissions may have changed
			return err
		}
		if !change.restrictTo(c.View) {
			return nil
		}
		return send(change.Event)
	})
}

// restrictTo rewrites the event for a view of the file. It reports whether the
// visible parts changed.
func (c *Change) restrictTo(v memory.View) bool {
	before, _, was := c.Before.Version(v)
	after, entries, is := c.After.Version(v)
	c.Event.Event, c.Entries = "indexed", entries
	if !is {
		c.Event.Event = "gone"
	}
	return was != is || is && before != after
}

// statusOp returns the status of the memory, with the paths of files, to the
// owner in private and to a program that names no subject. An answer for a
// subject may be shown to anyone, so other callers get the health only.
func (m adminOps) statusOp(_ context.Context, c Call, _ *api.StatusRequest) (*api.StatusAnswer, error) {
	s := m.status()
	if !c.FullAccess && !c.anonymous {
		return &api.StatusAnswer{Healthy: s.Healthy}, nil
	}
	return &api.StatusAnswer{Status: &s, Healthy: s.Healthy}, nil
}

// Status returns the current status of the memory.
func (m *Memory) Status() api.Status { return m.adminOps().status() }

func (m adminOps) status() api.Status {
	s := m.Indexer.Report()
	s.Latency.Query = m.queries.Quantiles()
	if m.Todos != nil {
		s.Todosync = m.Todos.Status()
	}
	s.Explain()
	return s
}

// A Window holds the last 1024 durations of an operation. The zero value is
// ready for use. A Window is safe for concurrent use.
type Window struct {
	mu   sync.Mutex
	last [1024]float64 // milliseconds
	n    int
}

// Add records a duration.
func (w *Window) Add(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[w.n%len(w.last)] = float64(took.Microseconds()) / 1000
	w.n++
}

// Quantiles returns the quantiles of the recorded durations.
func (w *Window) Quantiles() api.Quantiles {
	w.mu.Lock()
	sorted := slices.Clone(w.last[:min(w.n, len(w.last))])
	w.mu.Unlock()
	if len(sorted) == 0 {
		return api.Quantiles{}
	}
	slices.Sort(sorted)
	return api.Quantiles{P50: sorted[len(sorted)/2], P99: sorted[len(sorted)*99/100]}
}

func (m readOps) operations(_ context.Context, c Call, _ *api.OperationsRequest) (*api.OperationsAnswer, error) {
	answer := &api.OperationsAnswer{Enabled: !m.Disabled, Operations: []string{}}
	for _, op := range api.Operations {
		if c.Fixed.Allows(op) && m.meetsNeed(c, op) {
			answer.Operations = append(answer.Operations, op.Name)
		}
	}
	return answer, nil
}

// check compares files and index. With Fix it also repairs the differences and
// then returns the remaining ones.
func (m adminOps) check(ctx context.Context, c Call, r *api.CheckRequest) (*api.CheckAnswer, error) {
	for _, id := range r.Dismiss {
		if err := m.Indexer.Dismiss(id); err != nil {
			return nil, err
		}
	}
	answer, err := m.Indexer.Check(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	if r.Fix {
		repaired, refused := m.repair(ctx, answer)
		if len(repaired) > 0 {
			if err := m.Indexer.Sync(ctx); err != nil {
				return nil, api.Errorf(api.Unavailable, "some corrected files are not indexed yet").
					WithHint("run `memwatchd check` again")
			}
			answer, err = m.Indexer.Check(ctx, r.Path)
			if err != nil {
				return nil, err
			}
		}
		answer.Repaired, answer.Refused = repaired, refused
	}
	missing, err := m.missingTargets(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	answer.Problems = append(answer.Problems, missing...)
	slices.SortStableFunc(answer.Problems, func(a, b api.FileProblem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	answer.TookMS = c.took()
	return answer, nil
}

// repair splits files with text for other readers, rewrites wrong counters, and reindexes
// the files that differ from the index. The changes can be undone together.
func (m adminOps) repair(ctx context.Context, found *api.CheckAnswer) (repaired, refused []api.Skipped) {
	record := func(path, reason string, err error) {
		if err != nil {
			refused = append(refused, api.Skipped{Path: path, Reason: err.Error()})
		} else {
			repaired = append(repaired, api.Skipped{Path: path, Reason: reason})
		}
	}
	last, group := "", ""
	for _, p := range found.Problems { // in path order
		split := p.Code == memory.PrivateMarked || p.Code == memory.PublicMarked
		if !split && p.Code != memory.CounterWrong || p.Path == last {
			continue
		}
		last = p.Path
		switch {
		case m.Writer == nil:
			record(p.Path, "", errNoWriter)
			continue
		case split:
			id, to, err := m.splitFile(ctx, p.Path, group)
			reason := "made private"
			if to != "" {
				reason = "split: text for other readers is in " + to
			}
			record(p.Path, reason, err)
			group = cmp.Or(group, id)
			continue
		}
		written, err := todosync.MendCounters(ctx, m.Writer, m.Parse,
			vault.Change{Path: p.Path, Cause: "check", Group: group, Requested: true})
		if err != nil || written.Changed {
			record(p.Path, "counters corrected", err)
			group = cmp.Or(group, written.ID)
		}
	}
	if paths := convertEach(found.Differing, func(d api.Skipped) string { return d.Path }); len(paths) > 0 {
		err := m.Indexer.Reindex(ctx, paths)
		for _, d := range found.Differing {
			record(d.Path, "reindexed: the file "+d.Reason, err)
		}
	}
	return repaired, refused
}

// splitFile moves the text of a file that is marked for other readers to the file beside it,
// whose path it returns with the id of the change. The text is in that file before it leaves
// its own.
func (m adminOps) splitFile(ctx context.Context, path, group string) (id, to string, err error) {
	file, err := m.Writer.Vault.Read(path)
	if err != nil {
		return "", "", writeError(err)
	}
	parse := func(path string, source []byte) *memory.Document {
		return m.Parse(vault.File{Path: path, Data: source, ModTime: file.ModTime})
	}
	split, err := m.Parse(file).Split(parse)
	if err != nil || split == nil {
		return "", "", err
	}
	unchanged := func(now *vault.File) error {
		if now == nil || now.Unstable || !bytes.Equal(now.Data, file.Data) {
			return api.Errorf(api.Conflict, "%s has just changed", path).WithHint("run `memwatchd check --fix` again")
		}
		return nil
	}
	if split.Path != "" {
		beside, err := m.Writer.Write(ctx, vault.Change{Path: split.Path, Cause: "check", Group: group, Requested: true,
			Edit: func(old *vault.File) ([]byte, error) {
				now, err := m.Writer.Vault.Read(path)
				if err == nil {
					err = unchanged(&now)
				}
				if err != nil {
					return nil, err
				}
				switch {
				case old == nil:
					return slices.Concat(split.New, split.Move), nil
				case bytes.HasSuffix(old.Data, split.Move): // a killed process wrote it
					return old.Data, nil
				}
				text := slices.Concat(bytes.TrimRight(old.Data, "\r\n"), []byte("\n\n"), split.Move)
				alone, after := parse(split.Path, slices.Concat(split.New, split.Move)), parse(split.Path, text)
				last := after.Entries[max(0, len(after.Entries)-len(alone.Entries)):]
				switch {
				case after.Partition != alone.Partition || !after.Takes(alone.Partition.Visibility):
					return nil, errAudience(split.Path)
				case !slices.EqualFunc(last, alone.Entries, func(a, b memory.Entry) bool { return a.Norm == b.Norm }):
					return nil, api.Errorf(api.Conflict, "an entry would merge with the last one of %s", split.Path).
						WithHint("end the last code block or comment of that file")
				}
				return text, nil
			}})
		if err != nil {
			return "", "", writeError(err)
		}
		group = cmp.Or(group, beside.ID)
	}
	written, err := m.Writer.Write(ctx, vault.Change{Path: path, Cause: "check", Group: group, Requested: true,
		Edit: func(old *vault.File) ([]byte, error) { return split.Stay, unchanged(old) }})
	if err != nil {
		return group, "", writeError(err)
	}
	return cmp.Or(group, written.ID), split.Path, nil
}
