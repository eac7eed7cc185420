package compactor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// DefaultCutoff is how old sessions and daily notes are when they are summed up,
// if nothing else is said.
const DefaultCutoff = 48 * time.Hour

// Compress sums up old sessions and daily notes in the files of their subjects,
// and archives them. Its fields must not change while it is in use.
//
// For each file, the lines of the summary are written first, and the file moves
// when they are safely there. So whatever ends a run, nothing is lost, and the
// next one finds the lines and does the rest.
type Compress struct {
	Files      Files
	Disk       Disk
	Writer     Writer
	Mover      Mover
	Parse      func(vault.File) *memory.Document
	Paths      func() []string // of all files of memory, in any order
	Layout     *memory.Layout
	Claim      func(ctx context.Context, asked bool) error // before anything is written, if it is not nil; see [Host.Claim]
	Summarizer *Summarizer                                 // asked what entries come to; nil for their own sentences
	Cutoff     time.Duration                               // DefaultCutoff if zero
	Location   *time.Location                              // of days; UTC if nil
	Now        func() time.Time                            // time.Now if nil
}

// A CompressReport says what became of a plan.
type CompressReport struct {
	Plan    CompressPlan
	Applied int       // files that were summed up and archived
	Left    []DayStay // what could not be, this time
}

// errOtherwise: what was planned does not hold any more.
var errOtherwise = errors.New("it has changed meanwhile")

// Plan says what would be summed up now; of what is older than a cutoff, or than
// the usual one if that is zero. If there is a summarizer, it is asked for what it
// has not said yet.
func (c *Compress) Plan(ctx context.Context, cutoff time.Duration) (CompressPlan, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	before := now().Add(-cmp.Or(cutoff, c.Cutoff, DefaultCutoff)).In(cmp.Or(c.Location, time.UTC)).Format(time.DateOnly)
	var docs []*memory.Document
	for _, path := range c.Paths() {
		if err := ctx.Err(); err != nil {
			return CompressPlan{}, err
		}
		if p := c.Layout.Place(path); p.Kind != memory.Session && p.Kind != memory.Daily || p.Day >= before {
			continue
		}
		if doc, err := c.Files.Load(path); err == nil { // what is gone meanwhile is not missed
			docs = append(docs, doc)
		}
	}
	plan := PlanCompress(docs, c.terms(before))
	if c.Summarizer.learn(ctx, &plan) {
		plan = PlanCompress(docs, c.terms(before))
	}
	return plan, ctx.Err()
}

func (c *Compress) terms(before string) CompressTerms {
	contested := map[string]bool{}
	known := map[string]bool{}
	return CompressTerms{
		Before: before, Layout: c.Layout, Summarizer: c.Summarizer,
		Archive: func(path string) *memory.Document {
			switch file, err := c.Disk.Read(path); {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return &memory.Document{} // there is something
			default:
				return c.Parse(file)
			}
		},
		Contested: func(subject string) bool {
			if !known[subject] {
				known[subject], contested[subject] = true, c.contested(subject)
			}
			return contested[subject]
		},
	}
}

// contested reports whether a file in a subject's directory is another's.
func (c *Compress) contested(subject string) bool {
	dir := "_longterms/" + memory.SubjectDir(subject) + "/"
	return slices.ContainsFunc(c.Paths(), func(path string) bool {
		if !strings.HasPrefix(path, dir) {
			return false
		}
		doc, err := c.Files.Load(path)
		return err == nil && doc.Claim != "" && doc.Claim != subject
	})
}

// Run sums up what is old, as one group of changes. What cannot be done now is in
// the report; it is tried again the next time. An error is that of the context,
// that of the claim, or that nothing may be written at all.
func (c *Compress) Run(ctx context.Context, cutoff time.Duration, asked bool) (*CompressReport, error) {
	plan, err := c.Plan(ctx, cutoff)
	if err != nil {
		return nil, err
	}
	report := &CompressReport{Plan: plan, Left: []DayStay{}}
	if len(plan.Files) > 0 && c.Claim != nil {
		if err := c.Claim(ctx, asked); err != nil {
			return report, err
		}
	}
	w := &compression{Compress: c, ctx: ctx, asked: asked}
	for i := range plan.Files {
		switch err := w.file(&plan.Files[i]); {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case errors.Is(err, vault.ErrOff), errors.Is(err, vault.ErrRoot):
			return report, err
		case err != nil:
			report.Left = append(report.Left, DayStay{plan.Files[i].Day, plan.Files[i].From, err.Error()})
		default:
			report.Applied++
		}
	}
	c.Summarizer.forget()
	return report, nil
}

// A compression is one run.
type compression struct {
	*Compress
	ctx   context.Context
	asked bool
	group string
}

