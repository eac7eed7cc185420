package ipc

import "context"

// OperationsRequest asks what may be asked.
type OperationsRequest struct {
	Scope
}

// OperationsAnswer is what may be asked on this listener by this scope. What is
// not among it is refused there, whatever the request says.
type OperationsAnswer struct {
	Enabled    bool     `json:"enabled"`    // memory is not turned off
	Operations []string `json:"operations"` // in the order of the table
}

func (m *Memory) operations(_ context.Context, c Call, _ *OperationsRequest) (*OperationsAnswer, error) {
	answer := &OperationsAnswer{Enabled: !m.Disabled, Operations: []string{}}
	for _, op := range Operations {
		if c.Fixed.allows(op) && c.meets(op.Needs) {
			answer.Operations = append(answer.Operations, op.Name)
		}
	}
	return answer, nil
}
