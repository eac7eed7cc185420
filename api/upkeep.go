package api

import (
	"time"
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

// RebuildRequest asks for a new index.
type RebuildRequest struct {
	Scope
}

// RebuildAnswer says what is in the new index.
type RebuildAnswer struct {
	Entries int     `json:"entries"`
	TookMS  float64 `json:"took_ms"`
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
