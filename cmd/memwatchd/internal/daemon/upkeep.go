package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// maintenance is the maintenance that frees space, on a schedule or by request. Of
// the machines that share a memory only one runs it, one job at a time.
type maintenance struct {
	compactor *compactor.Compactor
	compress  *compactor.Compress
	host      *compactor.Host
	semaphore *semaphore.Weighted // of weight 1
	scheduler *compactor.Scheduler
}

// openMaintenance opens maintenance with the saved counts of use. If they are
// damaged, counting starts again.
func (d *daemon) openMaintenance() (*maintenance, error) {
	c, p, w := d.config, d.pipeline, d.writer
	name, err := d.hostName()
	if err != nil {
		return nil, err
	}
	u := &maintenance{semaphore: semaphore.NewWeighted(1), host: &compactor.Host{
		Name: name, Configured: c.Compactor.Host, Disk: d.memory.Vault, Writer: w, Now: config.Now}}
	root := compactor.Root{
		Files: p.documents, Disk: d.memory.Vault, Writer: w, Parse: p.parseFile, Layout: p.layout,
		Paths: d.listPaths,
		Claim: u.host.Claim, Location: c.Location, Now: config.Now,
	}
	u.compactor = &compactor.Compactor{
		Root: root, Links: d.countLinks, Logger: d.logger,
		Host: name, Soft: compactor.SoftLimits(c.Memory.FullMaxChars), MaxLoss: c.Tuning.MaxLoss,
	}
	u.compactor.Moved = func(path, archive string, items int) {
		p.events.publish(ops.Change{Event: api.Event{Event: "compacted", Path: path,
			Message: api.Plural(items, "item") + " moved to " + archive}})
	}
	for _, l := range c.Compactor.Limits {
		u.compactor.Limits = append(u.compactor.Limits,
			api.CompactLimit{Pattern: l.Path, Items: l.Items, Characters: l.Characters})
	}
	u.compactor.Uses = &compactor.Uses{
		Path: filepath.Join(c.StateDir, "uses.json"), Counts: u.compactor.Limited, Files: p.documents,
		Logger: d.logger, Now: config.Now,
	}
	if err := u.compactor.Uses.Open(); err != nil {
		d.logger.Warn("usage counts were reset", "err", err)
	}
	u.compress = &compactor.Compress{Root: root}
	if d.model != nil {
		u.compress.Summarizer = &compactor.Summarizer{Summarize: d.model.Summarize, MaySend: d.maySendToModel,
			CheckText: checkModelText}
	}
	night := &compactor.Maintenance{
		Host: u.host, Compactor: u.compactor, Logger: d.logger,
		Counters: d.correctCounters,
	}
	if c.Compress.Enabled {
		night.Compress = u.compress
	}
	u.scheduler = &compactor.Scheduler{
		Schedule: c.Schedule, Semaphore: u.semaphore, Logger: d.logger, Now: config.Now,
		Job: night.Run, Path: filepath.Join(c.StateDir, "compactor.json"),
	}
	return u, nil
}

// correctCounters corrects wrong counters. A file that cannot be written now is
// retried the next night.
func (d *daemon) correctCounters(ctx context.Context) error {
	group := ""
	for _, p := range d.listProblems() {
		if p.Code != memory.CounterWrong {
			continue
		}
		written, err := todosync.MendCounters(ctx, d.writer, d.pipeline.parseFile,
			vault.Change{Path: p.Path, Cause: "check", Group: group})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.logger.Warn("counters cannot be corrected", "path", p.Path, "err", err)
		case group == "":
			group = written.ID
		}
	}
	return nil
}

// status returns the status of maintenance; nil without a writer.
func (u *maintenance) status(enabled bool) *api.CompactorStatus {
	if u == nil {
		return nil
	}
	s := &api.CompactorStatus{}
	if enabled {
		*s = u.scheduler.Status()
	}
	s.Enabled, s.NearLimit = enabled, u.compactor.Near()
	duty, err := u.host.Duty()
	if err == nil {
		s.Passive, s.Host = !duty.Active, duty.Host
	}
	return s
}

// hostName returns the name that this machine had when the daemon first started
// with this state directory: the names of mobile machines change by the hour,
// and each would count as another machine.
func (d *daemon) hostName() (string, error) {
	path := filepath.Join(d.config.StateDir, "host")
	if name, err := state.Read(path); err == nil && len(name) > 0 {
		return compactor.HostName(string(name)), nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this machine: %w", err)
	}
	name = compactor.HostName(name)
	if err := state.Write(path, []byte(name)); err != nil {
		d.logger.Warn("the host name cannot be recorded", "err", err)
	}
	return name, nil
}

// countLinks counts the links to the entries of a long-term file, from all files
// that its subject may read.
func (d *daemon) countLinks(ctx context.Context, doc *memory.Document) (map[string]int, error) {
	subject := cmp.Or(doc.Claim, doc.Place.Dir, doc.Partition.Owner)
	view, err := d.subjects.View(d.subjects.Scope(subject, memory.Private))
	if err != nil {
		return nil, nil // the subject is not a valid name
	}
	path := doc.Place.Path
	load := func(path string) *memory.Document {
		doc, err := d.pipeline.documents.Load(path)
		if err != nil {
			return nil
		}
		return doc.For(view)
	}
	resolver := &index.LinkResolver{Index: d.index, View: view, Layout: d.pipeline.layout, Load: load}
	refs, err := d.index.LinksTo(ctx, view, path, doc.NameKeys())
	if err != nil {
		return nil, err
	}
	links := map[string]int{}
	for _, ref := range refs {
		other := load(ref.Path)
		if other == nil {
			continue // deleted meanwhile
		}
		for i := range other.Entries {
			if other.Entries[i].ID != ref.ID {
				continue
			}
			for _, l := range other.Entries[i].Links {
				if l.Anchor == "" || ref.Path == path && l.Anchor == ref.ID {
					continue
				}
				to, err := resolver.Resolve(ctx, ref.Path, &l)
				if err != nil {
					return nil, err
				}
				if to == path {
					links[l.Anchor]++
				}
			}
		}
	}
	return links, nil
}
