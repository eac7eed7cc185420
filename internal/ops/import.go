package ops

import (
	"cmp"
	"context"
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
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	if err := m.waitAllRead(ctx, &c); err != nil {
		return nil, err
	}
	if !c.synced { // a file of a record may have been moved
		return nil, api.Errorf(api.Unavailable, "not all files have been read yet").WithHint("retry in a moment")
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
		importUnchanged: &answer.Unchanged, importEdited: &answer.Edited, "older": &answer.Older, importFailed: &answer.Failed}
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
	for _, tag := range in.Tags[:min(len(in.Tags), api.MaxValues)] {
		record.Tags = append(record.Tags, mask(tag))
	}
	for i, p := range in.Parts {
		part := memory.ImportedPart{Text: mask(p.Text), Levels: p.Levels, Attributes: map[string]string{}}
		if p.Author != "" {
			part.Speaker = speakers[p.Author]
			if part.Speaker == "" {
				return nil, nil, api.Errorf(api.Invalid, "part %d: author: %q is not one of person, agent", i+1, p.Author)
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
		for _, e := range p.Evidence {
			part.Evidence = append(part.Evidence, mask(memory.CleanLine(e)))
		}
		for _, t := range p.Tags {
			part.Tags = append(part.Tags, mask(memory.CleanLine(t)))
		}
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
	slices.SortStableFunc(list, func(a, b index.FileInfo) int { return strings.Compare(names[a.Path], names[b.Path]) })
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
		doc, shown, err := m.loadFile(c, f.Path)
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
					entry.Front = shown.Front(doc)
				}
				file.Entries = append(file.Entries, entry)
				size += len(e.Text)
			}
		} else {
			file.Text = shown.Text()
			size += len(file.Text)
		}
		last = name
		answer.Files = append(answer.Files, file)
	}
	return answer, nil
}
