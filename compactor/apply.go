package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// errArchiveFull reports that an archive file has reached its maximum size.
var errArchiveFull = errors.New("the archive file is full")

// A move transfers the entries of a plan from one file to its archive.
type move struct {
	*Compactor
	terms        Terms
	doc          *memory.Document
	plan         *Plan
	requested    bool
	dir          string          // of the archive
	subject      string          // subject to write into new archive files
	group        string          // journal group of the changes
	archiveFiles []string        // archive files that may hold copies
	plannedTexts map[string]bool // normalised text of the planned entries
}

// applyPlan executes a plan. It copies the entries to the archive and then removes
// from the file those that are safely there. It returns the number of removed
// entries. A crash or an error in between leaves a duplicate copy, which the
// next run detects.
func (c *Compactor) applyPlan(ctx context.Context, doc *memory.Document, plan *Plan, terms Terms, asked bool) (int,
	error) {
	m := &move{Compactor: c, terms: terms, doc: doc, plan: plan, requested: asked}
	var err error
	m.dir, m.subject, err = archiveOf(doc)
	if err != nil {
		return 0, err
	}
	if m.subject != "" && c.contested(path.Dir(m.dir)+"/", m.subject) {
		return 0, fmt.Errorf("the archive %s belongs to another subject", m.dir)
	}
	for _, p := range c.Paths() {
		if strings.HasPrefix(p, m.dir+"/") && strings.Count(p, "/") == 3 {
			m.archiveFiles = append(m.archiveFiles, p)
		}
	}
	for n := 1; ; n++ { // Paths may not contain recently created files yet
		p := c.archiveName(m.dir, terms.Now, n)
		if _, err := c.Disk.Read(p); err != nil {
			break
		}
		if !slices.Contains(m.archiveFiles, p) {
			m.archiveFiles = append(m.archiveFiles, p)
		}
	}
	if err := m.copyEntries(ctx); err != nil {
		return 0, err
	}
	return m.removeEntries(ctx)
}

// copyEntries writes the planned entries into the archive, unless they are already
// there. Of entries with identical bytes, such as repeated items, the archive
// keeps one, because a repeated entry looks the same as the copy of an
// interrupted run.
func (m *move) copyEntries(ctx context.Context) error {
	m.plannedTexts = map[string]bool{}
	for _, s := range m.plan.steps {
		m.plannedTexts[m.doc.Entries[s.entry].Norm] = true
	}
	have := m.readOrigins()
	var steps []step
	for _, s := range m.plan.steps {
		if o := originOf(m.doc, &m.doc.Entries[s.entry]); !have[o] {
			have[o] = true
			steps = append(steps, s)
		}
	}
	for n := 1; len(steps) > 0; n++ {
		path := m.archiveName(m.dir, m.terms.Now, n)
		w, err := m.Writer.Write(ctx, vault.Change{
			Path: path, Cause: "archive", Requested: m.requested, Group: m.group,
			Reason: fmt.Sprintf("%s of %s", countItems(len(steps)), m.plan.Path),
			Edit:   func(old *vault.File) ([]byte, error) { return m.extendArchive(path, old, steps) },
		})
		if errors.Is(err, errArchiveFull) {
			continue
		}
		if err != nil {
			return err
		}
		m.plan.Archive, m.group = path, w.ID
		if !slices.Contains(m.archiveFiles, path) {
			m.archiveFiles = append(m.archiveFiles, path)
		}
		return nil
	}
	return nil
}

// extendArchive returns an archive file with copies added.
func (m *move) extendArchive(path string, old *vault.File, steps []step) ([]byte, error) {
	if old == nil {
		old = &vault.File{Path: path, Data: newArchive(m.subject), ModTime: m.terms.Now}
	}
	if len(old.Data) >= maxArchive {
		return nil, errArchiveFull
	}
	r := m.Parse(*old).Revise()
	for _, s := range steps {
		r.AppendVerbatim(archiveSection(m.plan.Path, s.Section), string(s.copy))
	}
	return r.Apply(m.parser(path, old.ModTime))
}

// readOrigins returns the origins of the planned entries that the archive files on
// disk hold.
func (m *move) readOrigins() map[origin]bool {
	have := map[origin]bool{}
	for _, p := range m.archiveFiles {
		file, err := m.Disk.Read(p)
		if err != nil || file.Unstable {
			continue
		}
		archive := m.Parse(file)
		for i := range archive.Entries {
			if e := &archive.Entries[i]; m.plannedTexts[e.Norm] && e.Attributes[attrFrom] == m.plan.Path {
				if o, ok := m.archivedOrigin(archive, e); ok {
					have[o] = true
				}
			}
		}
	}
	return have
}

// removeEntries removes the planned entries from the file. It keeps entries that a
// plan of the current file content does not contain or that the archive does
// not hold. It returns the number of removed entries.
func (m *move) removeEntries(ctx context.Context) (int, error) {
	gone := 0
	_, err := m.Writer.Write(ctx, vault.Change{
		Path: m.plan.Path, Cause: "compact", Requested: m.requested, Group: m.group,
		Reason: fmt.Sprintf("%s moved to %s", countItems(len(m.plan.steps)), m.dir),
		Edit: func(old *vault.File) (text []byte, err error) {
			if old == nil {
				return nil, nil // the file is gone and the archive keeps a duplicate
			}
			text, gone = m.withoutArchived(*old)
			return text, nil
		},
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}

// withoutArchived returns a file without its archived entries, and the number of
// removed entries.
func (m *move) withoutArchived(old vault.File) (text []byte, gone int) {
	doc, plan := m.doc, m.plan
	if !bytes.Equal(old.Data, doc.Source) {
		doc = m.Parse(old)
		plan = PlanFile(doc, m.terms)
	}
	planned := map[string]bool{}
	for _, s := range m.plan.steps {
		planned[s.ID] = true
	}
	have := m.readOrigins()
	var entries []int
	for _, s := range plan.steps {
		if planned[s.ID] && have[originOf(doc, &doc.Entries[s.entry])] {
			entries = append(entries, s.entry)
		}
	}
	text, stuck := m.withoutEntries(doc, entries)
	return text, len(entries) - len(stuck)
}

// withoutEntries returns a file without the given entries, or nil if none can be
// removed. It also returns the entries that cannot be removed, because their
// removal would change the meaning of others.
func (c *Compactor) withoutEntries(doc *memory.Document, entries []int) (text []byte, stuck []int) {
	parse := c.parser(doc.Place.Path, time.Time{})
	var out []int
	var try func([]int)
	try = func(more []int) {
		r := doc.Revise()
		for _, i := range slices.Concat(out, more) {
			r.Remove(i)
		}
		r.SetTitles()
		r.SetCounters()
		without, err := r.Apply(parse)
		switch {
		case err == nil:
			text, out = without, append(out, more...)
		case len(more) == 1:
			stuck = append(stuck, more[0])
		default:
			try(more[:len(more)/2])
			try(more[len(more)/2:])
		}
	}
	if len(entries) > 0 {
		try(entries)
	}
	return text, stuck
}

func countItems(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}
