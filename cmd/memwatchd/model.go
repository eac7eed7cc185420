package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/llm"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
)

// finishLLM checks the keys of the model that is asked, if there is one.
func (c *Config) finishLLM() (err error) {
	l := &c.LLM
	if l.Endpoint == "" {
		return nil
	}
	l.Endpoint = strings.TrimRight(l.Endpoint, "/")
	u, err := url.Parse(l.Endpoint)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("llm.endpoint: it is not an address such as http://127.0.0.1:11434/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("llm.endpoint: it must have no user, query or fragment; keys are for llm.key_file")
	case l.Model == "":
		return errors.New("llm.model: it is missing; say which model of llm.endpoint is asked")
	case l.Private && u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("llm.private: private text is not sent over http to another machine; use https")
	}
	if l.KeyFile != "" {
		if l.KeyFile, err = absolute(l.KeyFile); err != nil {
			return fmt.Errorf("llm.key_file: %w", err)
		}
	}
	return nil
}

// loopback reports whether a host is this machine, as far as its name tells.
func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// openModel makes what asks the model; nil if there is none. That its key cannot
// be read is an error, since whoever configured it is still there now.
func (d *daemon) openModel() (*llm.Client, error) {
	l := &d.config.LLM
	if l.Endpoint == "" {
		return nil, nil
	}
	client := &llm.Client{
		Endpoint: l.Endpoint, Model: l.Model, Timeout: l.Timeout,
		Redact: func(text string) string { text, _ = secrets.Redact(text); return text },
	}
	if l.KeyFile != "" {
		client.Key = func() (string, error) { return readKey(l.KeyFile) }
		if _, err := client.Key(); err != nil {
			return nil, fmt.Errorf("llm.key_file: %w", err)
		}
	}
	if u, err := url.Parse(l.Endpoint); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		d.logger.Warn("what the model is asked crosses the network unencrypted", "host", u.Hostname())
	}
	return client, nil
}

// tellModel reports whether a text of memory may be told to the model: what is
// private only if that is configured, what has a credential in it never.
func (d *daemon) tellModel(v memory.Visibility, text string) bool {
	return (v == memory.PublicOK || d.config.LLM.Private) && secrets.Rule(text) == ""
}

// refuseModel says why a text of the model's cannot be written.
func refuseModel(text string) error {
	if secrets.Rule(text) != "" {
		return errors.New("it has a credential in it, or a redaction")
	}
	return memory.CheckText(text)
}

// maxKey is more than any key has.
const maxKey = 16 << 10

// readKey reads the key of a service from a file that nobody else can read.
func readKey(path string) (string, error) {
	f, info, err := openFile(path, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read or written by others: chmod 600 it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s does not hold one line with a key", path)
	}
	return key, nil
}

// modelStatus is how asking the model goes; nil if there is none.
func (d *daemon) modelStatus() *api.ModelStatus {
	if d.model == nil {
		return nil
	}
	s, l := d.model.Status(), &d.config.LLM
	return &api.ModelStatus{
		Endpoint: l.Endpoint, Model: l.Model, Private: l.Private,
		Asked: s.Asked, Failed: s.Failed, Failure: s.Failure, FailedAt: s.FailedAt.UTC(),
	}
}
