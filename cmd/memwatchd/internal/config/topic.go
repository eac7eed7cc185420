package config

import (
	"fmt"

	"github.com/memwatchd/memwatchd/ntfy"
)

// finishTopic checks the keys of the ntfy topic, if one is configured.
func (c *Config) finishTopic() error {
	n := &c.Capture.Ntfy
	if n.Topic == "" {
		return nil
	}
	if err := ntfy.CheckTopic(n.Topic); err != nil {
		return fmt.Errorf("capture.ntfy.topic: %w", err)
	}
	if err := ntfy.CheckServer(n.Server); err != nil {
		return fmt.Errorf("capture.ntfy.server: %w", err)
	}
	return finishPath("capture.ntfy.token_file", &n.TokenFile)
}
