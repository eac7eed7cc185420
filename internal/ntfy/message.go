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
	ID         string      `json:"id"` // letters, digits, dashes and underscores
	Time       time.Time   `json:"-"`  // by the server's clock; zero if absent
	Title      string      `json:"title"`
	Text       string      `json:"message"`
	Click      string      `json:"click"` // a URL
	Attachment *Attachment `json:"attachment"`
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
	var lines []string
	for _, p := range parts {
		p = strings.TrimSpace(p)
		if p != "" {
			lines = append(lines, p)
		}
	}
	if len(lines) == 0 {
		return strings.TrimSpace(m.Title)
	}
	return strings.Join(lines, " ")
}

// An event is one line of a stream.
type event struct {
	Kind  string `json:"event"` // open, keepalive, message; other kinds are ignored
	Topic string `json:"topic"`
	Unix  int64  `json:"time"` // by the server's clock; zero if absent
	Message
}

var errInvalidLine = errors.New("server response is not an ntfy stream")

// parseEvent parses a line of a stream. It returns errInvalidLine for an invalid
// line.
func parseEvent(line []byte) (e event, err error) {
	if json.Unmarshal(line, &e) != nil || e.Kind == "" || !topicRE().MatchString(e.ID) {
		return event{}, errInvalidLine
	}
	if e.Unix > 0 {
		e.Time = time.Unix(e.Unix, 0).UTC()
	}
	return e, nil
}
