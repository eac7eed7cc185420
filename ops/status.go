package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// statusOp tells how the memory as a whole is doing, with the paths of files: to
// the owner, in private, and to a program that does not say for whom it asks. What
// is asked for somebody may be shown to anybody.
func (m admin) statusOp(_ context.Context, c Call, _ *api.StatusRequest) (*api.StatusAnswer, error) {
	s := m.Status()
	if !c.Whole && !c.anonymous {
		return &api.StatusAnswer{Healthy: s.Healthy}, nil
	}
	return &api.StatusAnswer{Status: &s, Healthy: s.Healthy}, nil
}

// Status is how the memory is doing now.
func (m *Memory) Status() api.Status {
	s := m.Keeper.Report()
	s.Latency.Query = m.queries.Quantiles()
	if m.Todos != nil {
		s.Todosync = convertTodosync(m.Todos.Status())
	}
	return s
}

// A Window remembers how long the last thousand of something took. The zero
// value is ready; it is safe for concurrent use.
type Window struct {
	mu   sync.Mutex
	last [1024]float64 // milliseconds
	n    int
}

// Add notes one.
func (w *Window) Add(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[w.n%len(w.last)] = float64(took.Microseconds()) / 1000
	w.n++
}

// Quantiles are those of what is remembered.
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

func (m reading) operations(_ context.Context, c Call, _ *api.OperationsRequest) (*api.OperationsAnswer, error) {
	answer := &api.OperationsAnswer{Enabled: !m.Disabled, Operations: []string{}}
	for _, op := range api.Operations {
		if c.Fixed.Allows(op) && c.meets(op.Needs) {
			answer.Operations = append(answer.Operations, op.Name)
		}
	}
	return answer, nil
}
