package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// statusOp returns the status of the memory, with the paths of files, to the
// owner in private and to a program that names no subject. An answer for a
// subject may be shown to anyone, so other callers get the health only.
func (m writeOps) statusOp(_ context.Context, c Call, _ *api.StatusRequest) (*api.StatusAnswer, error) {
	s := m.Status()
	if !c.FullAccess && !c.anonymous {
		return &api.StatusAnswer{Healthy: s.Healthy}, nil
	}
	return &api.StatusAnswer{Status: &s, Healthy: s.Healthy}, nil
}

// Status returns the current status of the memory.
func (m *Memory) Status() api.Status {
	s := m.Indexer.Report()
	s.Latency.Query = m.queries.Quantiles()
	if m.Todos != nil {
		s.Todosync = convertTodosync(m.Todos.Status())
	}
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
		if c.Fixed.Allows(op) && c.meetsNeed(op.Needs) {
			answer.Operations = append(answer.Operations, op.Name)
		}
	}
	return answer, nil
}
