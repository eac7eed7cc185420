package compactor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// applyPlan executes a plan. It copies the entries to the archive and then removes
// from the file those that are safely there. It returns the number of removed
// entries. A crash or an error in between leaves a duplicate copy, which the
// next run detects.
//
// Of entries with identical bytes, such as repeated items, the archive keeps one,
// because a repeated entry looks the same as the copy of an interrupted run.
func (c *Compactor) applyPlan(ctx context.Context, doc *memory.Document, plan *filePlan, now time.Time,
	asked bool) (gone int, err error) {
	dir, subject, err := archiveOf(doc)
	if err != nil {
		return 0, err
	}
	if subject != "" && c.contested(path.Dir(dir)+"/", subject) {
		return 0, fmt.Errorf("the archive %s belongs to another subject", dir)
	}
	archives := slices.DeleteFunc(c.Paths(),
		func(p string) bool { return !strings.HasPrefix(p, dir+"/") || strings.Count(p, "/") > 3 })
	target := ""
	for n := 1; target == ""; n++ { // Paths may not contain recently created files yet
		name := c.archiveName(dir, doc.Partition.Visibility, now, n)
		file, err := c.Disk.Read(name)
		if err != nil || len(file.Data) < maxArchive {
			target = name
		}
		if !slices.Contains(archives, name) {
			archives = append(archives, name)
		}
	}
	have := c.readOrigins(archives, doc, plan)
	missing := slices.DeleteFunc(slices.Clone(plan.steps), func(s step) bool {
		o := originOf(doc, &doc.Entries[s.entry])
		archived := have[o]
		have[o] = true
		return archived
	})
	group := ""
	if len(missing) > 0 {
		w, err := c.Writer.Write(ctx, vault.Change{
			Path: target, Cause: "archive", Requested: asked,
			Reason: fmt.Sprintf("%s of %s", api.Plural(len(missing), "item"), plan.Path),
			Edit: func(old *vault.File) ([]byte, error) {
				v := doc.Partition.Visibility
				if old == nil {
					old = &vault.File{Path: target, Data: []byte{}, ModTime: now}
					if subject != "" {
						old.Data = memory.NewItems(subject)
					}
					if v == memory.PublicOK {
						old.Data = memory.WithVisibility(old.Data, v.String())
					}
				}
				archive := c.Parse(*old)
				if archive.Partition.Visibility != v {
					return nil, fmt.Errorf("%s is not %s", target, v)
				}
				r := archive.Revise()
				for _, s := range missing {
					r.AppendVerbatim(archiveSection(plan.Path, s.Section), string(s.copy))
				}
				return r.Apply(c.parser(target, old.ModTime))
			},
		})
		if err != nil {
			return 0, err
		}
		plan.Archive, group = target, w.ID
	}
	_, err = c.Writer.Write(ctx, vault.Change{
		Path: plan.Path, Cause: "compact", Requested: asked, Group: group,
		Reason: fmt.Sprintf("%s moved to %s", api.Plural(len(plan.steps), "item"), dir),
		Edit: func(old *vault.File) (text []byte, err error) {
			if old == nil || string(old.Data) != string(doc.Source) {
				return nil, errChanged // the archive keeps copies, which the next run finds
			}
			have := c.readOrigins(archives, doc, plan)
			entries := slices.DeleteFunc(plan.entries(),
				func(i int) bool { return !have[originOf(doc, &doc.Entries[i])] })
			text, stuck := c.withoutEntries(doc, entries)
			gone = len(entries) - len(stuck)
			return text, nil
		},
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}

// errChanged reports that the file no longer matches the plan.
var errChanged = errors.New("the file changed during the run")

// readOrigins returns the origins of the planned entries that the archive files on
// disk hold.
func (c *Compactor) readOrigins(archives []string, doc *memory.Document, plan *filePlan) map[origin]bool {
	planned := map[string]bool{} // normalised texts
	for _, s := range plan.steps {
		planned[doc.Entries[s.entry].Norm] = true
	}
	have := map[origin]bool{}
	for _, p := range archives {
		file, err := c.Disk.Read(p)
		if err != nil || file.Unstable {
			continue
		}
		archive := c.Parse(file)
		for i := range archive.Entries {
			if e := &archive.Entries[i]; planned[e.Norm] && e.Attributes[attrFrom] == plan.Path {
				if o, ok := c.archivedOrigin(archive, e); ok {
					have[o] = true
				}
			}
		}
	}
	return have
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
