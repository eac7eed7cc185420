package term

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	lookEvery = 100 * time.Millisecond // at how far something is
	worthABar = 1000                   // files; fewer are not worth looking at
	barWidth  = 30                     // columns
)

// ShowProgress shows on a terminal how far something is, as long as there is more of
// it, and nothing afterwards.
func ShowProgress(ctx context.Context, w io.Writer, look func() (done, total int, more bool)) {
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

// OverBar writes lines over a progress bar that may stand on the last one.
type OverBar struct{ io.Writer }

func (w OverBar) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, clearLine); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
