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
		return fmt.Errorf("llm.endpoint: it is not an address such as http://127.0.0.1:11434/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("llm.endpoint: it must have no user, query or fragment; keys are for llm.key_file")
	case l.Model == "":
		return errors.New("llm.model: it is missing; say which model of llm.endpoint is asked")
	case l.Private && u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return errors.New("llm.private: private text is not sent over http to another machine; use https")
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

// ReadKey reads the key of a service from a file. The file must be inaccessible
// to other users.
func ReadKey(path string) (string, error) {
	f, info, err := OpenFile(path, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read or written by others: chmod 600 it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyBytes))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s does not hold one line with a key", path)
	}
	return key, nil
}
