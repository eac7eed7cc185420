package ops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/importer"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Speakers in imported conversations. Text of an agent is untrusted.
var speakers = map[string]string{"person": "Person", "agent": "Agent"}

// untitled are the programs whose records have titles that only repeat their text
// or path.
var untitled = []string{"jsonl", "mem0"}

// entrySource is the program whose records consist of entries.
const entrySource = "jsonl"

// States of imported records in answers.
const (
	importCreated   = "created"
	importRewritten = "rewritten"
	importUnchanged = "unchanged"
	importEdited    = "edited"
	importFailed    = "failed"
)

// importStates are the states of records by those of their files.
var importStates = map[memory.ImportState]string{
	memory.ImportSame: importUnchanged, memory.ImportOlder: importRewritten, memory.ImportEdited: importEdited,
}

// importRecords writes records of another program to private files of the owner.
// A repeated import changes nothing, and a file that was edited since its import
// stays.
func (m adminOps) importRecords(ctx context.Context, c Call, r *api.ImportRequest) (*api.ImportAnswer, error) {
	answer := &api.ImportAnswer{Records: []api.ImportedRecord{}, DryRun: r.DryRun}
	if m.Writer == nil {
		return nil, errNoWriter
	}
	since, _, err := m.parsePeriod("since", r.Since)
	if err != nil {
		return nil, err
	}
	if err := m.waitAllIndexed(ctx, &c); err != nil { // a file of a record may have been moved
		return nil, err
	}
	records, paths := m.decodeRecords(r, answer)
	stems := map[string][]string{} // paths of imported files by path without suffix
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		suffix := path.Base(f.Path)
		suffix = suffix[strings.LastIndexByte(suffix, '-')+1:]
		if list := paths[suffix]; list != nil {
			*list = append(*list, f.Path)
		}
		if stem := strings.TrimSuffix(f.Path, suffix); strings.HasPrefix(stem, memory.ImportsDir+"/") {
			stems[stem] = append(stems[stem], f.Path)
		}
	}
	var pending []*importWrite
	for i := range answer.Records {
		result := &answer.Records[i]
		if result.State != "" {
			continue
		}
		if r.Since != "" && records[i].Changed().Before(since) {
			result.State = "older"
			continue
		}
		p, err := m.planImport(ctx, c, records[i], *paths[records[i].Suffix()], stems, result, r.DryRun)
		switch {
		case err != nil:
			result.State, result.Reason = importFailed, asError(err).Error()
		case p != nil:
			pending = append(pending, p)
		}
	}
	if err := m.writeImports(ctx, pending); err != nil {
		return nil, err
	}
	for _, p := range pending {
		for name, n := range p.changes {
			if p.result.State != importCreated && p.result.State != importRewritten {
				break
			}
			if answer.Changes == nil {
				answer.Changes = map[string]int{}
			}
			answer.Changes[name] += n
		}
	}
	counts := map[string]*int{importCreated: &answer.Created, importRewritten: &answer.Rewritten,
		importUnchanged: &answer.Unchanged, importEdited: &answer.Edited, "older": &answer.Older,
		importFailed: &answer.Failed}
	for _, result := range answer.Records {
		*counts[result.State]++
	}
	return answer, nil
}

// decodeRecords returns the records of a request, with an element in the answer
// for each, and a list for the paths of each suffix.
func (m adminOps) decodeRecords(r *api.ImportRequest, answer *api.ImportAnswer) (records []*memory.Imported,
	paths map[string]*[]string) {
	paths = map[string]*[]string{}
	number := 0
	for line := range strings.Lines(r.Records) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		result := api.ImportedRecord{Line: number}
		record, credentials, err := m.decodeRecord(r.Source, line)
		if err == nil && paths[record.Suffix()] != nil {
			err = api.Errorf(api.Invalid, "another record of the request has the same id")
		}
		if err != nil {
			result.State, result.Reason = importFailed, asError(err).Error()
		} else {
			result.Credentials = credentials
			paths[record.Suffix()] = new([]string)
		}
		records, answer.Records = append(records, record), append(answer.Records, result)
	}
	return records, paths
}

