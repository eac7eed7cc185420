package ipc

import (
	"context"
	"net/http"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// sendEvents sends server-sent events until the client disconnects or the daemon
// ends.
func (h *handler) sendEvents(a *response, r *http.Request, caller api.Caller, req *api.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.ending, cancel)()
	run, err := h.Backend.Stream(ctx, caller, req)
	if err != nil {
		return err
	}
	connOf(ctx).setState(time.Now(), true)
	a.sent, a.code = true, "ok"
	header := a.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	write := func(b []byte) error {
		// The deadline applies to each event: the stream as a whole has no end.
		if err := a.control.SetWriteDeadline(time.Now().Add(a.write)); err != nil {
			return err
		}
		if _, err := a.w.Write(b); err != nil {
			return err
		}
		return a.control.Flush()
	}
	a.w.WriteHeader(http.StatusOK)
	if err := write([]byte(": hello\n\n")); err != nil {
		return nil // the client has disconnected
	}
	err = run(func(event any) error {
		body, err := api.EncodeJSON(event)
		if err != nil {
			return err
		}
		return write(append(append([]byte("data: "), body...), '\n'))
	})
	if err != nil && ctx.Err() == nil {
		h.logError(req.Operation().Name, err)
	}
	return nil
}
