package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/memwatchd/memwatchd/api"
)

// maxLine is the maximum size of a message in bytes. It is less than the limit
// of the library.
const maxLine = 15 << 20

// A lineFilter filters the messages between an agent, which sends one per line,
// and the protocol library. The library ends the session at a malformed line; a
// lineFilter answers it with an error instead.
type lineFilter struct {
	mu       sync.Mutex // held while out is written
	out      io.Writer
	pending  atomic.Int64  // expected answers
	answered chan struct{} // receives after an answer
}

func newLineFilter(out io.Writer) *lineFilter {
	return &lineFilter{out: out, answered: make(chan struct{}, 1)}
}

// filterLines passes valid lines on to the library and answers the others,
// until the input ends.
func (l *lineFilter) filterLines(in io.Reader, to io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, last := readLine(r)
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			answers, problem := l.checkLine(line)
			if problem != nil {
				if err := l.answerInvalid(problem); err != nil {
					return err
				}
			} else {
				if answers {
					l.pending.Add(1)
				}
				if _, err := to.Write(append(line, '\n')); err != nil {
					return err
				}
			}
		}
		if last != nil {
			return last
		}
	}
}

// readLine reads a line. Of an overlong line it returns a prefix of more than
// maxLine bytes and skips the rest.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// checkLine reports whether a line expects an answer, or returns an error if the
// line is not a valid message.
func (l *lineFilter) checkLine(line []byte) (answered bool, problem *jsonrpc.Error) {
	refused := func(code int64, format string, args ...any) (bool, *jsonrpc.Error) {
		return false, &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(line) > maxLine:
		return refused(jsonrpc.CodeInvalidRequest, "message has more than %d bytes", maxLine)
	case !json.Valid(line):
		return refused(jsonrpc.CodeParseError, "message is not JSON")
	case line[0] == '[':
		return refused(jsonrpc.CodeInvalidRequest, "batches are not supported: send one message a line")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return refused(jsonrpc.CodeInvalidRequest, "invalid message: %v", err)
	}
	req, ok := m.(*jsonrpc.Request)
	return ok && req.IsCall(), nil
}

// answerInvalid answers an invalid line. The answer has a null id because the
// id of the message is unknown.
func (l *lineFilter) answerInvalid(problem *jsonrpc.Error) error {
	answer, _ := api.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": nil, "error": problem}) // it has texts only
	l.pending.Add(1)
	_, err := l.Write(answer)
	return err
}

// Write implements [io.Writer]. Each call must contain one message.
func (l *lineFilter) Write(p []byte) (int, error) {
	var message struct{ Method string }
	notice := json.Unmarshal(p, &message) == nil && message.Method != ""
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.out.Write(p)
	if notice {
		return n, err // not an answer
	}
	l.pending.Add(-1)
	select {
	case l.answered <- struct{}{}:
	default:
	}
	return n, err
}

// waitAnswered waits until no answer is pending, stopped is closed, or limit
// has passed.
func (l *lineFilter) waitAnswered(limit time.Duration, stopped <-chan struct{}) {
	for end := time.After(limit); l.pending.Load() > 0; {
		select {
		case <-l.answered:
		case <-stopped:
			return
		case <-end:
			return
		}
	}
}

// Close implements [io.Closer]. It does nothing: the caller of Run owns the
// output.
func (l *lineFilter) Close() error { return nil }
