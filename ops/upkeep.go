package ops

import (
	"context"
	"errors"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// maxSync bounds the timeout of a sync request.
const maxSync = 10 * time.Minute

func (m writeOps) syncOp(ctx context.Context, c Call, r *api.SyncRequest) (*api.SyncAnswer, error) {
	timeout, err := time.ParseDuration(r.Timeout)
	if err != nil || timeout < 0 || timeout > maxSync {
		return nil, api.Errorf(api.Invalid, "timeout: %q is not a duration such as 500ms or 10s, up to 10m", r.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := m.Indexer.Sync(ctx); err != nil {
		return nil, api.Errorf(api.Unavailable, "some changes are not indexed yet").
			WithHint("retry, or use a longer timeout")
	}
	return &api.SyncAnswer{Synced: true, Revision: m.indexState(c).Revision, TookMS: c.took()}, nil
}

func (m writeOps) rebuild(ctx context.Context, c Call, _ *api.RebuildRequest) (*api.RebuildAnswer, error) {
	err := m.Indexer.Rebuild(ctx)
	if errors.Is(err, index.ErrRebuilding) {
		return nil, api.Errorf(api.Busy, "a rebuild is already running").WithHint("retry after the rebuild")
	}
	if err != nil {
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
func (m writeOps) events(ctx context.Context, c Call, _ *api.EventsRequest, send func(any) error) error {
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
