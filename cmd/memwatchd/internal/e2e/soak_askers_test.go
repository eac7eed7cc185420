package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// The callers beside the owner and the public.
var (
	account = fields{"subject": "acct:42", "context": "private"}
	alice   = fields{"subject": "alice", "context": "private"}
)

// askers returns the actors that send requests, over all interfaces.
func (s *soak) askers() []*actor {
	return []*actor{
		s.searcher(20, s.socket, owner), s.searcher(21, s.socket, public), s.searcher(22, s.socket, account),
		s.searcher(23, s.fixed(), fields{}), s.reader(24), s.listener(25), s.listener(26),
	}
}

// newHTTPClient returns a client that keeps its connections. Each caller has
// one.
func newHTTPClient(socket string) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

type errCode struct {
	code string
	text string
}

func (e *errCode) Error() string { return e.text }

func is(err error, code api.Code) bool {
	e, ok := errors.AsType[*errCode](err)
	return ok && e.code == string(code)
}

// question sends a request. If the connection breaks, as during a reload of the
// daemon, question retries once. It also retries while the daemon answers that it is reloaded.
func (s *soak) question(ctx context.Context, c *http.Client, method, path string, req fields, answer any) error {
	body, err := json.Marshal(fields{}.with(req))
	if err != nil {
		return err
	}
	s.asked.Add(1)
	for tries := 1; ; tries++ {
		r, err := http.NewRequestWithContext(ctx, method, "http://memwatchd"+path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		var got []byte
		res, err := c.Do(r)
		if err == nil {
			got, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		reloaded := bytes.Contains(got, []byte("the daemon stops or is reloaded"))
		switch {
		case (reloaded || err != nil && tries == 1) && ctx.Err() == nil:
			s.again.Add(1)
			continue
		case err != nil:
			return err
		case res.StatusCode != http.StatusOK:
			var failure struct{ Error struct{ Code string } }
			json.Unmarshal(got, &failure)
			return &errCode{failure.Error.Code, fmt.Sprintf("%s %s: %d %s", path, body, res.StatusCode, got)}
		case answer == nil:
			return nil
		}
		return json.Unmarshal(got, answer)
	}
}

// find searches over its own connection.
func (s *soak) find(ctx context.Context, who fields, query string, more fields) (*api.SearchAnswer, error) {
	c := newHTTPClient(s.socket)
	defer c.CloseIdleConnections()
	var a api.SearchAnswer
	err := s.question(ctx, c, http.MethodPost, "/v1/search", who.with(exactly(query, more)), &a)
	return &a, err
}

// searcher searches in every mode, with every filter, and checks that the
// caller may see the results.
func (s *soak) searcher(n int, socket string, who fields) *actor {
	d, c := s.desk(n), newHTTPClient(socket)
	secret := fields{"context": "private"}
	filters := []fields{
		{}, {"sync": false}, {"mode": "overlap"}, {"mode": "overlap", "all": true, "limit": 3}, {"kinds": []string{"session", "note"}},
		{"types": []string{"decision"}}, {"tags": []string{"project:shop"}}, {"sections": []string{"Tasks"}},
		{"path": "notes/**", "limit": 100}, {"state": "open"}, {"session": "telegram_3"}, {"since": "2026-02-01"},
		{"include_archived": true, "offset": 20}, {"explain": true}, {"exclude": "server"},
	}
	return &actor{
		name: fmt.Sprintf("a searcher as %v", who), pause: 60 * time.Millisecond,
		act: func(ctx context.Context) error {
			query := d.some(1 + d.IntN(6))
			if d.IntN(4) == 0 { // a word that exists, or did
				query = letters(1 + d.IntN(int(s.words.Load())))
			}
			req := who.with(fields{"query": query}).with(filters[d.IntN(len(filters))])
			if d.IntN(5) == 0 {
				req = who.with(fields{"hours": 876000, "limit": 5})
				var a api.SearchAnswer
				return s.question(ctx, c, http.MethodPost, "/v1/recent", req, &a)
			}
			if len(who) == 0 && d.IntN(10) == 0 {
				err := s.question(ctx, c, http.MethodPost, "/v1/search", req.with(secret), nil)
				if !is(err, api.Forbidden) {
					return fmt.Errorf("a fixed scope was left: %w", err)
				}
				return nil
			}
			var a api.SearchAnswer
			if err := s.question(ctx, c, http.MethodPost, "/v1/search", req, &a); err != nil {
				return err
			}
			for _, h := range a.Hits {
				if h.Visibility != "public_ok" && (who["context"] != "private") || h.Subject != "" && who["subject"] == nil && socket == s.socket {
					return fmt.Errorf("%v is shown %s:%d, %s of %s", req, h.Path, h.Line, h.Visibility, h.Subject)
				}
			}
			return nil
		},
		end: func() error { c.CloseIdleConnections(); return nil },
	}
}

// reader sends all requests other than searches.
func (s *soak) reader(n int) *actor {
	d, c := s.desk(n), newHTTPClient(s.socket)
	return &actor{
		name: "a reader", pause: 100 * time.Millisecond,
		act: func(ctx context.Context) error {
			who := []fields{owner, public, account}[d.IntN(3)]
			type ask struct {
				op  string
				req fields
			}
			asks := []ask{
				{"context", fields{"format": "summary"}}, {"context", fields{"format": "summary", "session": "telegram_3"}},
				{"load", fields{"session": "telegram_3", "day": "2026-02-05"}}, {"todos", fields{"state": "all"}}, {"todos", nil},
				{"related", fields{"path": "2026-01-20/s1.md"}}, {"get", fields{"path": "2026-01-20/s1.md"}}, {"sync", fields{"timeout": "30s"}},
			}
			switch k := d.IntN(len(asks) + 3); k {
			case len(asks):
				return errors.Join(s.question(ctx, c, http.MethodGet, "/v1/status", nil, nil),
					s.question(ctx, c, http.MethodGet, "/healthz", nil, nil), s.question(ctx, c, http.MethodGet, "/metrics", nil, nil))
			case len(asks) + 1:
				err := s.question(ctx, c, http.MethodPost, "/v1/check", owner, nil)
				if is(err, api.Unavailable) {
					return nil
				}
				return err
			case len(asks) + 2: // an entry just found may be deleted meanwhile
				var found api.SearchAnswer
				err := s.question(ctx, c, http.MethodPost, "/v1/search", who.with(fields{"query": d.some(2)}), &found)
				for _, h := range found.Hits {
					err := s.question(ctx, c, http.MethodPost, "/v1/get", who.with(fields{"id": h.ID}), nil)
					if err != nil && !is(err, api.NotFound) {
						return err
					}
				}
				return err
			default:
				err := s.question(ctx, c, http.MethodPost, "/v1/"+asks[k].op, who.with(asks[k].req), nil)
				if is(err, api.NotFound) { // the daemon restarts, and has not seen every file
					err = errors.Join(s.question(ctx, c, http.MethodPost, "/v1/sync", fields{"timeout": "1m"}, nil),
						s.question(ctx, c, http.MethodPost, "/v1/"+asks[k].op, who.with(asks[k].req), nil))
				}
				if is(err, api.Unavailable) {
					return nil // sync, while the daemon starts
				}
				return err
			}
		},
		end: func() error { c.CloseIdleConnections(); return nil },
	}
}

// listener subscribes to events, reads them or not, and disconnects.
func (s *soak) listener(n int) *actor {
	d := s.desk(n)
	return &actor{
		name: "a listener", pause: 300 * time.Millisecond,
		act: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(d.IntN(4000))*time.Millisecond)
			defer cancel()
			c := newHTTPClient(s.socket)
			defer c.CloseIdleConnections()
			who := []string{"?subject=owner&context=private", "?context=public", ""}[d.IntN(3)]
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memwatchd/v1/events"+who, nil)
			if err != nil {
				return err
			}
			s.asked.Add(1)
			res, err := c.Do(r)
			if err != nil {
				s.again.Add(1)
				return nil // the daemon restarts, or the time is over
			}
			defer res.Body.Close()
			if d.IntN(3) == 0 {
				<-ctx.Done() // it does not read
				return nil
			}
			lines := bufio.NewScanner(res.Body)
			for lines.Scan() {
				var e api.Event
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				if err := json.Unmarshal([]byte(data), &e); err != nil && ctx.Err() == nil {
					return fmt.Errorf("event %s: %w", data, err)
				}
			}
			return nil
		},
	}
}
