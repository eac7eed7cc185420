package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/ntfy"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
)

type topic struct {
	ntfy.Subscriber
	refused atomic.Int64 // messages that are never noted
}

// openTopic returns the subscriber of the configured topic, or nil if there is
// none or memory is disabled.
func (d *daemon) openTopic() (t *topic, err error) {
	n := &d.config.Capture.Ntfy
	if n.Topic == "" || !d.config.Memory.Enabled {
		return nil, nil
	}
	server, name := n.Split()
	t = &topic{Subscriber: ntfy.Subscriber{
		Server: server, Topic: name, Logger: d.logger,
		Path: filepath.Join(d.config.StateDir, "topic.json"),
	}}
	t.Token, err = openKey("capture.ntfy.token_file", n.TokenFile)
	return t, err
}

// runTopic notes the messages of the topic.
func (d *daemon) runTopic(ctx context.Context, m *ops.Memory) error {
	if d.topic == nil {
		return nil
	}
	d.topic.Handle = func(ctx context.Context, msg ntfy.Message) error {
		err := m.Receive(ctx, ops.Received{
			Source: memory.TopicSource + d.topic.Topic + ":" + msg.ID, Time: msg.Time, Title: msg.Title,
			Text: msg.Body(),
		})
		if e, ok := errors.AsType[*api.Error](err); ok && (e.Code == api.Secret || e.Code == api.Invalid) {
			d.topic.refused.Add(1)
			d.logger.Warn("message cannot be noted", "id", msg.ID, "err", err)
			return nil
		}
		return err
	}
	return d.topic.Run(ctx)
}

// topicStatus returns the status of the subscription; nil if there is no topic.
func (d *daemon) topicStatus() *api.TopicStatus {
	if d.topic == nil {
		return nil
	}
	s := d.topic.Status()
	s.Refused = int(d.topic.refused.Load())
	return &s
}