// decodeRecord returns a record without credentials, and the kinds of those that
// it contains.
func (m adminOps) decodeRecord(source, line string) (record *memory.Imported, credentials []string, err error) {
	var in api.ImportRecord
	if err := decodeLine(line, &in); err != nil {
		return nil, nil, err
	}
	if strings.TrimSpace(in.ID) == "" {
		return nil, nil, api.Errorf(api.Invalid, "id is missing")
	}
	for name, at := range map[string]time.Time{"created": in.Created, "updated": in.Updated} {
		if year := at.UTC().Year(); year < 1 || year > maxYear {
			return nil, nil, api.Errorf(api.Invalid, "%s: a time is not in the years 1 to %d", name, maxYear)
		}
	}
	mask := func(text string) string {
		text, rules := secrets.Remove(strings.ToValidUTF8(text, string(utf8.RuneError)))
		credentials = append(credentials, rules...)
		return text
	}
	record = &memory.Imported{Program: source, ID: in.ID, Title: mask(cutLine(in.Title, maxTopic)),
		Untitled: slices.Contains(untitled, source), Created: in.Created, Updated: in.Updated,
		Entries: source == entrySource, Place: in.Path, Front: mask(in.Front), Summary: in.Summary, Origin: in.Origin}
	record.Tags = convertEach(in.Tags[:min(len(in.Tags), api.MaxValues)], mask)
	for i, p := range in.Parts {
		part := memory.ImportedPart{Text: mask(p.Text), Levels: p.Levels, Attributes: map[string]string{}}
		if p.Author != "" {
			part.Speaker = speakers[p.Author]
			if part.Speaker == "" {
				return nil, nil, api.Errorf(api.Invalid, "part %d: author: %q is not one of person, agent", i+1,
					p.Author)
			}
			if p.Author != "person" {
				part.By = memory.ImportSource + source
			}
		}
		for _, s := range p.Section {
			if !record.Entries {
				s = cutLine(s, maxTopic)
			}
			part.Section = append(part.Section, mask(s))
		}
		line := func(s string) string { return mask(memory.CleanLine(s)) }
		part.Evidence, part.Tags = convertEach(p.Evidence, line), convertEach(p.Tags, line)
		for key, value := range p.Attributes {
			value = memory.CleanLine(value)
			if value != "" {
				part.Attributes[key] = mask(value)
			}
		}
		record.Parts = append(record.Parts, part)
	}
	slices.Sort(credentials)
	return record, slices.Compact(credentials), nil
}

type importWrite struct {
	result  *api.ImportedRecord
	change  vault.Change
	changes map[string]int // counts of entries that differ from their lines
	failed  error          // of Edit
	done    bool           // without the change
}

// planImport returns the change that writes a record to its file: the one at a given
// path that contains an earlier version, or a new one. It returns nil if nothing is
// to be written, or was written already, also by an import of the same text from a file that
// has moved.
func (m adminOps) planImport(ctx context.Context, c Call, record *memory.Imported, paths []string,
	stems map[string][]string, result *api.ImportedRecord, dryRun bool) (*importWrite, error) {
	if record.Entries {
		if err := m.resolveEvidence(ctx, c, record); err != nil {
			return nil, err
		}
	}
	if record.Summary != "" {
		changes, err := m.importSummary(ctx, c, record, result, dryRun)
		return &importWrite{result: result, changes: changes, done: true}, err
	}
	wanted := record.Place
	var data []byte
	var changes map[string]int
	var err error
	if record.Entries && wanted != "" {
		var done bool
		data, changes, done, err = m.placeEntries(ctx, c, record, result)
		if done || err != nil {
			return nil, err
		}
		copies := m.archivedCopies(record.Place, func(*index.FileInfo) bool { return true })
		paths = slices.Concat(paths, []string{record.Place}, copies)
	}
	if record.Entries && wanted == "" {
		m.placeBelowImports(record)
	}
	if data == nil {
		data, changes = record.File(m.Layout)
	}
	for _, known := range paths {
		file, err := m.Writer.Vault.Read(known)
		if err != nil {
			continue
		}
		if state := record.StateIn(m.Layout, file.Data, data); state != memory.ImportOther {
			result.Path, result.State = known, importStates[state]
			break
		}
	}
	if result.Path == "" && record.Origin == "" {
		for _, known := range stems[strings.TrimSuffix(record.Path(m.Location, true), record.Suffix())] {
			if file, err := m.Writer.Vault.Read(known); err == nil && memory.SameImport(file.Data, data) {
				result.Path, result.State = known, importUnchanged
				break
			}
		}
	}
	if result.State == importUnchanged || result.State == importEdited {
		return nil, nil
	}
	if result.Path == "" {
		result.Path = cmp.Or(record.Place, record.Path(m.Location, true))
		if m.Writer.Vault.Skips(result.Path, false) != "" || secrets.MatchingRule(result.Path) != "" {
			result.Path = record.Path(m.Location, false)
		}
	}
	if wanted != "" && result.Path != wanted {
		changes["path"] = len(record.Parts)
	}
	if reason := m.Writer.Vault.Skips(result.Path, false); reason != "" {
		return nil, api.Errorf(api.Unavailable, "%s is excluded from memory: %s", result.Path, reason)
	}
	next := m.Parse(vault.File{Path: result.Path, Data: data, ModTime: m.Now()})
	switch {
	case !ownPlace(c, next.Place) || next.For(c.View) == nil:
		return nil, notFound("file", result.Path)
	case next.Unsound || !record.Entries && next.Own.Visibility != memory.PrivateOnly:
		return nil, api.Errorf(api.Invalid, "the record cannot be written as a private file")
	}
	p := &importWrite{result: result, changes: changes}
	p.change = vault.Change{
		Path: result.Path, Cause: "import", Requested: true,
		Edit: func(old *vault.File) ([]byte, error) {
			result.State, p.failed = importCreated, nil
			if old != nil {
				state := record.StateIn(m.Layout, old.Data, data)
				if state == memory.ImportOther {
					p.failed = api.Errorf(api.Conflict, "%s already exists and is not a file of this record",
						result.Path)
					return nil, p.failed
				}
				result.State = importStates[state]
			}
			if dryRun || result.State != importCreated && result.State != importRewritten {
				return nil, nil
			}
			return data, nil
		},
	}
	return p, nil
}

