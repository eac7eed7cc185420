package ntfy

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxHeard is how many ids of messages are remembered: a server that has
// forgotten the last of them sends again all that it has.
const maxHeard = 1000

// A position is what was heard of a topic.
type position struct {
	Of    string   `json:"of"`    // the server and the topic
	Begin int64    `json:"begin"` // when it was first listened to, in seconds by the server's clock; 0 for not yet
	Heard []string `json:"heard"` // ids of messages, the last one at the end
}

// begin notes when the topic was first listened to: what was sent before is not
// for us. It is false if that is known.
func (p *position) begin(now time.Time) bool {
	if p.Begin > 0 {
		return false
	}
	if now.IsZero() {
		now = time.Now()
	}
	p.Begin = now.Unix()
	return true
}

// since is from where on messages are wanted, as the server understands it;
// empty for those that come from now on.
func (p *position) since() string {
	switch {
	case len(p.Heard) > 0:
		return p.Heard[len(p.Heard)-1]
	case p.Begin > 0:
		return strconv.FormatInt(p.Begin, 10)
	}
	return ""
}

// heard reports whether a message is not wanted any more.
func (p *position) heard(m Message) bool {
	return slices.Contains(p.Heard, m.ID) || !m.Time.IsZero() && m.Time.Unix() < p.Begin
}

func (p *position) add(m Message) {
	p.Heard = append(p.Heard, m.ID)
	p.Heard = p.Heard[max(0, len(p.Heard)-maxHeard):]
}

// recall is the position of the last run, if it was on the same topic.
func (s *Subscriber) recall() *position {
	fresh := &position{Of: strings.TrimRight(s.Server, "/") + "/" + s.Topic}
	if s.Memory == nil {
		return fresh
	}
	data, err := s.Memory.Load()
	if err != nil {
		s.Logger.Warn("what was heard of the topic is not known", "err", err)
		return fresh
	}
	var p position
	if data == nil || json.Unmarshal(data, &p) != nil || p.Of != fresh.Of {
		return fresh
	}
	return &p
}

// remember keeps the position for the next run. If that fails, what is heard
// again then is told by its id.
func (s *Subscriber) remember(p *position) {
	if s.Memory == nil {
		return
	}
	data, err := json.Marshal(p)
	if err == nil {
		err = s.Memory.Save(data)
	}
	if err != nil {
		s.Logger.Warn("what was heard of the topic cannot be kept", "err", err)
	}
}
