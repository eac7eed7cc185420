package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Run summarizes old files as one group of changes. Files that fail are in the
// report and are retried by the next run. Run returns an error only from the
// context or the claim, or if writing is turned off or the root is missing; the
// report then contains the files processed so far.
func (c *Compress) Run(ctx context.Context, cutoff time.Duration, asked bool) (*api.CompressAnswer, error) {
	files, plan, err := c.planFiles(ctx, cutoff)
	report := &api.CompressAnswer{Plan: plan, Left: []api.DayStay{}}
	if err != nil {
		return report, err
	}
	if len(files) > 0 && c.Claim != nil {
		if err := c.Claim(ctx, asked); err != nil {
			return report, err
		}
	}
	group := ""
	for i := range files {
		f := &files[i]
		switch err := c.processFile(ctx, f, asked, &group); {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case errors.Is(err, vault.ErrOff), errors.Is(err, vault.ErrRoot):
			return report, err
		case err != nil:
			report.Left = append(report.Left, api.DayStay{Day: f.Day, Path: f.From, Reason: err.Error()})
		default:
			report.Applied++
		}
	}
	if len(report.Left) == 0 { // the next run must find the same sentences
		c.Summarizer.clearCache()
	}
	return report, nil
}

// processFile writes the summary of a file and moves the file. Group is that of all
// changes of a run, once there is one.
func (c *Compress) processFile(ctx context.Context, f *compressedFile, asked bool, group *string) error {
	change := func(path, reason string, edit func(*vault.File) ([]byte, error)) vault.Change {
		return vault.Change{Path: path, Cause: "compress", Group: *group, Reason: reason, Requested: asked, Edit: edit}
	}
	lines := map[string][]summaryLine{} // by path
	for _, l := range f.lines {
		lines[l.Path] = append(lines[l.Path], l)
	}
	for _, target := range slices.Sorted(maps.Keys(lines)) {
		written, err := c.Writer.Write(ctx, change(target, "summary of "+f.From, func(old *vault.File) ([]byte, error) {
			file, err := c.Disk.Read(f.From)
			if err == nil {
				err = f.check(&file)
			}
			if err != nil {
				return nil, err
			}
			return c.addSummary(lines[target], target, old)
		}))
		*group = cmp.Or(*group, written.ID)
		if err != nil {
			return err
		}
	}
	moved, err := c.Writer.Move(ctx, f.From, f.To,
		change(f.From, "archived in "+f.To, func(old *vault.File) ([]byte, error) {
			return f.source, f.check(old)
		}))
	*group = cmp.Or(*group, moved.ID)
	return err
}

// check returns an error if a file is not the one of the plan.
func (f *compressedFile) check(now *vault.File) error {
	if now == nil || now.Unstable || string(now.Data) != string(f.source) {
		return errChanged
	}
	return nil
}

// addSummary returns a summary file with the missing lines added.
func (c *Compress) addSummary(lines []summaryLine, target string, old *vault.File) ([]byte, error) {
	subject, public := lines[0].subject, lines[0].Visibility == memory.PublicOK.String()
	if old == nil {
		old = &vault.File{Path: target, Data: memory.NewItems(subject)}
		if public {
			old.Data = memory.WithVisibility(old.Data, lines[0].Visibility)
		}
	}
	parse := c.parser(target, old.ModTime)
	doc := parse(old.Data)
	switch {
	case doc.Claim != "" && doc.Claim != subject:
		return nil, fmt.Errorf("%s belongs to another subject", target)
	case doc.Partition.Visibility.String() != lines[0].Visibility:
		return nil, fmt.Errorf("%s is not %s", target, lines[0].Visibility)
	}
	return putLines(doc, lines, parse)
}
