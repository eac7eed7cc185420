package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/state"
)

// eraseSpool removes the requests of hooks that wait for delivery and have a text for which
// matches returns true.
func eraseSpool(matches func(text string) bool) error {
	dirs, err := state.Glob(config.SpoolDir(), "*")
	errs := []error{err}
	for _, dir := range dirs {
		if err := eraseSpooled(dir, matches); err != nil {
			errs = append(errs, fmt.Errorf("requests of hooks in %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// eraseSpooled removes requests of one caller. While a hook delivers them, it returns an error.
func eraseSpooled(dir string, matches func(text string) bool) error {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	paths, err := state.Glob(dir, "*.json*") // also temporary ones, and those that were set aside
	errs := []error{err}
	for _, path := range paths {
		data, err := state.Read(path)
		var requests []json.RawMessage
		if json.Unmarshal(data, &requests) != nil {
			text, _ := json.Marshal(string(data))
			requests = []json.RawMessage{text}
		}
		all := len(requests)
		requests = slices.DeleteFunc(requests, func(r json.RawMessage) bool { return hasText(r, matches) })
		switch {
		case err != nil || len(requests) == all:
		case len(requests) == 0:
			err = os.Remove(path)
		default:
			err = state.Save(path, requests)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// hasText reports whether a JSON value has a string for which matches returns true.
func hasText(value json.RawMessage, matches func(text string) bool) bool {
	for d := json.NewDecoder(bytes.NewReader(value)); ; {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && matches(text) {
			return true
		}
	}
}
