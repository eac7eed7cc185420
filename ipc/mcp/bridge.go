package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A Bridge connects one agent to a daemon. It exchanges messages of the Model
// Context Protocol with the agent, one per line, and executes the requests on
// the daemon. It holds no connection between requests, so the daemon may restart, or
// start after the bridge.
type Bridge struct {
	Client  *client.Client
	ToolSet ToolSet   // the tools on offer; empty for the core tools
	Version string    // of the program
	Project string    // project of requests that name none; may be empty
	Off     bool      // memory is known to be turned off
	Stack   io.Writer // receives panics with their stacks; nil discards them

	session string // of the agent, as the journal records it
}

// PermittedTimeout bounds the wait for the permitted operations before the list of
// tools is sent, because a starting agent waits for the list.
var PermittedTimeout = 300 * time.Millisecond

// LastAnswersTimeout bounds the wait for pending answers after the agent has closed
// its output.
var LastAnswersTimeout = 2 * time.Second

// AnswerTimeout bounds the wait for the answer to a call: the agent does nothing else
// meanwhile.
var AnswerTimeout = 10 * time.Second

// Run answers the messages in in on out until in ends or the context ends, and
// then returns nil. An error means that in or out failed. A failed request, or
// a missing daemon, is an answer for the agent and does not end Run. A read of
// in that blocks continues after Run has returned.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	b.session = rand.Text()[:8]
	tools := cmp.Or(b.ToolSet, CoreTools)
	s := &server{toolSet: func(context.Context) ToolSet { return tools }, version: b.Version,
		execute: b.executeRequest, permitted: b.fetchPermitted,
		initialState: b.localState, onPanic: b.recordPanic}
	messages, filtered := io.Pipe()
	l := newLineFilter(out)
	stopped := make(chan struct{})
	defer close(stopped)
	go func() { // ends with the input: a blocked read cannot be canceled
		err := l.filterLines(in, filtered)
		l.waitAnswered(LastAnswersTimeout, stopped)
		filtered.CloseWithError(err)
	}()
	s.buildServer()
	err := s.Run(ctx, &mcp.IOTransport{Reader: messages, Writer: l})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (b *Bridge) fetchPermitted(ctx context.Context) (*api.OperationsAnswer, bool) {
	waitCtx, cancel := context.WithTimeout(ctx, PermittedTimeout)
	defer cancel()
	answer, err := client.Call(waitCtx, b.Client, api.OperationsRequest{})
	if err != nil {
		return b.localState(ctx)
	}
	return answer, true
}

// localState returns the locally known state without a request: the first response
// must not wait for a daemon.
func (b *Bridge) localState(context.Context) (*api.OperationsAnswer, bool) {
	return &api.OperationsAnswer{}, b.Off
}

// executeRequest sends a request to the daemon, for the project of the session unless the
// request names one.
func (b *Bridge) executeRequest(ctx context.Context, req *api.Request) (json.RawMessage, error) {
	if p, err := req.Operation().Param("project"); err == nil && b.Project != "" {
		if _, given := req.GivenValue(p.Name); !given {
			if err := req.Set(p, b.Project); err != nil {
				return nil, err
			}
		}
	}
	if !req.Operation().Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, AnswerTimeout)
		defer cancel()
	}
	c := *b.Client
	c.Program = api.NewProgram(programOf(ctx), b.session)
	raw, err := c.Do(ctx, req)
	if _, isAnswer := errors.AsType[*api.Error](err); err == nil || isAnswer {
		return raw, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, api.Errorf(api.Unavailable, "%s: timeout waiting for the daemon", req.Operation().Name).
			WithHint("restart the daemon, or see its log; it may still execute the request")
	}
	return nil, api.Errorf(api.Unavailable, "%v", err)
}

func (b *Bridge) recordPanic(v any, stack []byte) {
	if b.Stack != nil {
		fmt.Fprintf(b.Stack, "%s\n%s", panics.Describe(v), stack)
	}
}
