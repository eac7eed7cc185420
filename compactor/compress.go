package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// defaultCutoff is the default age from which sessions and daily notes are
// summarized.
const defaultCutoff = 48 * time.Hour

// Compress summarizes old sessions and daily notes in the files of their
// subjects and archives them. Its fields must not change while it is in use.
//
// For each file, Compress writes the summary lines first and moves the file
// once they are safely stored. An interrupted run therefore loses nothing, and
// the next run finds the lines and completes the work.
type Compress struct {
	Root
	Summarizer *Summarizer // writes the summaries; nil uses sentences of the entries
}

// A compressedFile is a file of a plan with the text to write.
type compressedFile struct {
	api.Compressed

	source  []byte // of the file
	lines   []summaryLine
	subject string // subject of the file, or the owner
}

type summaryLine struct {
	api.SummaryLine
	summary memory.Put
	subject string // subject of the summary file
}

// Plan returns the plan for files older than cutoff, or than 48 hours if it
// is zero, ordered by day and path. If there is a summarizer, Plan
// requests the missing summaries from it. The only error is the context's. A file
// with an open task stays.
//
// A summary contains at most three sentences of the entries of one file that
// share a #project: tag, or have none, and have the same readers and the same
// author. It takes decisions first, then sorts by importance, by time from the
// newest, and by position. If the Summarizer has a summary of these entries, the
// plan uses it instead.
//
// Summaries of projects belong to the subject's project.md, those of a
// conversation with a contact to a file of that contact, and others to the
// subject's profile.md. The subject is the one named by the file; else the
// author, if the entries are readable by every subject; else the owner.
func (c *Compress) Plan(ctx context.Context, cutoff time.Duration) (api.CompressPlan, error) {
	_, plan, err := c.planFiles(ctx, cutoff)
	return plan, err
}

// planFiles returns the plan, and its files with the text to write.
func (c *Compress) planFiles(ctx context.Context, cutoff time.Duration) (files []compressedFile, plan api.CompressPlan,
	err error) {
	cutoff = cmp.Or(cutoff, defaultCutoff)
	last := c.day(cutoff)
	var places []memory.Place
	for _, path := range c.Paths() {
		// The days of an Obsidian vault stay where they are.
		if p := c.Layout.Place(path); (p.Kind == memory.Session || p.Kind == memory.Daily) && p.Day <= last &&
			!p.ByFormat {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b memory.Place) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Path, b.Path))
	})
	plan = api.CompressPlan{Files: []api.Compressed{}, Stay: []api.DayStay{}}
	p := &compressPlanner{Compress: c, ctx: ctx, taken: map[string]bool{}, contested: map[string]bool{}}
	for _, place := range places {
		doc, err := c.Files.Load(place.Path)
		if err != nil || place.Day == last && !endsBefore(doc, c.Now().Add(-cutoff), c.Location) {
			continue // deleted since the listing, or too new
		}
		f := compressedFile{Compressed: api.Compressed{Day: place.Day, From: place.Path}, source: doc.Source}
		err = p.planFile(doc, &f)
		if ctx.Err() != nil {
			return files, plan, ctx.Err()
		}
		if err != nil {
			plan.Stay = append(plan.Stay, api.DayStay{Day: place.Day, Path: place.Path, Reason: err.Error()})
			continue
		}
		p.taken[f.To] = true
		files, plan.Files = append(files, f), append(plan.Files, f.Compressed)
	}
	return files, plan, ctx.Err()
}

// endsBefore reports whether all entries of a day's file are known to be older
// than a time. The start of the day is the time of entries without one.
func endsBefore(d *memory.Document, cutoff time.Time, location *time.Location) bool {
	start, err := time.ParseInLocation(time.DateOnly, d.Place.Day, cmp.Or(location, time.UTC))
	return err == nil && !slices.ContainsFunc(d.Entries, func(e memory.Entry) bool {
		return e.Block != memory.EmptyHeading && (!e.Time.After(start) || !e.Time.Before(cutoff))
	})
}

type compressPlanner struct {
	*Compress
	ctx       context.Context
	taken     map[string]bool // paths in the archive that earlier files use
	contested map[string]bool // known results of checkSubject, by subject
	requests  summaryRequests
}

// planFile plans one file. An error describes why the file stays.
func (p *compressPlanner) planFile(d *memory.Document, f *compressedFile) (err error) {
	f.subject = d.Front.SubjectID
	if memory.ValidSubject(f.subject) != nil {
		f.subject = cmp.Or(p.Layout.Owner, "owner")
	}
	if slices.ContainsFunc(d.Entries, func(e memory.Entry) bool { return hasOpenTask(&e) }) {
		return errors.New("the file has an open task")
	}
	f.To, err = p.targetPath(d)
	if err != nil {
		return err
	}
	err = p.checkSubject(f.subject)
	if err != nil {
		return err
	}
	f.lines, err = p.summaryLines(d, f)
	for _, l := range f.lines {
		f.Lines = append(f.Lines, l.SummaryLine)
	}
	return err
}

// checkSubject returns an error if a subject's directory below _longterms belongs to
// another subject.
func (p *compressPlanner) checkSubject(subject string) error {
	contested, known := p.contested[subject]
	if !known {
		contested = p.Root.contested("_longterms/"+memory.SubjectDir(subject)+"/", subject)
		p.contested[subject] = contested
	}
	if contested {
		return fmt.Errorf("the directory of %s belongs to another subject", subject)
	}
	return nil
}

