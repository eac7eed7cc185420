package ntfy

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A Message is a message sent to the topic. Its sender can be any person or
// program that knows the name of the topic. Its texts are unmodified.
type Message struct {
	ID         string // letters, digits, dashes and underscores
	Time       time.Time
	Title      string
	Text       string
	Click      string // a URL
	Attachment *Attachment
}

// An Attachment is a file stored on another server.
type Attachment struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Body returns the content of a message except its title: the text, the click
// URL, and the name and the URL of the attachment. If all of them are empty,
// Body returns the title.
func (m *Message) Body() string {
	parts := []string{m.Text, m.Click}
	if a := m.Attachment; a != nil {
		parts = append(parts, strings.TrimSpace(a.Name+" "+a.URL))
	}
	var said []string
	for _, p := range parts {
		p = strings.TrimSpace(p)
		if p != "" {
			said = append(said, p)
		}
	}
	if len(said) == 0 {
		return strings.TrimSpace(m.Title)
	}
	return strings.Join(said, " ")
}

// An event is one line of a stream.
type event struct {
	kind  string // open, keepalive, message; other kinds are ignored
	topic string
	time  time.Time // by the server's clock; zero if absent
	Message
}

var errGarbage = errors.New("the server sends something else than messages")

// parseEvent parses a line of a stream. It returns errGarbage for an invalid
// line.
func parseEvent(line []byte) (e event, err error) {
	var wire struct {
		ID         string      `json:"id"`
		Time       int64       `json:"time"`
		Event      string      `json:"event"`
		Topic      string      `json:"topic"`
		Title      string      `json:"title"`
		Message    string      `json:"message"`
		Click      string      `json:"click"`
		Attachment *Attachment `json:"attachment"`
	}
	if json.Unmarshal(line, &wire) != nil || wire.Event == "" || !idRE.MatchString(wire.ID) {
		return e, errGarbage
	}
	if wire.Time > 0 {
		e.time = time.Unix(wire.Time, 0).UTC()
	}
	e.kind, e.topic = wire.Event, wire.Topic
	e.Message = Message{ID: wire.ID, Time: e.time, Title: wire.Title, Text: wire.Message, Click: wire.Click,
		Attachment: wire.Attachment}
	return e, nil
}
