package config

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/internal/weaviate"
	"github.com/memwatchd/memwatchd/memory"
)

// finishShare checks the keys of the shared store, if one is configured.
func (c *Config) finishShare() error {
	s := &c.Share
	if s.Weaviate.URL == "" {
		return nil
	}
	u, err := finishURL("share.weaviate.url", &s.Weaviate.URL, "https://weaviate.lan:8080", "share.weaviate.key_file")
	if err != nil {
		return err
	}
	if s.Private && IsExposed(u) {
		return errors.New("share.private: private entries require https for a remote store")
	}
	if err := weaviate.CheckPrefix(s.Weaviate.Prefix); err != nil {
		return fmt.Errorf("share.weaviate.prefix: %w", err)
	}
	for _, pattern := range s.Publish {
		if pattern == "" || !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("share.publish: %q is not a path pattern", pattern)
		}
	}
	for _, host := range s.Trust {
		if err := memory.ValidHost(host); err != nil {
			return fmt.Errorf("share.trust: %w", err)
		}
	}
	return cmp.Or(c.finishOutside("share.weaviate.key_file", &s.Weaviate.KeyFile),
		c.finishOutside("share.weaviate.ca_file", &s.Weaviate.CAFile))
}
