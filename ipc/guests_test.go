package ipc

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
)

// A guestBackend answers requests of listeners with a fixed scope only when their
// connection ends.
type guestBackend struct {
	emptyBackend
	running, most, ended atomic.Int64
}

func (b *guestBackend) Do(ctx context.Context, by api.Caller, req *api.Request) (any, error) {
	if by.Fixed == nil || req.Operation().Always {
		return b.emptyBackend.Do(ctx, by, req)
	}
	n := b.running.Add(1)
	for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
	}
	<-ctx.Done()
	b.running.Add(-1)
	b.ended.Add(1)
	return nil, ctx.Err()
}

// TestGuests checks that the listeners with a fixed scope together use half of
// the processors, that further requests are refused with Retry-After, that work ends
// with its connection, and that other listeners answer meanwhile.
func TestGuests(t *testing.T) {
	dir := socketDir(t)
	b := new(guestBackend)
	socket := func(name string) string { return filepath.Join(dir, name) }
	serveOn(t, b, slog.New(slog.DiscardHandler), Endpoint{Path: socket("own")},
		Endpoint{Path: socket("a"), Fixed: &api.Fixed{}}, Endpoint{Path: socket("b"), Fixed: &api.Fixed{}})
	post := func(ctx context.Context, name, path, body string) *http.Response {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket(name))
		}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x"+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return nil // the context has ended
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp
	}
	const tool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"a"}}}`
	ctx, leave := context.WithCancel(t.Context())
	var guests sync.WaitGroup
	var refused atomic.Int64
	for i := range 64 {
		guests.Go(func() {
			name, path, body := string("ab"[i%2]), "/v1/search", `{"query":"a"}`
			if i%4 > 1 {
				path, body = "/mcp", tool
			}
			resp := post(ctx, name, path, body)
			if resp == nil {
				return
			}
			if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %s, Retry-After %q", path, resp.Status, resp.Header.Get("Retry-After"))
			}
			refused.Add(1)
		})
	}
	slots := int64(max(1, runtime.GOMAXPROCS(0)/2))
	for refused.Load() < 64-slots {
		if resp := post(t.Context(), "own", "/v1/search", `{"query":"a"}`); resp == nil || resp.StatusCode != http.StatusOK {
			t.Fatal("the owner gets no answer")
		}
		time.Sleep(time.Millisecond)
	}
	leave()
	guests.Wait()
	for b.running.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if b.most.Load() != slots || b.ended.Load() != slots {
		t.Errorf("%d requests at once, %d in all, want %d", b.most.Load(), b.ended.Load(), slots)
	}
}

// TestPlace checks that a request that waits lets another one work, and that a request
// that is over holds nothing.
func TestPlace(t *testing.T) {
	g := semaphore.NewWeighted(1)
	one, two := &place{guests: g}, &place{guests: g}
	must(t, one.enter(t.Context()))
	ctx, leave := context.WithCancel(one.withPause(t.Context()))
	resume := api.PauseWork(ctx)
	must(t, two.enter(t.Context()))
	api.PauseWork(two.withPause(t.Context()))()
	resumed := make(chan struct{})
	go func() { resume(); close(resumed) }()
	two.release(true)
	<-resumed
	if g.TryAcquire(1) {
		t.Error("a request goes on without the semaphore")
	}
	one.release(true)
	api.PauseWork(ctx)()
	leave()
	if !g.TryAcquire(1) {
		t.Error("a request that is over holds the semaphore")
	}
}
