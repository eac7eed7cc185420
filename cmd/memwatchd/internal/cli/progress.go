package cli

import (
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// showRebuildProgress shows the progress of the requested rebuild on a terminal until
// the returned function is called.
func (a *invocation) showRebuildProgress(ctx context.Context) (done func()) {
	if term.Width(a.g.Stderr) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	cleared := make(chan struct{})
	go func() {
		defer close(cleared)
		term.ShowProgress(ctx, a.g.Stderr, func() (int, int, bool) {
			s, err := a.client.Status(ctx, api.StatusRequest{})
			if err != nil || s.Status == nil {
				return 0, 0, true // no progress known yet
			}
			return s.Index.Done, s.Index.Total, true
		})
	}()
	return func() { cancel(); <-cleared }
}
