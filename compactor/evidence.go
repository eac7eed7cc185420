package compactor

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// Evidence looks up what a summary is based on. Its fields must not change while
// it is in use; it is safe for concurrent use.
type Evidence struct {
	Files  Files
	Layout *memory.Layout
	View   memory.View // of whoever writes the summary
}

// ErrNoEvidence: a summary names nothing that it is based on.
var ErrNoEvidence = errors.New("a summary names what it is based on: give the paths, path#id or URLs as evidence")

// ErrNotThere: there is nothing that can be read where a piece of evidence is
// said to be.
var ErrNotThere = errors.New("there is no such file or entry")

// Check says why a summary based on this is refused: it is based on nothing, or
// on something that is not there. Each piece is a URL; or the path of a file of
// memory, wherever it lies since its day was archived; or such a path, # and the
// id of an entry. What the view cannot read is not there.
func (v *Evidence) Check(pieces []string) error {
	if len(pieces) == 0 {
		return ErrNoEvidence
	}
	for _, piece := range pieces {
		if err := v.check(piece); err != nil {
			return fmt.Errorf("evidence %q: %w", piece, err)
		}
	}
	return nil
}

func (v *Evidence) check(piece string) error {
	if scheme, _, ok := strings.Cut(piece, "://"); ok && !strings.ContainsAny(scheme, "/#") {
		if u, err := url.Parse(piece); err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
			return errors.New("this is not a URL")
		}
		return nil
	}
	path, id, entry := strings.Cut(piece, "#")
	for _, p := range v.places(path) {
		doc, err := v.Files.Load(p)
		if err != nil {
			continue // whatever is wrong with it: it cannot be looked at
		}
		if doc = doc.For(v.View); doc == nil { // from here on, there is nothing in it that the view cannot read
			continue
		}
		if !entry {
			return nil
		}
		if slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.ID == id }) {
			return nil
		}
	}
	return ErrNotThere
}

// places lists where a file may be, which may have been archived.
func (v *Evidence) places(path string) []string {
	list := []string{path}
	place := v.Layout.Place(path)
	for _, subject := range append([]string{""}, v.View.Subjects()...) {
		if to := v.Layout.Archived(place, subject); to != "" {
			list = append(list, to)
		}
	}
	return list
}