// writeImports makes changes together, and records the failures in the results. The
// error is the context's.
func (m adminOps) writeImports(ctx context.Context, list []*importWrite) error {
	list = slices.DeleteFunc(slices.Clone(list), func(p *importWrite) bool { return p.done })
	changes := make([]vault.Change, len(list))
	for i, p := range list {
		changes[i] = p.change
	}
	for i, err := range m.Writer.WriteAll(ctx, changes) {
		p := list[i]
		switch {
		case p.failed != nil:
			err = p.failed
		case err != nil:
			err = writeError(err)
		}
		if err != nil {
			p.result.State, p.result.Reason = importFailed, asError(err).Error()
		}
	}
	return ctx.Err()
}

// exportPage bounds the text of a page, in bytes. A page contains one file at
// least.
const exportPage = 512 << 10

// export returns the readable text of all files, in pages. The pages are those of
// the files as answers show their names, so that a cursor contains no credential.
func (m readOps) export(ctx context.Context, c Call, r *api.ExportRequest) (*api.ExportAnswer, error) {
	if err := index.CheckPath(r.Path); err != nil {
		return nil, api.Errorf(api.Invalid, "path: %v", err)
	}
	answer := &api.ExportAnswer{Files: []api.ExportFile{}, Index: m.indexState(c)}
	list := m.Index.Files(func(f *index.FileInfo) bool {
		return f.Readable(c.View) && (r.IncludeArchived || f.Kind != memory.Archive) &&
			(r.Path == "" || index.MatchPath(r.Path, f.Path))
	})
	names := make(map[string]string, len(list))
	for _, f := range list {
		names[f.Path] = shownPath(f.Path)
	}
	slices.SortStableFunc(list, func(a, b *index.FileInfo) int { return strings.Compare(names[a.Path], names[b.Path]) })
	size, last := 0, ""
	for _, f := range list {
		name := names[f.Path]
		if name <= r.Cursor {
			continue
		}
		if size >= exportPage && name != last {
			answer.Next = last
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		doc, err := m.loadFile(c, f.Path)
		if err != nil {
			continue // removed, or no longer readable
		}
		file := api.ExportFile{Path: doc.Place.Path}
		if r.Entries {
			for i := range doc.Entries {
				e := &doc.Entries[i]
				if !e.Readable(c.View) {
					continue
				}
				entry := importer.WholeEntryOf(doc, e, c.View.SubjectOf(e.Partition), sessionOf(c, doc))
				if len(file.Entries) == 0 && c.View.Readable(doc.Own) {
					entry.Front = doc.FrontText()
				}
				file.Entries = append(file.Entries, entry)
				size += len(e.Text)
			}
		} else {
			file.Text = doc.Shown(c.View).Text()
			size += len(file.Text)
		}
		last = name
		answer.Files = append(answer.Files, file)
	}
	return answer, nil
}

// Changes of imported entries in answers, beside those of [memory.Imported.File].
const (
	changeTitle = "title" // another summary has the title
	changeText  = "text"
)

// resolveEvidence replaces the ids in the evidence of a record by the places of the
// entries that an import from the same origin has written.
func (m adminOps) resolveEvidence(ctx context.Context, c Call, record *memory.Imported) error {
	for i := range record.Parts {
		evidence := record.Parts[i].Evidence
		for j, piece := range evidence {
			if record.Origin == "" || strings.ContainsAny(piece, "/#") {
				continue
			}
			refs, err := m.Index.ByID(ctx, c.View, piece)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				day, name, _ := strings.Cut(path.Base(ref.Path), ".")
				if memory.IsDay(day) && (name == record.Origin+".md" || strings.HasPrefix(name, record.Origin+"-")) {
					evidence[j] = "memory/" + path.Base(ref.Path) + "#" + piece // also if it is archived now
				}
			}
		}
	}
	return nil
}

