package api

import (
	"time"
)

// SyncRequest requests to wait for the index.
type SyncRequest struct {
	Timeout string `json:"timeout" default:"10s" doc:"maximum time to wait, such as 500ms or 10s; at most 10m"`
	Scope
	For[SyncAnswer]
}

// SyncAnswer reports that everything saved before the request is indexed.
// Otherwise the operation returns an error.
type SyncAnswer struct {
	Synced   bool    `json:"synced"`
	Revision *uint64 `json:"revision,omitempty"`
	TookMS   float64 `json:"took_ms"` // duration in milliseconds
}

// RebuildRequest requests a new index.
type RebuildRequest struct {
	Scope
	For[RebuildAnswer]
}

// RebuildAnswer describes the new index.
type RebuildAnswer struct {
	Entries int     `json:"entries"` // number of indexed entries
	TookMS  float64 `json:"took_ms"` // duration in milliseconds
}

// EventsRequest requests the stream of events.
type EventsRequest struct {
	Scope
	For[Event]
}

// Listening is the first event of every stream. The stream contains all events
// after it.
const Listening = "listening"

// An Event is a change or a problem of the memory.
type Event struct {
	Event   string    `json:"event"` // listening, indexed, gone, write, compacted, problem, or lost: events were dropped
	Time    time.Time `json:"time"`
	Path    string    `json:"path,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Day     string    `json:"day,omitempty"`
	Entries int       `json:"entries"`         // number of entries in the file that the caller may read
	Cause   string    `json:"cause,omitempty"` // cause of a write, such as note or todosync
	ID      string    `json:"id,omitempty"`    // id of the write in the journal
	Message string    `json:"message,omitempty"`
}
