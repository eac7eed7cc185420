package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A Bridge speaks the Model Context Protocol with one agent, a message a line, and
// asks a daemon for what the agent asks. It holds no connection between two
// questions, so that it does not matter to it whether the daemon has been started
// anew, or is there yet at all.
type Bridge struct {
	Client  *client.Client
	Profile Profile   // which tools there are; empty for the core of them
	Version string    // of the program
	Off     bool      // memory is known to be turned off
	Stack   io.Writer // where a panic is told; nil for nowhere
}

const (
	// narrowing is how long the list of tools waits to hear which of them this
	// scope may use: an agent that starts waits for the list.
	narrowing = 300 * time.Millisecond
	// bridgeGrace is how much longer an answer is waited for than a daemon takes
	// for one at most.
	bridgeGrace = 10 * time.Second
	// lastWords is how long answers under way are waited for once the agent has
	// ended its side.
	lastWords = 2 * time.Second
)

// Run answers until the agent ends its side, or the context does.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &server{profile: b.Profile, version: b.Version, ask: b.ask, may: b.may, welcome: b.welcome, broken: b.broken}
	if s.profile == "" {
		s.profile = CoreTools
	}
	messages, sound := io.Pipe()
	l := &lineWire{out: out}
	over := make(chan struct{})
	defer close(over)
	go func() { // to the end of the input: nothing calls off a read
		err := l.sift(in, sound)
		l.wait(lastWords, over)
		sound.CloseWithError(err)
	}()
	err := s.start().Run(ctx, &mcp.IOTransport{Reader: messages, Writer: l})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (b *Bridge) may(ctx context.Context) (*api.OperationsAnswer, bool) {
	asking, cancel := context.WithTimeout(ctx, narrowing)
	defer cancel()
	answer, err := b.Client.Operations(asking, api.OperationsRequest{})
	if err != nil {
		return b.welcome(ctx)
	}
	return answer, true
}

// welcome does not ask, and goes by what is known without: the first answer must
// not wait for a daemon.
func (b *Bridge) welcome(context.Context) (*api.OperationsAnswer, bool) {
	return &api.OperationsAnswer{}, b.Off
}

func (b *Bridge) ask(ctx context.Context, req *api.Request) (json.RawMessage, error) {
	if !req.Operation().Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, api.MaxAnswerTime+bridgeGrace)
		defer cancel()
	}
	raw, err := b.Client.Do(ctx, req)
	if _, told := errors.AsType[*api.Error](err); err == nil || told {
		return raw, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, api.Errorf(api.Unavailable, "%s: the daemon does not answer", req.Operation().Name).WithHint("restart it, or look at its log")
	}
	return nil, api.Errorf(api.Unavailable, "%v", err)
}

func (b *Bridge) broken(_ context.Context, v any, stack []byte) {
	if b.Stack != nil {
		fmt.Fprintf(b.Stack, "panic: %v\n%s", v, stack)
	}
}
