package config

import (
	"cmp"
	"errors"
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
	return cmp.Or(checkEach("share.publish", len(s.Publish), func(i int) error { return checkPattern(s.Publish[i]) }),
		c.checkOutside("share.weaviate.key_file", s.Weaviate.KeyFile))
}