// placeEntries sets the place of a record with a path: the path, unless its file is
// not one of the record. Such a file stays, and the record becomes a file of imports with
// the entries that it lacks. placeEntries returns the content of the file with its
// changes. Done reports that nothing else is to be written.
func (m adminOps) placeEntries(ctx context.Context, c Call, record *memory.Imported,
	result *api.ImportedRecord) (data []byte, changes map[string]int, done bool, err error) {
	place := m.Layout.Place(record.Place)
	if strings.HasPrefix(record.Place, "_longterms/") && !ownPlace(c, place) {
		dir, err := m.subjectDir(ctx, &c)
		if err != nil {
			return nil, nil, false, err
		}
		_, below, _ := strings.Cut(strings.TrimPrefix(record.Place, "_longterms/"), "/")
		place, record.Front = m.Layout.Place(dir+"/"+below), "" // which names another subject
	}
	record.Place = place.Path
	_, isMarkdown := memory.CutMarkdown(place.Path)
	reserved := strings.HasPrefix(place.Path, "_longterms/_") // files of memwatchd
	if isMarkdown && !reserved && badPath(place.Path) == "" && place.Copy == "" && ownPlace(c, place) &&
		m.Writer.Vault.Skips(place.Path, false) == "" {
		data, changes = record.File(m.Layout)
		file, err := m.Writer.Vault.Read(place.Path)
		if err != nil {
			return data, changes, false, nil // free, or the writer reports why not
		}
		state := record.StateIn(m.Layout, file.Data, data)
		there := m.Parse(file)
		switch {
		case state == memory.ImportSame, state == memory.ImportOlder:
			return data, changes, false, nil
		case state == memory.ImportEdited && place.Kind != memory.Items:
			rest := m.newParts(record, there)
			if len(rest) == 0 {
				return data, changes, false, nil
			}
			record.Parts = rest
		default:
			record.Parts = otherParts(record, there, m.Layout.Parse(place.Path, data, memory.Meta{}))
			if len(record.Parts) == 0 {
				result.Path, result.State = place.Path, importUnchanged
				return nil, nil, true, nil
			}
		}
	}
	record.Title = record.Place
	m.placeBelowImports(record)
	data, changes = record.File(m.Layout)
	return data, changes, false, nil
}

// placeBelowImports sets the place of a record to a file of imports, which is private.
func (m adminOps) placeBelowImports(record *memory.Imported) {
	record.Place, record.Front = record.Path(m.Location, true), ""
	for i := range record.Parts {
		record.Parts[i].Attributes["visibility"] = memory.PrivateOnly.String()
	}
}

// newParts returns the parts of a record with ids that its file, which was edited, never
// had.
func (m adminOps) newParts(record *memory.Imported, there *memory.Document) (list []memory.ImportedPart) {
	known := map[string]bool{"": true}
	for i := range there.Entries {
		known[there.Entries[i].ID] = true
	}
	edits := handEdits{m: m.readOps, path: record.Place}
	edits.readJournal()
	for at := range edits.written {
		known[at[0]] = true
	}
	for _, p := range record.Parts {
		if !known[p.Attributes["id"]] {
			list = append(list, p)
		}
	}
	return list
}

// otherParts returns the parts of a record whose entries are not in a file. Doc is the
// record as a file.
func otherParts(record *memory.Imported, there, doc *memory.Document) (rest []memory.ImportedPart) {
	if len(doc.Entries) != len(record.Parts) {
		return record.Parts
	}
	known := map[string]bool{}
	name := func(e *memory.Entry) string { return strings.Join(append(e.Sections, e.Text), "\x00") }
	for i := range there.Entries {
		known[name(&there.Entries[i])] = true
	}
	for i := range doc.Entries {
		if !known[name(&doc.Entries[i])] {
			rest = append(rest, record.Parts[i])
		}
	}
	return rest
}

