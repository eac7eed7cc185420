package ntfy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/outbound"
)

// maxLine bounds a line in bytes. By default, a message has at most 4 KiB.
const maxLine = 64 << 10

var (
	errIdle   = errors.New("no data from the server")
	errClosed = errors.New("server closed the connection")
)

// processConnection processes the events of one connection and returns the error that
// ended it.
func (s *Subscriber) processConnection(ctx context.Context, client *http.Client, at *position, failures *int) error {
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(idleTimeout, func() { cancel(errIdle) })
	defer watch.Stop()
	res, err := s.openStream(alive, client, at)
	if err == nil {
		defer res.Body.Close()
		err = s.readEvents(ctx, res.Body, at, failures, watch)
	}
	if cause := context.Cause(alive); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// openStream requests the stream from the present position.
func (s *Subscriber) openStream(ctx context.Context, client *http.Client, at *position) (*http.Response, error) {
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
		return nil, stripURL(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		text := fmt.Sprintf("server returned %d %s", res.StatusCode, http.StatusText(res.StatusCode))
		if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
			text += ": check capture.ntfy.token_file"
		}
		return nil, &outbound.Error{Status: res.StatusCode, RetryAfter: outbound.RetryAfter(res.Header), Text: text}
	}
	return res, nil
}

// stripURL removes the URL from an error, because the URL contains the name of
// the topic.
func stripURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// readEvents processes the events of a stream until an error. It returns an error if the
// first line is invalid, and skips further invalid lines.
func (s *Subscriber) readEvents(ctx context.Context, body io.Reader, at *position, failures *int,
	watch *time.Timer) error {
	r := bufio.NewReaderSize(body, maxLine)
	for opened := false; ; {
		line, err := readLine(r)
		if err == nil && len(line) == 0 {
			continue
		}
		var e event
		if err == nil {
			e, err = parseEvent(line)
		}
		if err != nil {
			if !opened || !errors.Is(err, errInvalidLine) {
				return err
			}
			s.Logger.Warn("invalid line in the topic stream, skipped", "bytes", len(line))
			continue
		}
		opened = true
		watch.Stop() // the time of the handler does not count as silence
		switch e.Kind {
		case "open":
			s.updateStatus(func(st *api.TopicStatus) { st.Connected, st.Problem = true, "" })
			s.Logger.Info("receiving the topic", "server", s.Server)
			if at.setBegin(e.Time) {
				s.savePosition(at)
			}
		case "keepalive":
			*failures = 0
		case "message":
			*failures = 0
			if e.Topic == s.Topic {
				s.handleMessage(ctx, at, e.Message)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		watch.Reset(idleTimeout)
	}
}

// readLine returns a line without its ending. It skips an overlong line and
// returns errInvalidLine. If the stream ends within a line, it returns an error.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	overlong := errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errClosed
	case err == nil && overlong:
		return nil, errInvalidLine
	}
	return bytes.TrimSpace(line), err
}
