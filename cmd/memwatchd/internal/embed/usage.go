package embed

import (
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// A usage is the number of characters of texts sent in a day.
type usage struct {
	Day        string `json:"day"`
	Characters int    `json:"characters"`
}

func (e *Embedder) usageFile() string { return filepath.Join(e.Dir, "usage.json") }

func (e *Embedder) today() string { return e.Now().Format(time.DateOnly) }

// mayCount reports whether so many more characters may be sent today.
func (e *Embedder) mayCount(characters int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mayCountLocked(characters)
}

// mayCountLocked reports whether so many more characters may be sent today, in addition
// to those of the batches that are going to be sent.
func (e *Embedder) mayCountLocked(characters int) bool {
	if e.usage.Day == e.today() {
		characters += e.usage.Characters
	}
	for _, b := range e.batches {
		if !b.counted {
			characters += b.characters
		}
	}
	return e.DailyCharacters <= 0 || characters <= e.DailyCharacters
}

// saveUsage saves the characters of the day. The mutex mu, which each search needs, is
// not held while it waits for the disk.
func (e *Embedder) saveUsage() {
	e.saving.Lock()
	defer e.saving.Unlock()
	e.mu.Lock()
	newest := e.usage
	e.mu.Unlock()
	if newest == e.saved {
		return
	}
	if err := state.Save(e.usageFile(), newest); err != nil {
		e.Logger.Warn("cannot save the number of characters sent", "err", err)
		return
	}
	e.saved = newest
}
