package compactor

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// Evidence checks the evidence of summaries. Its fields must not change while
// it is in use; it is safe for concurrent use.
type Evidence struct {
	Files  Files
	Layout *memory.Layout
	View   memory.View // view of the summary's author
}

// ErrNoEvidence reports that a summary has no evidence.
var ErrNoEvidence = errors.New("evidence is missing: list the paths, path#id or URLs that support the summary")

// ErrEvidenceNotFound reports that a piece of evidence does not exist or is not
// readable.
var ErrEvidenceNotFound = errors.New("no such file or entry")

// Check returns [ErrNoEvidence] if there is no evidence, and an error for the
// first piece that is not valid or does not exist (see [ErrEvidenceNotFound]).
// A piece is a URL, the path of a memory file, or such a path with # and an
// entry id. Check also finds files that have been archived since. Files and
// entries that the view cannot read count as missing.
func (v *Evidence) Check(pieces []string) error {
	if len(pieces) == 0 {
		return ErrNoEvidence
	}
	for _, piece := range pieces {
		if err := v.checkSource(piece); err != nil {
			return fmt.Errorf("evidence %q: %w", piece, err)
		}
	}
	return nil
}

// checkSource checks one source: a URL by its form, a file or entry by its existence.
func (v *Evidence) checkSource(piece string) error {
	if scheme, _, ok := strings.Cut(piece, "://"); ok && !strings.ContainsAny(scheme, "/#") {
		if u, err := url.Parse(piece); err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
			return errors.New("not a URL")
		}
		return nil
	}
	path, id, entry := strings.Cut(piece, "#")
	for _, p := range v.candidatePaths(path) {
		doc, err := v.Files.Load(p)
		if err != nil {
			continue // the file cannot be checked, for any reason
		}
		doc = doc.For(v.View)
		if doc == nil { // doc now contains only entries that the view can read
			continue
		}
		if !entry || slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.ID == id }) {
			return nil
		}
	}
	return ErrEvidenceNotFound
}

// candidatePaths returns the path of a file and its possible paths in archives.
func (v *Evidence) candidatePaths(path string) []string {
	list := []string{path}
	place := v.Layout.Place(path)
	for _, subject := range append([]string{""}, v.View.Subjects()...) {
		if to := v.Layout.Archived(place, subject); to != "" {
			list = append(list, to)
		}
	}
	return list
}