// targetPath returns the path of a file in the archive, or an error if it cannot move
// there.
func (p *compressPlanner) targetPath(d *memory.Document) (string, error) {
	first := p.Layout.Archived(d.Place, d.Front.SubjectID)
	to := first
	for n := 2; p.taken[to] || p.exists(to); n++ {
		to = fmt.Sprintf("%s-%d.md", strings.TrimSuffix(first, ".md"), n)
	}
	switch {
	case d.Stale:
		return "", errors.New("the file cannot be read now")
	case d.Unsound:
		return "", errors.New("the structure of the file is ambiguous; run `memwatchd check`")
	case first == "":
		return "", errors.New("the archive has no distinct path for the file")
	case d.Partition == p.Layout.Parse(to, d.Source, memory.Meta{}).Partition:
		return to, nil
	case to == first:
		return "", errors.New("the file would have other readers in the archive")
	}
	return "", fmt.Errorf("%s already exists", first)
}

func (p *compressPlanner) exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := p.Disk.Read(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// A lineTopic is the common property of the entries that a summary line joins.
type lineTopic struct {
	project    string
	visibility memory.Visibility
	subject    string        // subject of the summary
	author     memory.Author // zero if the subject wrote the entries in private
}

func (a lineTopic) compare(b lineTopic) int {
	return cmp.Or(strings.Compare(a.project, b.project), cmp.Compare(a.visibility, b.visibility),
		strings.Compare(a.subject, b.subject), strings.Compare(a.author.By, b.author.By),
		strings.Compare(a.author.Source, b.author.Source))
}

// topicOf returns the topic of an entry, without its project.
func (f *compressedFile) topicOf(e *memory.Entry) lineTopic {
	a := lineTopic{visibility: e.Partition.Visibility, subject: f.subject, author: memory.Author{By: e.By}}
	switch {
	case strings.HasPrefix(e.Source, memory.TopicSource):
		a.author.Source = memory.TopicSource // the rest is the id of a message
	case memory.IsUntrustedSource(e.Source):
		a.author.Source = e.Source
	}
	if e.Partition.Owner == "" && memory.ValidSubject(e.By) == nil {
		a.subject = e.By
	}
	if a.author.By == a.subject {
		a.author.By = ""
	}
	return a
}

// summaryLines returns the lines that summarize a file, one for each topic. An entry with tags
// of several projects counts for each of them. A text of the summarizer replaces the chosen
// sentences if it forms a valid line.
func (p *compressPlanner) summaryLines(d *memory.Document, f *compressedFile) (lines []summaryLine, err error) {
	groups := map[lineTopic][]int{}
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Block == memory.EmptyHeading {
			continue
		}
		a, inProject := f.topicOf(e), false
		for _, tag := range e.Tags {
			if name, ok := strings.CutPrefix(tag, "project:"); ok && name != "" {
				a.project, inProject = name, true
				groups[a] = append(groups[a], i)
			}
		}
		if inProject {
			continue
		}
		if d.Front.ContactID != "" { // the path of the summary contains the contact
			a.visibility = memory.PrivateOnly
		}
		groups[a] = append(groups[a], i)
	}
	for _, a := range slices.SortedFunc(maps.Keys(groups), lineTopic.compare) {
		chosen := chooseSentences(d, groups[a])
		if len(chosen) == 0 {
			continue
		}
		if err := p.checkSubject(a.subject); err != nil {
			return nil, err
		}
		of := make([]int, len(chosen))
		for i, s := range chosen {
			of[i] = s.entry
		}
		line, err := newLine(d, of, joinSentences(chosen), a, p.Layout)
		if err != nil {
			return nil, err
		}
		if text, told := p.Summarizer.summarize(p.ctx, &p.requests, d, groups[a], a.visibility); text != "" {
			if better, err := newLine(d, told, text, a, p.Layout); err == nil {
				line, line.Model = better, true
			}
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, errors.New("nothing to summarize")
	}
	return lines, nil
}

// currentTitle returns the title of the current summary of a project, or of a
// subject or contact if project is empty, up to a day.
func currentTitle(project, day string) string {
	return plainTitle(cmp.Or(project, "Summary") + " until " + day)
}

// plainTitle replaces the characters of a title that have a meaning in Markdown.
func plainTitle(title string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`\\<>[]", r) {
			return '-'
		}
		return r
	}, title)
}

// newLine returns the summary line for some entries with a common topic, and checks
// that its text parses as intended.
func newLine(d *memory.Document, entries []int, text string, a lineTopic, l *memory.Layout) (summaryLine, error) {
	s := summaryLine{subject: a.subject, SummaryLine: api.SummaryLine{
		Path: memory.SummaryPath(a.subject, a.project, d.Front.ContactID, a.visibility), Project: a.project,
		Visibility: a.visibility.String(), Text: text,
	}}
	title := currentTitle(a.project, d.Place.Day)
	// Private conversations with different contacts stay apart. Public summaries
	// must not reveal whether there is a contact.
	if a.project != "" && a.visibility == memory.PrivateOnly && d.Front.ContactID != "" {
		title = plainTitle(a.project + " " + d.Place.Day + "/" + d.Place.Session)
	}
	var updated time.Time
	for _, i := range entries {
		e := &d.Entries[i]
		if e.Time.After(updated) {
			updated = e.Time
		}
		evidence := d.Place.Path
		if e.Given { // derived ids change when the entry moves to another file
			evidence += "#" + e.ID
		}
		if !slices.Contains(s.Evidence, evidence) {
			s.Evidence = append(s.Evidence, evidence)
		}
	}
	s.summary = memory.Put{
		Form: memory.FactForm, Title: title, Text: s.Text, Evidence: s.Evidence,
		Attributes: map[string]string{"updated": updated.UTC().Format(time.RFC3339)},
	}
	for key, value := range map[string]string{"source": a.author.Source, "written_by": a.author.By} {
		if value != "" {
			s.summary.Attributes[key] = value
		}
	}
	return s, l.Fit(s.Path, &s.summary)
}
