package ipc

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// Ping checks, as a client with a connection of its own, whether the listener
// answers before the context ends. It returns nil for any response, regardless
// of its content, and otherwise the error of the connection.
func (l *Listener) Ping(ctx context.Context) error {
	network, host := "unix", "memwatchd"
	if l.Address != "" {
		network, host = "tcp", l.Address
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/healthz", nil)
	if err != nil {
		return err
	}
	if l.Address != "" {
		r.Header.Set("Authorization", "Bearer "+l.Token)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.Name())
		},
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("ping %s: %w", l.Name(), err)
	}
	return res.Body.Close()
}
