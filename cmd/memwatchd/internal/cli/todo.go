package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// addTaskSearch lets a command that changes a task accept the short id of a list,
// path:line, as other commands print it, and any part of the text that only one
// task contains.
func addTaskSearch(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		typed, given := paramGiven(req, "text")
		id, hasID := paramGiven(req, "id")
		line := 0
		if given {
			_, line, _ = resolvePlace(a.out.memory, typed)
		}
		if line == 0 {
			err := a.run(cmd, req)
			failure, ok := errors.AsType[*api.Error](err)
			switch {
			case !ok || failure.Code != api.NotFound || !given && !hasID:
				return err
			case !given:
				return errNoTask("task %q not found", id)
			}
		}
		if err := a.selectTask(cmd, req, typed); err != nil {
			return err
		}
		return a.run(cmd, req)
	}
}

// errNoTask returns the error for a task that does not exist.
func errNoTask(format string, args ...any) error {
	return api.Errorf(api.NotFound, format, args...).WithHint("run `memwatchd todo list --all` to list tasks")
}

// selectTask replaces the text of a request by the id of the task that it means. Tasks
// of ordinary notes are considered if no other task is meant.
func (a *invocation) selectTask(cmd *cobra.Command, req *api.Request, typed string) error {
	state, given := paramGiven(req, "state")
	if !given {
		state = "done"
	}
	path, line, _ := resolvePlace(a.out.memory, typed)
	var found []api.Todo
	for _, notes := range []bool{false, true} {
		list, err := a.client.Todos(cmd.Context(), api.TodosRequest{State: "all", Notes: notes})
		if err != nil {
			return err
		}
		if line > 0 {
			found = tasksAt(list.Todos, path, line)
		} else {
			found = matchTasks(list.Todos, typed, state)
		}
		if line > 0 && len(found) > 0 ||
			slices.ContainsFunc(found, func(t api.Todo) bool { return t.State != state || hasTaskID(t, typed) }) {
			break
		}
	}
	switch {
	case len(found) == 0 && line > 0:
		return errNoTask("line %d of %s contains no task", line, path)
	case len(found) == 0:
		return errNoTask("task %q not found", typed)
	case len(found) > 1:
		var candidates []string
		const most = 10
		for i, id := range shortTaskIDs(found[:min(len(found), most)]) {
			candidates = append(candidates, fmt.Sprintf("%q (%s)", found[i].Text, id))
		}
		if n := len(found) - most; n > 0 {
			candidates = append(candidates, fmt.Sprintf("and %d more", n))
		}
		return api.Errorf(api.Conflict, "more than one task matches %q: %s; use an id in parentheses", typed,
			strings.Join(candidates, ", "))
	}
	if err := setParam(req, "text", ""); err != nil {
		return err
	}
	return setParam(req, "id", found[0].Places[0].Task())
}

// tasksAt returns the task at a line of a file, with only this place.
func tasksAt(todos []api.Todo, path string, line int) []api.Todo {
	for _, t := range todos {
		for _, p := range t.Places {
			if p.Path == path && p.Line == line {
				t.Places = []api.TodoPlace{p}
				return []api.Todo{t}
			}
		}
	}
	return nil
}

// matchTasks returns the tasks with an id that begins with a text, and those that
// contain the text. Of these it prefers tasks with the id, then those that are not in the
// given state, then those with exactly this text.
func matchTasks(todos []api.Todo, typed, state string) []api.Todo {
	var found []api.Todo
	for _, t := range todos {
		if hasTaskID(t, typed) || strings.Contains(memory.Fold(t.Text), memory.Fold(typed)) {
			found = append(found, t)
		}
	}
	for _, better := range []func(api.Todo) bool{
		func(t api.Todo) bool { return hasTaskID(t, typed) },
		func(t api.Todo) bool { return t.State != state },
		func(t api.Todo) bool { return memory.Fold(t.Text) == memory.Fold(typed) },
	} {
		if slices.ContainsFunc(found, better) {
			found = slices.DeleteFunc(found, func(t api.Todo) bool { return !better(t) })
		}
	}
	return found
}

// minShortID is the minimum length of a shortened id.
const minShortID = 4

// hasTaskID reports whether the id of a task begins with a text.
func hasTaskID(t api.Todo, typed string) bool {
	id := strings.ToLower(strings.TrimLeft(typed, "~^"))
	return len(id) >= minShortID && slices.ContainsFunc(t.Places, func(p api.TodoPlace) bool {
		return strings.HasPrefix(strings.ToLower(bareTaskID(p.Task())), id)
	})
}

// shortTaskIDs returns for each task an id that people can type: the given id, or the
// shortest beginning of the derived id that no other task of the list has.
func shortTaskIDs(todos []api.Todo) []string {
	short, sorted := make([]string, len(todos)), make([]string, len(todos))
	for i, t := range todos {
		sorted[i] = bareTaskID(t.Places[0].Task())
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for i, t := range todos {
		id := t.Places[0].Task()
		bare := bareTaskID(id)
		at, _ := slices.BinarySearch(sorted, bare)
		n := len(shortTaskID(id))
		for _, beside := range []int{at - 1, at + 1} {
			for beside >= 0 && beside < len(sorted) && n < len(bare) && strings.HasPrefix(sorted[beside], bare[:n]) {
				n++
			}
		}
		short[i] = bare[:n]
	}
	return short
}

// shortTaskID returns a given id whole and of a derived one the beginning.
func shortTaskID(id string) string {
	bare := bareTaskID(id)
	if strings.Contains(id, "#~") {
		return bare[:min(len(bare), minShortID)]
	}
	return bare
}

// bareTaskID returns an id without path and mark.
func bareTaskID(id string) string {
	return strings.TrimLeft(id[strings.LastIndexByte(id, '#')+1:], "~^")
}
