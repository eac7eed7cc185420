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
	first, began := -1, time.Now()
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
			if first < 0 {
				first = done
			}
			bar := formatBar(done, total, remaining(done-first, total-done, time.Since(began)))
			io.WriteString(w, clearLine+bar) // an error is ignored: the bar is only decoration
		}
	}
	if shown {
		io.WriteString(w, clearLine)
	}
}

// clearLine moves the cursor to the start of the line and clears the line.
const clearLine = "\r\x1b[K"

// remaining estimates how long the files that are left take, from those that are done.
func remaining(done, left int, took time.Duration) time.Duration {
	if done == 0 {
		return 0
	}
	return took * time.Duration(left) / time.Duration(done)
}

// formatBar returns a progress bar that fits every terminal, with the remaining time from
// two seconds on.
func formatBar(done, total int, left time.Duration) string {
	n := min(barWidth*done/max(total, 1), barWidth)
	bar := fmt.Sprintf("indexing [%s%s] %d/%d", strings.Repeat("=", n), strings.Repeat(" ", barWidth-n), done, total)
	left = left.Round(time.Second)
	if left >= 2*time.Second {
		bar += ", " + left.String() + " left"
	}
	return bar
}

// BarWriter writes lines over a progress bar on the last line of the terminal.
type BarWriter struct{ io.Writer }

// Write clears the progress bar, then writes p.
func (w BarWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, clearLine); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// Redraw returns the sequence that shows a text in place of the content of a terminal.
func Redraw(text string) string { return "\x1b[H\x1b[2J" + text }
