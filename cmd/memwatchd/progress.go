package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

const (
	lookEvery = 100 * time.Millisecond // at how far something is
	worthABar = 1000                   // files; fewer are not worth looking at
	barWidth  = 30                     // columns
)

// follow shows on a terminal how far something is, as long as there is more of
// it, and nothing afterwards.
func follow(ctx context.Context, w io.Writer, look func() (done, total int, more bool)) {
	shown := false
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-tick.C:
		}
		done, total, more := look()
		if !more {
			break
		}
		if total >= worthABar {
			shown = true
			io.WriteString(w, clearLine+bar(done, total)) // it is only for show
		}
	}
	if shown {
		io.WriteString(w, clearLine)
	}
}

// clearLine begins the line anew.
const clearLine = "\r\x1b[K"

// bar is how far something is. It fits every terminal.
func bar(done, total int) string {
	n := min(barWidth*done/max(total, 1), barWidth)
	return fmt.Sprintf("indexing [%s%s] %d/%d", strings.Repeat("=", n), strings.Repeat(" ", barWidth-n), done, total)
}

// overBar writes lines over a progress bar that may stand on the last one.
type overBar struct{ io.Writer }

func (w overBar) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, clearLine); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// watchRebuild shows on a terminal how far the daemon is with a rebuild that was
// asked for, until the function that it returns is called.
func (a *asking) watchRebuild(ctx context.Context) (done func()) {
	if widthOf(a.g.stderr) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		follow(ctx, a.g.stderr, func() (int, int, bool) {
			s, err := a.client.Status(ctx, api.StatusRequest{})
			if err != nil || s.Status == nil {
				return 0, 0, true // nothing to show yet
			}
			return s.Index.Done, s.Index.Total, true
		})
	}()
	return func() { cancel(); <-gone }
}
