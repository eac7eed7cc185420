package ipc

import (
	"context"
	"errors"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// SyncRequest asks to wait.
type SyncRequest struct {
	Timeout string `json:"timeout" default:"10s" doc:"how long to wait at most, such as 500ms or 10s"`
	Scope
}

// SyncAnswer says that everything saved before the question is indexed.
type SyncAnswer struct {
	Synced   bool    `json:"synced"`
	Revision *uint64 `json:"revision,omitempty"`
	TookMS   float64 `json:"took_ms"`
}

// maxSync is how long anybody may wait.
const maxSync = 10 * time.Minute

func (m *Memory) syncOp(ctx context.Context, c Call, r *SyncRequest) (*SyncAnswer, error) {
	start := time.Now()
	timeout, err := time.ParseDuration(r.Timeout)
	if err != nil || timeout < 0 || timeout > maxSync {
		return nil, Errorf(Invalid, "timeout: %q is not a duration such as 500ms or 10s, up to 10m", r.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := m.Keeper.Sync(ctx); err != nil {
		return nil, Errorf(Unavailable, "not everything is indexed yet").hint("ask again, or with a longer timeout")
	}
	answer := &SyncAnswer{Synced: true, TookMS: milliseconds(time.Since(start))}
	answer.Revision = m.state(c, true).Revision
	return answer, nil
}

// RebuildRequest asks for a new index.
type RebuildRequest struct {
	Scope
}

// RebuildAnswer says what is in the new index.
type RebuildAnswer struct {
	Entries int     `json:"entries"`
	TookMS  float64 `json:"took_ms"`
}

func (m *Memory) rebuild(ctx context.Context, _ Call, _ *RebuildRequest) (*RebuildAnswer, error) {
	start := time.Now()
	err := m.Keeper.Rebuild(ctx)
	if errors.Is(err, index.ErrRebuilding) {
		return nil, Errorf(Busy, "a rebuild is under way").hint("try again when it has ended")
	}
	if err != nil {
		return nil, err
	}
	return &RebuildAnswer{Entries: m.Index.Status().Entries, TookMS: milliseconds(time.Since(start))}, nil
}

// EventsRequest asks to be told what happens.
type EventsRequest struct {
	Scope
}

// Listening is the first event that anybody is told: what happens after it is
// told too.
const Listening = "listening"

// An Event is something that happened.
type Event struct {
	Event   string    `json:"event"` // listening, indexed, gone, write, compacted, problem, or lost: some were left out
	Time    time.Time `json:"time"`
	Path    string    `json:"path,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Day     string    `json:"day,omitempty"`
	Entries int       `json:"entries"`         // of the file, that the caller can read
	Cause   string    `json:"cause,omitempty"` // of a write
	ID      string    `json:"id,omitempty"`    // of a write, in the journal
	Message string    `json:"message,omitempty"`
}

// A Change is an event with what the index held and holds of its file. An event
// without either concerns the memory as a whole.
type Change struct {
	Event
	Before, After index.FileInfo
}

// events tells a caller what happens to the files it can read, and the owner
// what happens to the memory as a whole.
func (m *Memory) events(ctx context.Context, c Call, _ *EventsRequest, send func(any) error) error {
	return m.Keeper.Subscribe(ctx, func(change Change) error {
		if change.Before.Path == "" && change.After.Path == "" {
			if !c.Whole && change.Event.Event != Listening {
				return nil
			}
			return send(change.Event)
		}
		if err := m.look(&c); err != nil { // the readers may have changed since
			return err
		}
		if !change.seen(c.View) {
			return nil
		}
		return send(change.Event)
	})
}

// seen rewrites the event for a reader of parts of the file. It reports whether
// anything changed in those parts.
func (c *Change) seen(v memory.View) bool {
	before, _, was := c.Before.Version(v)
	after, entries, is := c.After.Version(v)
	c.Event.Event, c.Entries = "indexed", entries
	if !is {
		c.Event.Event = "gone"
	}
	return was != is || is && before != after
}
