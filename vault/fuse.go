package vault

import (
	"cmp"
	"fmt"
	"time"
)

// If one file is written back [Writer.MaxChangesPerMinute] times within rateWindow, further
// write-backs are refused for ratePause.
const (
	rateWindow = time.Minute
	ratePause  = time.Hour
)

// checkRate returns an error if a file was changed too often and must not be
// changed for now.
func (w *Writer) checkRate(path string) error {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if until, ok := w.pausedUntil[path]; ok && now.Before(until) {
		return rateError(path, until)
	}
	delete(w.pausedUntil, path)
	recent := w.writeTimes[path][:0]
	for _, at := range w.writeTimes[path] {
		if age := now.Sub(at); age >= 0 && age < rateWindow {
			recent = append(recent, at)
		}
	}
	w.writeTimes[path] = recent
	if len(recent) == 0 {
		delete(w.writeTimes, path)
	}
	if len(recent) < cmp.Or(w.MaxChangesPerMinute, DefaultMaxChangesPerMinute) {
		return nil
	}
	until := now.Add(ratePause)
	w.pausedUntil[path] = until
	w.logger().Error("file changed too often, writing paused", "path", path, "times", len(recent), "until",
		until)
	return rateError(path, until)
}

func rateError(path string, until time.Time) error {
	return &RefusedError{path,
		fmt.Sprintf("memwatchd changed the file too often within a minute, possibly because another program reverts the changes; writing is paused until %s; run `memwatchd journal` to list the changes", until.Format(time.TimeOnly))}
}

// countWrite counts a write-back of the file at path.
func (w *Writer) countWrite(path string) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeTimes[path] = append(w.writeTimes[path], now)
}
