package api

import (
	"time"
)

// SyncRequest requests to wait for the index.
type SyncRequest struct {
	Timeout string `json:"timeout" default:"10s" doc:"how long to wait at most, such as 500ms or 10s"`
	Scope
}

// SyncAnswer reports that everything saved before the request is indexed.
// Otherwise the operation returns an error.
type SyncAnswer struct {
	Synced   bool    `json:"synced"`
	Revision *uint64 `json:"revision,omitempty"`
	TookMS   float64 `json:"took_ms"`
}

// RebuildRequest requests a new index.
type RebuildRequest struct {
	Scope
}

// RebuildAnswer describes the new index.
type RebuildAnswer struct {
	Entries int     `json:"entries"`
	TookMS  float64 `json:"took_ms"`
}

// EventsRequest requests the stream of events.
type EventsRequest struct {
	Scope
}

// Listening is the first event of every stream. The stream contains all events
// after it.
const Listening = "listening"

// An Event is a change or a problem of the memory.
type Event struct {
	Event   string    `json:"event"` // listening, indexed, gone, write, compacted, problem, or lost: some were left out
	Time    time.Time `json:"time"`
	Path    string    `json:"path,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Day     string    `json:"day,omitempty"`
	Entries int       `json:"entries"`         // of the file, as readable by the caller
	Cause   string    `json:"cause,omitempty"` // of a write
	ID      string    `json:"id,omitempty"`    // of a write, in the journal
	Message string    `json:"message,omitempty"`
}
