package ntfy

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// maxHandled is the number of remembered message ids. They are needed because a
// server that no longer has the last message sends all its messages again.
const maxHandled = 1000

// A position is the progress of a subscription.
type position struct {
	Topic   string   `json:"of"`    // the server and the topic
	Begin   int64    `json:"begin"` // time of the first connection, in seconds by the server's clock; 0 for not yet
	Handled []string `json:"heard"` // ids of handled messages, oldest first
}

// setBegin records the time of the first connection, because earlier messages are
// ignored. It reports false if the time is already known.
func (p *position) setBegin(now time.Time) bool {
	if p.Begin > 0 {
		return false
	}
	p.Begin = cmp.Or(now, time.Now()).Unix()
	return true
}

// since returns the since parameter of a request: the last id, or the time of
// the first connection, or "" for new messages only.
func (p *position) since() string {
	switch {
	case len(p.Handled) > 0:
		return p.Handled[len(p.Handled)-1]
	case p.Begin > 0:
		return strconv.FormatInt(p.Begin, 10)
	}
	return ""
}

// isHandled reports whether a message was handled before or is older than the first
// connection.
func (p *position) isHandled(m Message) bool {
	return slices.Contains(p.Handled, m.ID) || !m.Time.IsZero() && m.Time.Unix() < p.Begin
}

func (p *position) addHandled(m Message) {
	p.Handled = append(p.Handled, m.ID)
	p.Handled = p.Handled[max(0, len(p.Handled)-maxHandled):]
}

// loadPosition returns the stored position, or a new one if the stored position is
// missing or belongs to another topic.
func (s *Subscriber) loadPosition() *position {
	initial := &position{Topic: strings.TrimRight(s.Server, "/") + "/" + s.Topic}
	var p position
	err := state.Load(s.Path, 0, &p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn("cannot read the position in the topic", "err", err)
	}
	if err != nil || p.Topic != initial.Topic {
		return initial
	}
	return &p
}

// savePosition stores the position for the next run. If that fails, messages may be
// delivered again, and handlers recognize them by id.
func (s *Subscriber) savePosition(p *position) {
	if err := state.Save(s.Path, p); err != nil {
		s.Logger.Warn("cannot save the position in the topic", "err", err)
	}
}
