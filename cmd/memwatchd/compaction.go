package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
)

// openCompactor makes what keeps long-term files within their limits, with the
// counts of use as they were kept. Damaged ones are counted anew.
func (d *daemon) openCompactor(w compactor.Writer) *compactor.Compactor {
	c := d.config
	room := &compactor.Compactor{
		Files: d.pipeline.documents, Disk: d.vault, Writer: w, Parse: d.pipeline.parse, Paths: d.paths, Logger: d.logger,
		Links: d.linksTo, Host: hostName(), Limits: []compactor.Limit{}, MaxLoss: c.Compactor.MaxLoss, Location: c.location,
	}
	for _, l := range c.Compactor.Limits {
		room.Limits = append(room.Limits, compactor.Limit{Pattern: l.Path, Items: l.Items, Characters: l.Characters})
	}
	room.Uses = &compactor.Uses{
		Path: filepath.Join(c.State.Dir, "uses.json"), Counts: room.Limited, Files: d.pipeline.documents, Logger: d.logger,
	}
	if err := room.Uses.Open(); err != nil {
		d.logger.Warn("what is used is counted anew", "err", err)
	}
	return room
}

// hostName is the name of this machine, without its domain.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

// linksTo counts the links to the entries of a long-term file, from all that its
// subject may read.
func (d *daemon) linksTo(ctx context.Context, doc *memory.Document) (map[string]int, error) {
	subject := doc.Claim
	switch {
	case subject != "":
	case doc.Place.Dir != "":
		subject = doc.Place.Dir
	default:
		subject = doc.Own.Owner
	}
	view, err := d.people.View(d.people.Scope(subject, memory.Private))
	if err != nil {
		return nil, nil // nobody has a name like that
	}
	path := doc.Place.Path
	refs, err := d.index.LinksTo(ctx, view, path)
	if err != nil {
		return nil, err
	}
	links := map[string]int{}
	for _, ref := range refs {
		other, err := d.pipeline.documents.Load(ref.Path)
		if err != nil {
			continue // it has gone meanwhile
		}
		for i := range other.Entries {
			e := &other.Entries[i]
			if e.ID != ref.ID {
				continue
			}
			for _, l := range e.Links {
				if l.Anchor != "" && slices.Contains(l.Paths, path) && (ref.Path != path || l.Anchor != e.ID) {
					links[l.Anchor]++
				}
			}
		}
	}
	return links, nil
}
