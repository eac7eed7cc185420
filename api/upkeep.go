package api

import (
	"fmt"
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
	// listening, indexed, gone, write, compacted, problem, or lost: events were dropped
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Path    string    `json:"path,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Day     string    `json:"day,omitempty"`
	Entries int       `json:"entries"`         // number of entries in the file that the caller may read
	Cause   string    `json:"cause,omitempty"` // cause of a write, such as note or todosync
	ID      string    `json:"id,omitempty"`    // id of the write in the journal
	Message string    `json:"message,omitempty"`
}

func (a *SyncAnswer) render(t *Text) { t.printf("the index contains all saved changes") }

func (a *RebuildAnswer) render(t *Text) {
	t.printf("%s indexed in %.1f s", Plural(a.Entries, "entry"), a.TookMS/1000)
}

func (e *Event) render(t *Text) {
	text := e.Message
	switch e.Event {
	case "indexed":
		text = Plural(e.Entries, "entry")
	case "write":
		text = e.Cause + " " + e.ID
	}
	when := t.local(e.Time).Format(time.DateTime) + " " + e.Event
	if t.Audience == People {
		when = t.local(e.Time).Format(time.TimeOnly) + " " + fmt.Sprintf("%-9s", e.Event)
	}
	style := Strong
	if e.Event == "problem" || e.Event == "lost" {
		style = Bad
	}
	t.add(Line{Head: when + TextIf(e.Path+text != "", " "), HeadStyle: style, Path: e.Path, Text: t.shorten(text)})
}
