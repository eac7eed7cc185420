package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
)

// addTaskSearch lets a command that changes a task accept path:line, as other
// commands print it, and any part of the text that only one task contains.
func addTaskSearch(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		typed, given := paramGiven(req, "text")
		if !given {
			return runOperation(cmd, op, req, g)
		}
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		var notFound error
		if _, line := resolvePlace(a.out.memory, typed); line == 0 {
			notFound = runOperation(cmd, op, req, g)
			failure, ok := errors.AsType[*api.Error](notFound)
			if !ok || failure.Code != api.NotFound {
				return notFound
			}
		}
		if err := a.selectTask(cmd, req, typed, notFound); err != nil {
			return err
		}
		return runOperation(cmd, op, req, g)
	}
}

// selectTask replaces the text of a request by the id of the task that it means.
// If no task contains the text, it returns notFound.
func (a *invocation) selectTask(cmd *cobra.Command, req *api.Request, typed string, notFound error) error {
	list, err := a.client.Todos(cmd.Context(), api.TodosRequest{State: "all"})
	if err != nil {
		return err
	}
	path, line := resolvePlace(a.out.memory, typed)
	state, given := paramGiven(req, "state")
	if !given {
		state = "done"
	}
	var id string
	var candidates []string
	for _, task := range list.Todos {
		if line == 0 && task.State != state && strings.Contains(strings.ToLower(task.Text), strings.ToLower(typed)) {
			id = task.Places[0].ID
			candidates = append(candidates, fmt.Sprintf("%q", task.Text))
		}
		for _, p := range task.Places {
			if line > 0 && p.Path == path && p.Line == line {
				id, candidates = p.ID, []string{task.Text}
			}
		}
	}
	switch {
	case len(candidates) == 0 && line > 0:
		return fmt.Errorf("there is no task in line %d of %s: run `memwatchd todo list` to list tasks", line, path)
	case len(candidates) == 0:
		return notFound
	case len(candidates) > 1:
		const most = 10
		if n := len(candidates); n > most {
			candidates = append(candidates[:most], fmt.Sprintf("and %d more", n-most))
		}
		return fmt.Errorf("more than one task contains %q: %s", typed, strings.Join(candidates, ", "))
	}
	if err := setParam(req, "text", ""); err != nil {
		return err
	}
	return setParam(req, "id", id)
}
