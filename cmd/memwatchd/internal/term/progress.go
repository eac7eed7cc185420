package term

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	updateInterval = 100 * time.Millisecond // interval of updates
	minBarTotal    = 1000                   // files; smaller runs show no bar
	barWidth       = 30                     // columns
)

// ShowProgress shows a progress bar on a terminal. It calls progress at
// intervals until progress returns more == false or ctx is done, and then
// clears the bar.
func ShowProgress(ctx context.Context, w io.Writer, progress func() (done, total int, more bool)) {
	shown := false
	tick := time.NewTicker(updateInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-tick.C:
		}
		done, total, more := progress()
		if !more {
			break
		}
		if total >= minBarTotal {
			shown = true
			n := min(barWidth*done/total, barWidth)
			fmt.Fprintf(w, "%sindexing [%s%s] %d/%d", clearLine, strings.Repeat("=", n),
				strings.Repeat(" ", barWidth-n), done, total)
		}
	}
	if shown {
		io.WriteString(w, clearLine)
	}
}

// clearLine moves the cursor to the start of the line and clears the line.
const clearLine = "\r\x1b[K"

// BarWriter writes lines over a progress bar on the last line of the terminal.
type BarWriter struct{ io.Writer }

// Write clears the progress bar, then writes p.
func (w BarWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.Writer, clearLine+string(p))
	return len(p), err
}

// Clear is the sequence that clears a terminal.
const Clear = "\x1b[H\x1b[2J"