// importSummary writes a summary of another program to the owner's file of summaries.
// It replaces only the one from the same origin, unless that one is newer or was
// edited; beside a summary of the same name from elsewhere, the name gets the
// origin.
func (m adminOps) importSummary(ctx context.Context, c Call, record *memory.Imported, result *api.ImportedRecord,
	dryRun bool) (changed map[string]int, err error) {
	dir, err := m.subjectDir(ctx, &c)
	if err != nil {
		return nil, err
	}
	result.Path, result.State = dir+"/"+record.Summary+".md", importUnchanged
	s, changed, err := m.summaryOf(c, record, result.Path)
	if err != nil {
		return nil, err
	}
	section := record.Parts[0].Section
	if len(section) == 0 {
		section = s.Section()
	}
	_, _, err = m.editFile(ctx, c, fileEdit{
		writeTarget: writeTarget{path: result.Path, initial: memory.NewItems(c.Scope.Subject)},
		cause:       "import", dryRun: dryRun,
		change: func(doc *memory.Document, r *memory.Revision) error {
			result.State = importUnchanged
			edits := handEdits{m: m.readOps, path: result.Path}
			for _, title := range []string{s.Title, fmt.Sprintf("%s (%s)", s.Title, record.Origin)} {
				at := slices.IndexFunc(doc.Entries, func(e memory.Entry) bool {
					return e.IsSummary() && memory.Fold(e.Title) == memory.Fold(title) &&
						e.Partition.Visibility == s.Visibility
				})
				next := s
				next.Title = title
				if at < 0 {
					result.State = importCreated
					r.Append(section, next.String())
					break
				}
				e := &doc.Entries[at]
				same := e.SummaryText() == s.Text
				if same && next.Matches(e) {
					break
				}
				if e.Attributes[memory.OriginAttribute] != record.Origin {
					changed[changeTitle] = 1
					continue
				}
				switch {
				case edits.timeOf(e).Before(record.Changed()):
					result.State = importRewritten
					r.Replace(at, next.String())
				case !same: // else only its evidence has moved
					result.State = importEdited
				}
				break
			}
			return nil
		},
	})
	return changed, err
}

// summaryOf returns the summary in a record, for the file at a path, and the counts of
// its differences from the record.
func (m adminOps) summaryOf(c Call, record *memory.Imported, path string) (s memory.Summary, changed map[string]int,
	err error) {
	if len(record.Parts) != 1 {
		return s, nil, api.Errorf(api.Invalid, "a summary has one part")
	}
	part := &record.Parts[0]
	text := oneLine(part.Text)
	changed = map[string]int{}
	if text != strings.TrimSpace(part.Text) {
		changed[changeText] = 1
	}
	s = memory.Summary{Title: cmp.Or(record.Title, c.Scope.Subject), Text: text, Evidence: part.Evidence,
		Visibility: memory.ParseVisibility(part.Attributes["visibility"]), Attributes: maps.Clone(part.Attributes)}
	parse := func(text string) (e memory.Entry) {
		if d := m.Layout.Parse(path, []byte(text+"\n"), memory.Meta{}); len(d.Entries) == 1 {
			e = d.Entries[0]
		}
		return e
	}
	if e := parse(text); e.Block == memory.Item && e.Title != "" {
		s.Title, s.Text = e.Title, e.SummaryText()
	}
	for _, tag := range part.Tags {
		s.Text, _ = m.Layout.AddTag(s.Text, tag)
	}
	if s.Attributes["type"] == parse("- "+s.Text).Type {
		delete(s.Attributes, "type")
	}
	if strings.ContainsAny(s.Attributes["id"], " \t") {
		delete(s.Attributes, "id")
	}
	s.Attributes[memory.OriginAttribute] = record.Origin
	if s.Check(path, m.Layout) != nil {
		s.Title, s.Text = strings.Trim(memory.CleanLine(s.Title), "*: "), memory.Line(memory.CleanLine(s.Text))
		changed[changeText] = 1
	}
	if err := s.Check(path, m.Layout); err != nil {
		return s, nil, api.Errorf(api.Invalid, "%s %q: %v", record.Summary, s.Title, err)
	}
	return s, changed, nil
}
