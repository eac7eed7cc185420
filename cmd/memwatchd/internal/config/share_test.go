package config

import (
	"strings"
	"testing"
)

// TestShareConfig checks the accepted values of share and their defaults.
func TestShareConfig(t *testing.T) {
	for _, c := range []struct {
		name, problem string
		set           func(*Config)
	}{
		{"defaults", "", func(*Config) {}},
		{"nothing is checked without a store", "", func(c *Config) { c.Share.Weaviate.URL, c.Share.Trust = "", []string{"a b"} }},
		{"private here", "", func(c *Config) { c.Share.Private = true }},
		{"private elsewhere", "share.private: private entries require https", func(c *Config) {
			c.Share.Weaviate.URL, c.Share.Private = "http://weaviate.lan:8080", true
		}},
		{"private over https", "", func(c *Config) { c.Share.Weaviate.URL, c.Share.Private = "https://weaviate.lan/", true }},
		{"key in the URL", "set a key in share.weaviate.key_file", func(c *Config) { c.Share.Weaviate.URL = "https://a:b@weaviate.lan" }},
		{"another scheme", "share.weaviate.url: not a URL", func(c *Config) { c.Share.Weaviate.URL = "ftp://weaviate.lan" }},
		{"pattern", "share.publish: ", func(c *Config) { c.Share.Publish = []string{"notes/[a"} }},
		{"trust", "share.trust: ", func(c *Config) { c.Share.Trust = []string{"a b"} }},
		{"prefix", "share.weaviate.prefix: ", func(c *Config) { c.Share.Weaviate.Prefix = "a/b" }},
	} {
		conf := Default()
		conf.Memory.Dir, conf.State.Dir, conf.Memory.Host = t.TempDir(), t.TempDir(), "desk"
		conf.Share.Weaviate.URL = "http://127.0.0.1:8080"
		c.set(conf)
		err := conf.Finish()
		if (err == nil) != (c.problem == "") || err != nil && !strings.HasPrefix(err.Error(), c.problem) && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && strings.HasSuffix(conf.Share.Weaviate.URL, "/") {
			t.Errorf("%s: %+v", c.name, conf.Share)
		}
	}
}
