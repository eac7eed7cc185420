package ops

import (
	"context"

	"github.com/memwatchd/memwatchd/api"
)

func (m reading) operations(_ context.Context, c Call, _ *api.OperationsRequest) (*api.OperationsAnswer, error) {
	answer := &api.OperationsAnswer{Enabled: !m.Disabled, Operations: []string{}}
	for _, op := range api.Operations {
		if c.Fixed.Allows(op) && c.meets(op.Needs) {
			answer.Operations = append(answer.Operations, op.Name)
		}
	}
	return answer, nil
}
