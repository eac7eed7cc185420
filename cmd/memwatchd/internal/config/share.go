package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/weaviate"
)

// finishShare checks the keys of the shared store, if one is configured.
func (c *Config) finishShare() error {
	s := &c.Share
	if s.Weaviate.URL == "" {
		return nil
	}
	s.Weaviate.URL = strings.TrimRight(s.Weaviate.URL, "/")
	u, err := url.Parse(s.Weaviate.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("share.weaviate.url: not a URL such as https://weaviate.lan:8080")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("share.weaviate.url: remove user, query and fragment; set a key in share.weaviate.key_file")
	case s.Private && u.Scheme == "http" && !IsLoopback(u.Hostname()):
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
	if s.Host == "" {
		s.Host = c.Memory.Host
	}
	for _, host := range s.Trust {
		if err := memory.ValidHost(host); err != nil {
			return fmt.Errorf("share.trust: %w", err)
		}
	}
	if s.Host != "" {
		if err := memory.ValidHost(s.Host); err != nil {
			return fmt.Errorf("share.host: %w", err)
		}
	}
	if s.Spool == "" {
		s.Spool = filepath.Join(c.State.Dir, "share")
	}
	for _, p := range []struct {
		key  string
		path *string
	}{
		{"share.weaviate.key_file", &s.Weaviate.KeyFile}, {"share.weaviate.ca_file", &s.Weaviate.CAFile},
		{"share.spool", &s.Spool},
	} {
		if *p.path == "" {
			continue
		}
		*p.path, err = AbsolutePath(*p.path)
		if err != nil {
			return fmt.Errorf("%s: %w", p.key, err)
		}
		if IsWithin(*p.path, c.Memory.Dir) {
			return fmt.Errorf("%s: %s is in the memory directory, where it would be indexed and synchronized: move it out",
				p.key, *p.path)
		}
	}
	return nil
}
