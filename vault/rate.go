package vault

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// If memwatchd changes one file [Writer.MaxChangesPerMinute] times by itself within
// rateWindow, further automatic changes are refused for ratePause.
const (
	rateWindow = time.Minute
	ratePause  = time.Hour
)

// A rate is the recent automatic changes of a file.
type rate struct {
	times []time.Time // within rateWindow
	until time.Time   // when writing is allowed again
}

// checkRate returns an error if a file was changed too often and must not be
// changed for now.
func (w *Writer) checkRate(path string) error {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.rates[path]
	if !now.Before(r.until) {
		r.times = slices.DeleteFunc(r.times,
			func(at time.Time) bool { return now.Before(at) || now.Sub(at) >= rateWindow })
		if len(r.times) < cmp.Or(w.MaxChangesPerMinute, DefaultMaxChangesPerMinute) {
			delete(w.rates, path)
			if len(r.times) > 0 {
				w.rates[path] = rate{times: r.times}
			}
			return nil
		}
		r.until = now.Add(ratePause)
		w.rates[path] = r
		w.logger().Error("file changed too often, writing paused", "path", path, "times", len(r.times), "until",
			r.until)
	}
	return &RefusedError{path,
		fmt.Sprintf("memwatchd changed the file too often within a minute, possibly because another program reverts the changes; writing is paused until %s; run `memwatchd journal` to list the changes", r.until.Format(time.TimeOnly))}
}

// countWrite counts an automatic change of the file at path.
func (w *Writer) countWrite(path string) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rates == nil {
		w.rates = make(map[string]rate)
	}
	r := w.rates[path]
	r.times = append(r.times, now)
	w.rates[path] = r
}
