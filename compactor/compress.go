package compactor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// CompressTerms are the inputs of [PlanCompress] besides the files.
type CompressTerms struct {
	Before string         // days before this one are summarized, YYYY-MM-DD
	Cutoff time.Time      // files of the day Before are summarized if all their entries have times before this one
	Layout *memory.Layout // of the root
	Plain  bool           // archive without summaries

	// Archive reports whether an archive file exists.
	Archive func(path string) bool
	// Contested reports whether a subject's directory below _longterms belongs
	// to another subject.
	Contested func(subject string) bool
	// Summarizer supplies the summaries it already has; planning requests no
	// new ones.
	Summarizer *Summarizer
}

// A CompressPlan lists the sessions and daily notes to summarize and archive,
// ordered by day and path, and the equally old files that stay.
type CompressPlan struct {
	Files []Compressed
	Stay  []api.DayStay
}

// Compressed is an [api.Compressed] with the text to write.
type Compressed struct {
	api.Compressed

	source  []byte // of the file
	lines   []summaryLine
	subject string // subject of the file, or the owner
}

type summaryLine struct {
	api.SummaryLine
	summary memory.Summary
	subject string   // subject of the summary file
	notes   []string // input for a model
}

// PlanCompress plans the summaries. A file with an open task stays. It is a pure function of the files, in any
// order; it uses only sessions and daily notes.
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
func PlanCompress(docs []*memory.Document, t CompressTerms) CompressPlan {
	plan := CompressPlan{Files: []Compressed{}, Stay: []api.DayStay{}}
	taken := map[string]bool{}
	for _, d := range daysOf(docs, t.isOld) {
		f, err := compressFile(d, t, taken)
		if err != nil {
			plan.Stay = append(plan.Stay, api.DayStay{Day: d.Place.Day, Path: d.Place.Path, Reason: err.Error()})
			continue
		}
		taken[f.To] = true
		plan.Files = append(plan.Files, *f)
	}
	return plan
}

// isOld reports whether a file is old enough to be summarized.
func (t *CompressTerms) isOld(d *memory.Document) bool {
	return d.Place.Day < t.Before || d.Place.Day == t.Before && endsBefore(d, t.Cutoff, t.Layout.Location)
}

// endsBefore reports whether all entries of a day's file are known to be older
// than a time. The start of the day is the time of entries without one.
func endsBefore(d *memory.Document, cutoff time.Time, location *time.Location) bool {
	start, err := time.ParseInLocation(time.DateOnly, d.Place.Day, cmp.Or(location, time.UTC))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(d.Entries, func(e memory.Entry) bool {
		return e.Block != memory.EmptyHeading && (!e.Time.After(start) || !e.Time.Before(cutoff))
	})
}

// compressFile plans one file, where taken holds the archive paths that earlier
// files use. An error describes why the file stays.
func compressFile(d *memory.Document, t CompressTerms, taken map[string]bool) (*Compressed, error) {
	f := &Compressed{
		Compressed: api.Compressed{Day: d.Place.Day, From: d.Place.Path}, source: d.Source, subject: d.Front.SubjectID,
	}
	if memory.ValidSubject(f.subject) != nil {
		f.subject = cmp.Or(t.Layout.Owner, "owner")
	}
	if !t.Plain && t.Contested(f.subject) {
		return nil, fmt.Errorf("the directory of %s belongs to another subject", f.subject)
	}
	var entries []int
	for i := range d.Entries {
		if hasOpenTask(&d.Entries[i]) {
			return nil, errors.New("the file has an open task")
		}
		if d.Entries[i].Block != memory.EmptyHeading {
			entries = append(entries, i)
		}
	}
	var err error
	f.To, err = targetPath(d, t, taken)
	if err != nil {
		return nil, err
	}
	if !t.Plain {
		f.lines, err = f.summaryLines(d, entries, t)
		if err != nil {
			return nil, err
		}
	}
	for _, l := range f.lines {
		f.Lines = append(f.Lines, l.SummaryLine)
	}
	return f, nil
}

// targetPath returns the path of a file in the archive.
func targetPath(d *memory.Document, t CompressTerms, taken map[string]bool) (string, error) {
	to, err := archivedAt(d, t.Layout)
	if err != nil {
		return "", err
	}
	stem := strings.TrimSuffix(to, ".md")
	for n := 2; taken[to] || t.Archive(to); n++ {
		to = fmt.Sprintf("%s-%d.md", stem, n)
	}
	if !sameReaders(d, t.Layout.Parse(to, d.Source, memory.Meta{})) {
		return "", fmt.Errorf("%s.md already exists", stem)
	}
	return to, nil
}

