package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
)

func (d *daemon) openTodos() {
	c := d.config
	d.todos = &todosync.Syncer{
		Files: taskFiles{d}, Writer: d.writer, List: d.listTaskFiles, Parse: d.pipeline.parseFile,
		Subject: d.subjects.subjectOf,
		State:   filepath.Join(c.StateDir, "todosync.json"), Root: c.Memory.Dir,
		Days: c.Memory.ShortTermDays, Location: c.Location, Off: !c.Todosync.Enabled,
		Debounce: max(todosync.DefaultDebounce, 2*c.Tuning.Vanish), Logger: d.logger, Now: config.Now,
		CatchUp: d.memory.watcher.Sync,
	}
	if c.Todosync.AppendOnly {
		d.todos.AppendOnly = func(path string) bool { return d.pipeline.layout.Place(path).Kind == memory.Daily }
	}
	d.pipeline.todos = d.todos
}

// acceptReviewed moves reviewed texts to where they belong, on the machine that runs maintenance,
// until the context ends.
func (d *daemon) acceptReviewed(ctx context.Context, m *ops.Memory) error {
	for {
		if duty, err := d.maintenance.host.Duty(); err == nil && duty.Active {
			if err := m.AcceptReviewed(ctx); err != nil && ctx.Err() == nil {
				d.logger.Debug("reviewed texts wait", "err", err)
			}
		}
		if err := sleep(ctx, mergePause); err != nil {
			return err
		}
	}
}

// taskFiles loads files from documents, and distinguishes a deleted file from one
// that cannot be read at this moment, as during a save. Deletions are detected
// where changes are followed.
type taskFiles struct{ *daemon }

// Load implements [todosync.Files].
func (p taskFiles) Load(path string) (*memory.Document, error) {
	doc, err := p.pipeline.documents.Load(path)
	if err == nil {
		return doc, nil
	}
	// A file unknown to the index may be gone, provided that the index is
	// complete.
	if _, known := p.index.File(path); known || p.index.Status().Degraded || p.mayMissFiles() {
		return nil, fmt.Errorf("read %s: the file is changing", path)
	}
	return doc, err
}

func (d *daemon) listTaskFiles() []todosync.Listed {
	var list []todosync.Listed
	for _, f := range d.index.Files(func(f *index.FileInfo) bool { return f.Tasks && todosync.Concerns(f.Kind) }) {
		list = append(list, todosync.Listed{Path: f.Path, Day: f.Day, Hash: f.Hash})
	}
	return list
}
