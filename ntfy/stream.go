package ntfy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxLine    = 64 << 10 // bytes: a message has 4 KiB at most, by default
	maxGarbage = 20       // lines that are none, of one connection
)

var (
	errSilent = errors.New("the server is silent")
	errClosed = errors.New("the server ended the connection")
)

// A refusedError is an answer that is no stream.
type refusedError struct {
	status int
	after  time.Duration // that it asks us to wait
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": it wants another token"
	}
	return text
}

// listen hears what comes over one connection, and says why there is nothing
// more.
func (s *Subscriber) listen(ctx context.Context, client *http.Client, at *position, wait *backoff) error {
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	res, err := s.open(alive, client, at)
	if err == nil {
		defer res.Body.Close()
		err = s.read(ctx, res.Body, at, wait, watch)
	}
	if cause := context.Cause(alive); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// open asks for the stream from where we are.
func (s *Subscriber) open(ctx context.Context, client *http.Client, at *position) (*http.Response, error) {
	address := strings.TrimRight(s.Server, "/") + "/" + s.Topic + "/json"
	if since := at.since(); since != "" {
		address += "?since=" + url.QueryEscape(since)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if s.Token != nil {
		token, err := s.Token()
		if err != nil {
			return nil, err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, reason(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, &refusedError{res.StatusCode, retryAfter(res.Header.Get("Retry-After"))}
	}
	return res, nil
}

// reason is an error without the URL, which has the name of the topic in it.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// retryAfter is how long a server asks us to wait, 0 if it does not say.
func retryAfter(s string) time.Duration {
	if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// read hears the events of a stream.
func (s *Subscriber) read(ctx context.Context, body io.Reader, at *position, wait *backoff, watch *time.Timer) error {
	r := bufio.NewReaderSize(body, maxLine)
	garbage := 0
	for {
		line, err := readLine(r)
		if err != nil && !errors.Is(err, errGarbage) {
			return err
		}
		if err == nil && len(line) == 0 {
			continue
		}
		var e event
		if err == nil {
			e, err = parseEvent(line)
		}
		if err != nil {
			if garbage++; garbage > maxGarbage {
				return err
			}
			s.Logger.Warn("line of a topic makes no sense", "bytes", len(line))
			continue
		}
		watch.Stop() // it is not the server that is slow now
		switch e.kind {
		case "open":
			s.update(func(st *Status) { st.Connected, st.Problem = true, "" })
			s.Logger.Info("topic is heard", "server", s.Server)
			if at.begin(e.time) {
				s.remember(at)
			}
		case "keepalive":
			wait.reset()
		case "message":
			wait.reset()
			if e.topic == s.Topic {
				s.handle(ctx, at, e.Message)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		watch.Reset(silence)
	}
}

// readLine reads a line without its end. One that is too long is skipped, and
// garbage; one that does not end is none.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return []byte(strings.TrimSpace(string(line))), ended(err)
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err != nil {
		return nil, ended(err)
	}
	return nil, errGarbage
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errClosed
	}
	return err
}