// daysOf returns the sessions and daily notes that keep accepts, by day and path. Those
// of an Obsidian vault stay where they are.
func daysOf(docs []*memory.Document, keep func(*memory.Document) bool) []*memory.Document {
	docs = slices.DeleteFunc(slices.Clone(docs), func(d *memory.Document) bool {
		return d.Place.Kind != memory.Session && d.Place.Kind != memory.Daily || d.Place.ByFormat || !keep(d)
	})
	slices.SortFunc(docs, func(a, b *memory.Document) int {
		return cmp.Or(strings.Compare(a.Place.Day, b.Place.Day), strings.Compare(a.Place.Path, b.Place.Path))
	})
	return docs
}

// archivedAt returns the path of a file in the archive, or an error if it
// cannot move there.
func archivedAt(d *memory.Document, l *memory.Layout) (string, error) {
	to := l.Archived(d.Place, d.Front.SubjectID)
	switch {
	case d.Stale:
		return "", errors.New("the file cannot be read now")
	case d.Unsound:
		return "", errors.New("the structure of the file is ambiguous; run `memwatchd check`")
	case to == "":
		return "", errors.New("the archive has no distinct path for the file")
	case !sameReaders(d, l.Parse(to, d.Source, memory.Meta{})):
		return "", errors.New("the file would have other readers in the archive")
	}
	return to, nil
}

// sameReaders reports whether two files with the same text have the same
// readers, entry by entry.
func sameReaders(a, b *memory.Document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Own == b.Own && a.Partition == b.Partition &&
		slices.EqualFunc(a.Entries, b.Entries, func(x, y memory.Entry) bool { return x.Partition == y.Partition }) &&
		sameReaders(a.Excerpt(), b.Excerpt())
}

// A lineTopic is the common property of the entries that a summary line joins.
type lineTopic struct {
	project    string
	visibility memory.Visibility
	subject    string        // subject of the summary
	author     memory.Author // zero if the subject wrote the entries in private
}

// topicOf returns the topic of an entry, without its project.
func (f *Compressed) topicOf(e *memory.Entry) lineTopic {
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

func (f *Compressed) summaryLines(d *memory.Document, entries []int, t CompressTerms) ([]summaryLine, error) {
	groups := map[lineTopic][]int{}
	var order []lineTopic
	add := func(a lineTopic, i int) {
		if groups[a] == nil {
			order = append(order, a)
		}
		groups[a] = append(groups[a], i)
	}
	for _, i := range entries {
		e, projects := &d.Entries[i], 0
		a := f.topicOf(e)
		for _, tag := range e.Tags {
			if name, ok := strings.CutPrefix(tag, "project:"); ok && name != "" {
				a.project = name
				add(a, i)
				projects++
			}
		}
		if projects > 0 {
			continue
		}
		if d.Front.ContactID != "" { // the path of the summary contains the contact
			a.visibility = memory.PrivateOnly
		}
		add(a, i)
	}
	slices.SortFunc(order, func(a, b lineTopic) int {
		return cmp.Or(strings.Compare(a.project, b.project), cmp.Compare(a.visibility, b.visibility),
			strings.Compare(a.subject, b.subject), strings.Compare(a.author.By, b.author.By),
			strings.Compare(a.author.Source, b.author.Source))
	})
	var lines []summaryLine
	for _, a := range order {
		chosen := chooseSentences(d, groups[a])
		if len(chosen) == 0 {
			continue
		}
		if a.subject != f.subject && t.Contested(a.subject) {
			return nil, fmt.Errorf("the directory of %s belongs to another subject", a.subject)
		}
		of := make([]int, len(chosen))
		for i, s := range chosen {
			of[i] = s.entry
		}
		line, err := newLine(d, of, joinSentences(chosen), a, t.Layout)
		if err != nil {
			return nil, err
		}
		notes, told := t.Summarizer.selectNotes(d, groups[a], a.visibility)
		if said := t.Summarizer.cachedSummary(notes); said != "" {
			if better, err := newLine(d, told, said, a, t.Layout); err == nil {
				line, line.Model = better, true
			}
		}
		line.notes = notes
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
		Path: memory.SummaryPath(a.subject, a.project, d.Front.ContactID), Project: a.project,
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
	s.summary = memory.Summary{
		Title: title, Text: s.Text, Visibility: a.visibility, Evidence: s.Evidence,
		Attributes: map[string]string{"updated": updated.UTC().Format(time.RFC3339)},
	}
	for key, value := range map[string]string{"source": a.author.Source, "written_by": a.author.By} {
		if value != "" {
			s.summary.Attributes[key] = value
		}
	}
	return s, s.summary.Check(s.Path, l)
}
