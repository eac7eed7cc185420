package config

import (
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"

	"github.com/memwatchd/memwatchd/internal/ntfy"
)

// finishService checks the keys of a section that configure a service with a model,
// if there is an endpoint.
func finishService(section string, endpoint *string, model string, private bool) error {
	if *endpoint == "" {
		return nil
	}
	u, err := finishURL(section+".endpoint", endpoint, "http://127.0.0.1:11434/v1", section+".key_file")
	switch {
	case err != nil:
		return err
	case model == "":
		return fmt.Errorf("%s.model: required with %[1]s.endpoint", section)
	case private && IsExposed(u):
		return fmt.Errorf("%s.private: private text requires https for a remote endpoint", section)
	}
	return nil
}

// finishURL checks the URL of a service, and removes slashes at its end. The errors
// contain an example and the key of the file for the key of the service.
func finishURL(key string, value *string, example, keyFile string) (*url.URL, error) {
	*value = strings.TrimRight(*value, "/")
	u, err := url.Parse(*value)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fmt.Errorf("%s: not a URL such as %s", key, example)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%s: remove user, query and fragment; set a key in %s", key, keyFile)
	}
	return u, nil
}

// IsExposed reports whether requests to a URL leave this machine without encryption.
func IsExposed(u *url.URL) bool { return u.Scheme == "http" && !isLoopback(u.Hostname()) }

// isLoopback reports whether a host is this machine. It decides by the name or
// address alone, without a lookup.
func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// maxKeyBytes bounds the size of a key file, in bytes. Keys are shorter.
const maxKeyBytes = 16 << 10

// ReadKey returns the key of a service from a file, without white space around
// it. It returns an error if the file is unreadable or accessible to other
// users, or does not contain one line of printable ASCII characters.
func ReadKey(path string) (string, error) {
	f, info, err := OpenFile(path, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is accessible to other users: run `chmod 600` on it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyBytes))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s must contain one line with the key", path)
	}
	return key, nil
}

// TranscriptAgents are the agents whose transcripts can be imported continuously.
var TranscriptAgents = []string{"claude-code", "codex", "copilot", "gemini", "qwen"}

// finishTopic checks the ntfy topic, if one is configured.
func (c *Config) finishTopic() error {
	if c.Capture.Ntfy.Topic == "" {
		return nil
	}
	server, topic := c.Capture.Ntfy.Split()
	if err := ntfy.CheckTopic(topic); err != nil {
		return fmt.Errorf("capture.ntfy.topic: %w", err)
	}
	u, err := finishURL("capture.ntfy.topic", &server, "https://ntfy.lan/inbox", "capture.ntfy.token_file")
	switch {
	case err != nil:
		return err
	case u.Path != "":
		return fmt.Errorf("capture.ntfy.topic: more than the name of a topic follows %s", u.Host)
	case IsExposed(u): // the token, too
		return fmt.Errorf("capture.ntfy.topic: %s: use https, or http for a server on this machine", server)
	}
	return nil
}

// Split returns the URL of the server and the name of the topic.
func (n *Ntfy) Split() (server, topic string) {
	if at := strings.LastIndexByte(n.Topic, '/'); at >= 0 {
		return n.Topic[:at], n.Topic[at+1:]
	}
	return "https://ntfy.sh", n.Topic
}
