package compactor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// DefaultCutoff is the default age from which sessions and daily notes are
// summarized.
const DefaultCutoff = 48 * time.Hour

// Compress summarizes old sessions and daily notes in the files of their
// subjects and archives them. Its fields must not change while it is in use.
//
// For each file, Compress writes the summary lines first and moves the file
// once they are safely stored. An interrupted run therefore loses nothing, and
// the next run finds the lines and completes the work.
type Compress struct {
	Root
	Summarizer *Summarizer   // writes the summaries; nil uses sentences of the entries
	Cutoff     time.Duration // DefaultCutoff if zero
	Plain      bool          // archive without summaries
}

// A CompressReport is the result of a run.
type CompressReport struct {
	Plan    CompressPlan
	Applied int           // files summarized and archived
	Left    []api.DayStay // files that could not be processed this time
}

// errChanged reports that the file no longer matches the plan.
var errChanged = errors.New("the file changed during the run")

// Plan returns the plan for files older than cutoff, or than the configured
// cutoff if it is zero. If there is a summarizer, Plan requests the missing
// summaries from it. The only error is the context's.
func (c *Compress) Plan(ctx context.Context, cutoff time.Duration) (CompressPlan, error) {
	cutoff = cmp.Or(cutoff, c.Cutoff, DefaultCutoff)
	terms := c.planTerms(c.day(cutoff))
	terms.Cutoff = c.Now().Add(-cutoff)
	var docs []*memory.Document
	for _, path := range c.Paths() {
		if err := ctx.Err(); err != nil {
			return CompressPlan{}, err
		}
		if p := c.Layout.Place(path); p.Kind != memory.Session && p.Kind != memory.Daily || p.Day > terms.Before {
			continue
		}
		if doc, err := c.Files.Load(path); err == nil { // files deleted since the listing are skipped
			docs = append(docs, doc)
		}
	}
	plan := PlanCompress(docs, terms)
	if c.Summarizer.requestMissing(ctx, &plan) {
		plan = PlanCompress(docs, terms)
	}
	return plan, ctx.Err()
}

func (c *Compress) planTerms(before string) CompressTerms {
	contested := map[string]bool{}
	return CompressTerms{
		Before: before, Layout: c.Layout, Plain: c.Plain, Summarizer: c.Summarizer,
		Archive: func(path string) bool {
			_, err := c.Disk.Read(path)
			return !errors.Is(err, fs.ErrNotExist)
		},
		Contested: func(subject string) bool {
			is, known := contested[subject]
			if !known {
				is = c.contested("_longterms/"+memory.SubjectDir(subject)+"/", subject)
				contested[subject] = is
			}
			return is
		},
	}
}

// Run summarizes old files as one group of changes. Files that fail are in the
// report and are retried by the next run. Run returns an error only from the
// context or the claim, or if writing is turned off or the root is missing; the
// report then contains the files processed so far, or is nil if there is no
// plan.
func (c *Compress) Run(ctx context.Context, cutoff time.Duration, asked bool) (*CompressReport, error) {
	plan, err := c.Plan(ctx, cutoff)
	if err != nil {
		return nil, err
	}
	report := &CompressReport{Plan: plan, Left: []api.DayStay{}}
	if len(plan.Files) > 0 && c.Claim != nil {
		if err := c.Claim(ctx, asked); err != nil {
			return report, err
		}
	}
	w := &compression{Compress: c, ctx: ctx, requested: asked}
	for i := range plan.Files {
		switch err := w.processFile(&plan.Files[i]); {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case errors.Is(err, vault.ErrOff), errors.Is(err, vault.ErrRoot):
			return report, err
		case err != nil:
			report.Left = append(report.Left,
				api.DayStay{Day: plan.Files[i].Day, Path: plan.Files[i].From, Reason: err.Error()})
		default:
			report.Applied++
		}
	}
	if len(report.Left) == 0 { // the next run must find the same sentences
		c.Summarizer.clearCache()
	}
	return report, nil
}

// A compression is the state of one run.
type compression struct {
	*Compress
	ctx       context.Context
	requested bool
	group     string
}

func (c *compression) processFile(f *Compressed) error {
	var targets []string
	for _, l := range f.lines {
		if !slices.Contains(targets, l.Path) {
			targets = append(targets, l.Path)
		}
	}
	for _, target := range targets {
		reason := "summary of " + f.From
		if err := c.writeFile(target, reason,
			func(old *vault.File) ([]byte, error) { return c.addSummary(f, target, old) }); err != nil {
			return err
		}
	}
	return c.recordGroup(c.Mover.Move(c.ctx, f.From, f.To,
		c.newChange(f.From, "archived in "+f.To, func(old *vault.File) ([]byte, error) {
			if err := c.checkPlan(f, old); err != nil {
				return nil, err
			}
			return old.Data, nil
		})))
}

func (c *compression) newChange(path, reason string, edit func(*vault.File) ([]byte, error)) vault.Change {
	cause := "compress"
	if c.Plain {
		cause = "archive"
	}
	return vault.Change{Path: path, Cause: cause, Group: c.group, Reason: reason, Requested: c.requested, Edit: edit}
}

func (c *compression) writeFile(path, reason string, edit func(*vault.File) ([]byte, error)) error {
	return c.recordGroup(c.Writer.Write(c.ctx, c.newChange(path, reason, edit)))
}

// recordGroup records the group of the first change and returns err.
func (c *compression) recordGroup(w vault.Written, err error) error {
	c.group = cmp.Or(c.group, w.ID)
	return err
}

// addSummary returns a summary file with the missing lines of f added.
func (c *compression) addSummary(f *Compressed, target string, old *vault.File) ([]byte, error) {
	if err := c.checkUnchanged(f); err != nil {
		return nil, err
	}
	of := slices.IndexFunc(f.lines, func(l summaryLine) bool { return l.Path == target })
	subject := f.lines[of].subject
	if old == nil {
		old = &vault.File{Path: target, Data: memory.NewItems(subject)}
	}
	parse := c.parser(target, old.ModTime)
	doc := parse(old.Data)
	if doc.Claim != "" && doc.Claim != subject {
		return nil, fmt.Errorf("%s belongs to another subject", target)
	}
	var lines []summaryLine
	for _, l := range f.lines {
		switch {
		case l.Path != target:
		case len(l.Evidence) == 0:
			return nil, ErrNoEvidence
		default:
			lines = append(lines, l)
		}
	}
	source, err := putLines(doc, lines, c.Layout, parse)
	if err != nil {
		// A public line would expose a heading that is visible only to some
		// readers. Make the lines private instead.
		for i := range lines {
			lines[i].summary.Visibility = memory.PrivateOnly
		}
		if closed, err := putLines(doc, lines, c.Layout, parse); err == nil {
			return closed, nil
		}
	}
	return source, err
}

// checkUnchanged returns an error if the file on disk no longer matches the plan.
func (c *compression) checkUnchanged(f *Compressed) error {
	file, err := c.Disk.Read(f.From)
	if err != nil {
		return err
	}
	return c.checkPlan(f, &file)
}

// checkPlan returns an error if the file is not the one of the plan.
func (c *compression) checkPlan(f *Compressed, now *vault.File) error {
	if now == nil || now.Unstable || !bytes.Equal(now.Data, f.source) {
		return errChanged
	}
	return nil
}
