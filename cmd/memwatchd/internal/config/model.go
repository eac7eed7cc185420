package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"
)

// finishLLM checks the keys of the language model, if one is configured.
func (c *Config) finishLLM() (err error) {
	l := &c.LLM
	if l.Endpoint == "" {
		return nil
	}
	l.Endpoint = strings.TrimRight(l.Endpoint, "/")
	u, err := url.Parse(l.Endpoint)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("llm.endpoint: not a URL such as http://127.0.0.1:11434/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("llm.endpoint: remove user, query and fragment; set a key in llm.key_file")
	case l.Model == "":
		return errors.New("llm.model: required with llm.endpoint")
	case l.Private && u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return errors.New("llm.private: private text requires https for a remote endpoint")
	}
	if l.KeyFile != "" {
		l.KeyFile, err = AbsolutePath(l.KeyFile)
		if err != nil {
			return fmt.Errorf("llm.key_file: %w", err)
		}
	}
	return nil
}

// IsLoopback reports whether a host is this machine. It decides by the name or
// address alone, without a lookup.
func IsLoopback(host string) bool {
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
