package ipc

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// checkOrigin rejects requests of web pages, and requests of browsers to which
// an attacker's name server has given a loopback address (DNS rebinding). A TCP
// listener accepts its own address, localhost and the usual loopback addresses
// as host and as origin, with any port. A Unix socket accepts no origin and, as
// host, any name that cannot be a domain or an address.
func (e Endpoint) checkOrigin(r *http.Request) error {
	origins := r.Header.Values("Origin")
	if e.Address == "" {
		switch {
		case len(origins) > 0:
			return api.Errorf(api.Forbidden, "requests from web pages are refused")
		case strings.Contains(r.Host, "."):
			return api.Errorf(api.Forbidden, "host name %q contains a dot", r.Host).
				WithHint("use a host name without a dot, such as memwatchd or localhost")
		}
		return nil
	}
	if !e.isLoopback(r.Host) {
		return api.Errorf(api.Forbidden, "host name %q is not a loopback address", r.Host).
			WithHint("use http://%s", e.Address)
	}
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host ||
			!e.isLoopback(u.Host) {
			return api.Errorf(api.Forbidden, "requests from web pages of other hosts are refused")
		}
	}
	return nil
}

// isLoopback reports whether a host, with or without a port, is localhost, a
// usual loopback address, or that of the listener.
func (e Endpoint) isLoopback(hostPort string) bool {
	own, _, _ := net.SplitHostPort(e.Address) // Listen has checked the address
	host := (&url.URL{Host: hostPort}).Hostname()
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", own}, strings.ToLower(host))
}