// file sums up one file and archives it.
func (c *compression) file(f *Compressed) error {
	var targets []string
	for _, l := range f.Lines {
		if !slices.Contains(targets, l.Path) {
			targets = append(targets, l.Path)
		}
	}
	for _, target := range targets {
		reason := "summary of " + f.From
		if err := c.write(target, reason, func(old *vault.File) ([]byte, error) { return c.sumUp(f, target, old) }); err != nil {
			return err
		}
	}
	if !f.Part {
		return c.did(c.Mover.Move(c.ctx, f.From, f.To, c.change(f.From, "summed up, to the archive", func(old *vault.File) ([]byte, error) {
			if err := c.asPlanned(f, old); err != nil {
				return nil, err
			}
			return old.Data, nil
		})))
	}
	if err := c.write(f.To, "what was summed up of "+f.From, func(old *vault.File) ([]byte, error) {
		if old != nil {
			return nil, nil // it was put there by a run that was ended, else nothing is taken out of the file below
		}
		return f.archived, c.stillThere(f)
	}); err != nil {
		return err
	}
	return c.write(f.From, "summed up, to "+f.To, func(old *vault.File) ([]byte, error) {
		if err := c.asPlanned(f, old); err != nil {
			return nil, err
		}
		archived, err := c.Disk.Read(f.To)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(archived.Data, f.archived) {
			return nil, fmt.Errorf("%s is something else", f.To)
		}
		return f.stays, nil
	})
}

func (c *compression) change(path, reason string, edit func(*vault.File) ([]byte, error)) vault.Change {
	return vault.Change{Path: path, Cause: "compress", Group: c.group, Reason: reason, Asked: c.asked, Edit: edit}
}

func (c *compression) write(path, reason string, edit func(*vault.File) ([]byte, error)) error {
	return c.did(c.Writer.Write(c.ctx, c.change(path, reason, edit)))
}

// did notes the group of the first change that was made.
func (c *compression) did(w vault.Written, err error) error {
	c.group = cmp.Or(c.group, w.ID)
	return err
}

// sumUp is a summary with the lines of a file that it does not have yet.
func (c *compression) sumUp(f *Compressed, target string, old *vault.File) ([]byte, error) {
	if err := c.stillThere(f); err != nil {
		return nil, err
	}
	if old == nil {
		old = &vault.File{Path: target, Data: memory.NewItems(f.subject)}
	}
	parse := func(source []byte) *memory.Document {
		return c.Parse(vault.File{Path: target, Data: source, ModTime: old.ModTime})
	}
	doc := parse(old.Data)
	if doc.Claim != "" && doc.Claim != f.subject {
		return nil, fmt.Errorf("%s is another subject's", target)
	}
	var missing []SummaryLine
	for _, l := range f.Lines {
		closed := l.inPrivate()
		switch has := slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return l.summary.Is(&e) || closed.summary.Is(&e) }); {
		case l.Path != target, has:
		case len(l.Evidence) == 0:
			return nil, ErrNoEvidence
		default:
			missing = append(missing, l)
		}
	}
	source, err := withLines(doc, missing, parse)
	if err != nil {
		// What is public cannot stand there without showing a heading that only
		// some may read now: then only they read it.
		for i := range missing {
			missing[i] = missing[i].inPrivate()
		}
		if closed, err := withLines(doc, missing, parse); err == nil {
			return closed, nil
		}
	}
	return source, err
}

// withLines is a summary with further lines.
func withLines(doc *memory.Document, lines []SummaryLine, parse func([]byte) *memory.Document) ([]byte, error) {
	r := doc.Revise()
	for i := range lines {
		r.Append(lines[i].summary.Section(), lines[i].summary.String())
	}
	return r.Apply(parse)
}

// stillThere says why the file is not any more what was planned for.
func (c *compression) stillThere(f *Compressed) error {
	file, err := c.Disk.Read(f.From)
	if err != nil {
		return err
	}
	return c.asPlanned(f, &file)
}

// asPlanned says why a file, as it is now, is not what was planned for: what
// would be planned for it now is something else.
func (c *compression) asPlanned(f *Compressed, now *vault.File) error {
	if now == nil || now.Unsettled {
		return errOtherwise
	}
	terms := c.terms("9999-99-99")
	terms.Archive = func(string) *memory.Document { return nil }
	g, err := compressFile(c.Parse(*now), terms, nil)
	if err != nil {
		return err
	}
	same := slices.EqualFunc(f.Lines, g.Lines, func(a, b SummaryLine) bool { return a.Path == b.Path && a.summary.String() == b.summary.String() })
	if !same || f.Part != g.Part || f.subject != g.subject || !bytes.Equal(f.archived, g.archived) || !bytes.Equal(f.stays, g.stays) {
		return errOtherwise
	}
	return nil
}
