package vault

import (
	"cmp"
	"fmt"
	"time"
)

// If one file is written back [Writer.Fuse] times within fuseTime, further
// write-backs are refused for fuseRest.
const (
	fuseTime = time.Minute
	fuseRest = time.Hour
)

// fuseOf returns an error if a file was changed too often and must not be
// changed for now.
func (w *Writer) fuseOf(path string) error {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if until, ok := w.blown[path]; ok && now.Before(until) {
		return blownError(path, until)
	}
	delete(w.blown, path)
	recent := w.spent[path][:0]
	for _, at := range w.spent[path] {
		if age := now.Sub(at); age >= 0 && age < fuseTime {
			recent = append(recent, at)
		}
	}
	w.spent[path] = recent
	if len(recent) == 0 {
		delete(w.spent, path)
	}
	if len(recent) < cmp.Or(w.Fuse, DefaultFuse) {
		return nil
	}
	until := now.Add(fuseRest)
	w.blown[path] = until
	w.logger().Error("a file was changed too often, and is left alone", "path", path, "times", len(recent), "until",
		until)
	return blownError(path, until)
}

func blownError(path string, until time.Time) error {
	return &RefusedError{path,
		fmt.Sprintf("memwatchd has changed it too often within a minute, as if another program undid it each time; it is left alone until %s: see the journal for what was changed", until.Format(time.TimeOnly))}
}

// spend counts a write-back of the file at path.
func (w *Writer) spend(path string) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent[path] = append(w.spent[path], now)
}
