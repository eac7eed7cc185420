package main

import (
	"path/filepath"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/todosync"
)

// openTodos opens what keeps the copies of tasks in step.
func (d *daemon) openTodos() {
	c := d.config
	d.todos = &todosync.Syncer{
		Files: d.pipeline.documents, Writer: d.writer, List: d.withTasks, Parse: d.pipeline.parse, Subject: d.people.subject,
		State: filepath.Join(c.State.Dir, "todosync.json"), Root: c.Memory.Dir,
		Days: c.Todosync.Days, Location: c.location, Off: !c.Todosync.Enabled,
		Gather: max(todosync.DefaultGather, 2*c.Watch.Vanish), Logger: d.logger,
	}
	d.pipeline.todos = d.todos
}

// withTasks lists the files that have tasks.
func (d *daemon) withTasks() []todosync.Listed {
	var list []todosync.Listed
	for _, f := range d.index.Files(func(f *index.FileInfo) bool { return f.Tasks && todosync.Concerns(f.Kind) }) {
		list = append(list, todosync.Listed{Path: f.Path, Day: f.Day, Hash: f.Hash})
	}
	return list
}
