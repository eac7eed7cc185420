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

// States of records, beside those of their files.
const (
	importCreated memory.ImportState = "created"
	importOlder   memory.ImportState = "older"
	importFailed  memory.ImportState = "failed"
)

// A recordImport is the import of one record.
type recordImport struct {
	*memory.Imported
	state   memory.ImportState
	result  api.ImportedRecord
	dryRun  bool
	data    []byte         // content of the file
	changes map[string]int // counts of entries that differ from their lines
	write   *vault.Change  // nil if nothing is to be written
}

func (p *recordImport) fail(err error) {
	p.state, p.result.Reason = importFailed, asError(err).Error()
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
	var list, pending []*recordImport
	var changes []vault.Change
	known, seen, number := m.knownPaths(c), map[string]bool{}, 0
	for line := range strings.Lines(r.Records) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		p := &recordImport{result: api.ImportedRecord{Line: number}, dryRun: r.DryRun}
		list = append(list, p)
		err := m.decodeRecord(r.Source, line, p)
		switch {
		case err != nil:
		case seen[p.Suffix()]:
			err = api.Errorf(api.Invalid, "another record of the request has the same id")
		case r.Since != "" && p.Changed().Before(since):
			seen[p.Suffix()], p.state = true, importOlder
		default:
			seen[p.Suffix()] = true
			err = m.planImport(ctx, c, p, known)
		}
		switch {
		case err != nil:
			p.fail(err)
		case p.write != nil:
			pending, changes = append(pending, p), append(changes, *p.write)
		}
	}
	for i, err := range m.Writer.WriteAll(ctx, changes) {
		if err != nil {
			pending[i].fail(writeError(err))
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, p := range list {
		p.result.State = string(p.state)
		next := api.ImportAnswer{Records: []api.ImportedRecord{p.result}}
		if p.state == importCreated || p.state == memory.ImportOlder {
			next.Changes = p.changes
		}
		answer.Add(&next)
	}
	return answer, nil
}

// knownPaths returns the paths of files by the ends of their names, as
// [memory.Imported.Suffix] returns them, and those of imported files by the rest of the path.
func (m adminOps) knownPaths(c Call) map[string][]string {
	known := map[string][]string{}
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		suffix := path.Base(f.Path)
		suffix = suffix[strings.LastIndexByte(suffix, '-')+1:]
		known[suffix] = append(known[suffix], f.Path)
		if stem := strings.TrimSuffix(f.Path, suffix); strings.HasPrefix(stem, memory.ImportsDir+"/") {
			known[stem] = append(known[stem], f.Path)
		}
	}
	return known
}

// decodeRecord sets the record and the kinds of the credentials that it contained.
func (m adminOps) decodeRecord(source, line string, p *recordImport) error {
	var in api.ImportRecord
	if err := api.DecodeJSON([]byte(line), &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.ID) == "" {
		return api.Errorf(api.Invalid, "id is missing")
	}
	for name, at := range map[string]time.Time{"created": in.Created, "updated": in.Updated} {
		if year := at.UTC().Year(); year < 1 || year > maxYear {
			return api.Errorf(api.Invalid, "%s: a time is not in the years 1 to %d", name, maxYear)
		}
	}
	var credentials []string
	mask := func(text string) string {
		text, rules := secrets.Remove(strings.ToValidUTF8(text, string(utf8.RuneError)))
		credentials = append(credentials, rules...)
		return text
	}
	maskLine := func(s string) string { return mask(memory.CleanLine(s)) }
	p.Imported = &memory.Imported{Program: source, ID: in.ID, Title: mask(cutLine(in.Title, maxTopic)),
		Created: in.Created, Updated: in.Updated, Tags: convertEach(in.Tags[:min(len(in.Tags), api.MaxValues)], mask)}
	heading := func(s string) string { return mask(cutLine(s, maxTopic)) }
	if p.HasEntries() {
		p.Place, p.Front, p.Summary, p.Origin = in.Path, mask(in.Front), in.Summary, in.Origin
		heading = mask
	}
	for i := range in.Parts {
		part := memory.ImportedPart(in.Parts[i])
		if !slices.Contains([]string{"", "person", "agent"}, part.Author) {
			return api.Errorf(api.Invalid, "part %d: author: %q is not one of person, agent", i+1, part.Author)
		}
		part.Section, part.Text = convertEach(part.Section, heading), mask(part.Text)
		part.Evidence, part.Tags = convertEach(part.Evidence, maskLine), convertEach(part.Tags, maskLine)
		part.Attributes = map[string]string{}
		for key, value := range in.Parts[i].Attributes {
			value = memory.CleanLine(value)
			if value != "" {
				part.Attributes[key] = mask(value)
			}
		}
		p.Parts = append(p.Parts, part)
	}
	slices.Sort(credentials)
	p.result.Credentials = slices.Compact(credentials)
	return nil
}

// planImport sets the change that writes a record to its file: the one at a known
// path that contains an earlier version, or a new one. It sets none if nothing is
// to be written, or was written already, also by an import of the same text from a file that
// has moved.
func (m adminOps) planImport(ctx context.Context, c Call, p *recordImport, known map[string][]string) error {
	wanted, result, paths := p.Place, &p.result, known[p.Suffix()]
	if err := m.resolveEvidence(ctx, c, p.Imported); err != nil {
		return err
	}
	switch {
	case p.Summary != "":
		return m.importSummary(ctx, c, p)
	case p.HasEntries():
		if err := m.placeEntries(ctx, c, p); err != nil {
			return err
		}
		copies := m.archivedCopies(p.Place, func(*index.FileInfo) bool { return true })
		paths = slices.Concat(paths, []string{p.Place}, copies)
	default:
		p.data, p.changes = p.File(m.Layout)
	}
	stem := strings.TrimSuffix(p.Path(m.Location, true), p.Suffix())
	if p.Origin == "" {
		paths = slices.Concat(paths, known[stem])
	}
	for _, at := range paths {
		if p.state != memory.ImportOther {
			break
		}
		file, err := m.Writer.Vault.Read(at)
		if err != nil {
			continue
		}
		p.state = p.StateIn(m.Layout, file.Data, p.data)
		if p.state == memory.ImportOther && p.Origin == "" && memory.SameImport(file.Data, p.data) {
			p.state = memory.ImportSame
		}
		result.Path = api.TextIf(p.state != memory.ImportOther, at)
	}
	if p.state == memory.ImportSame || p.state == memory.ImportEdited {
		return nil
	}
	if result.Path == "" {
		result.Path = cmp.Or(p.Place, p.Path(m.Location, true))
		if m.Writer.Vault.Skips(result.Path, false) != "" || secrets.MatchingRule(result.Path) != "" {
			result.Path = p.Path(m.Location, false)
		}
	}
	if wanted != "" && result.Path != wanted {
		p.changes["path"] = len(p.Parts)
	}
	if reason := m.Writer.Vault.Skips(result.Path, false); reason != "" {
		return api.Errorf(api.Unavailable, "%s is excluded from memory: %s", result.Path, reason)
	}
	next := m.Parse(vault.File{Path: result.Path, Data: p.data, ModTime: m.Now()})
	switch {
	case !ownPlace(c, next.Place) || next.For(c.View) == nil:
		return notFound("file", result.Path)
	case next.Unsound || !p.HasEntries() && next.Partition.Visibility != memory.PrivateOnly:
		return api.Errorf(api.Invalid, "the record cannot be written as a private file")
	}
	p.write = &vault.Change{Path: result.Path, Cause: "import", Requested: true,
		Edit: func(old *vault.File) ([]byte, error) {
			p.state = importCreated
			if old != nil {
				p.state = p.StateIn(m.Layout, old.Data, p.data)
				if p.state == memory.ImportOther {
					return nil, api.Errorf(api.Conflict, "%s already exists and is not a file of this record", result.Path)
				}
			}
			if p.dryRun || p.state != importCreated && p.state != memory.ImportOlder {
				return nil, nil
			}
			return p.data, nil
		}}
	return nil
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
				if len(file.Entries) == 0 && c.View.Readable(doc.Partition) {
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

// placeEntries sets the place of a record of entries and the content of its file. The place
// is its path, unless the file there belongs to others or was edited. Such a file stays, and
// the entries that it lacks go to a private file of imports. If it lacks none, the result is
// final.
func (m adminOps) placeEntries(ctx context.Context, c Call, p *recordImport) error {
	place := m.Layout.Place(p.Place)
	if strings.HasPrefix(p.Place, "_longterms/") && !ownPlace(c, place) {
		dir, err := m.subjectDir(ctx, &c)
		if err != nil {
			return err
		}
		_, below, _ := strings.Cut(strings.TrimPrefix(p.Place, "_longterms/"), "/")
		place, p.Front = m.Layout.Place(dir+"/"+below), "" // which names another subject
	}
	p.Place = place.Path
	_, isMarkdown := memory.CutMarkdown(place.Path)
	reserved := strings.HasPrefix(place.Path, "_longterms/_") // files of memwatchd
	if isMarkdown && !reserved && badPath(place.Path) == "" && place.Copy == "" && ownPlace(c, place) &&
		m.Writer.Vault.Skips(place.Path, false) == "" {
		p.data, p.changes = p.File(m.Layout)
		file, err := m.Writer.Vault.Read(place.Path)
		if err != nil {
			return nil // free, or the writer reports why not
		}
		state := p.StateIn(m.Layout, file.Data, p.data)
		if state == memory.ImportSame || state == memory.ImportOlder {
			return nil
		}
		byID := state == memory.ImportEdited && place.Kind != memory.Items
		rest := m.missingParts(p, m.Parse(file), byID)
		if len(rest) == 0 {
			p.result.Path, p.state = place.Path, memory.ImportSame
			if byID {
				p.state = memory.ImportEdited
			}
			return nil
		}
		p.Parts = rest
	}
	p.Title = cmp.Or(p.Place, p.Title)
	p.Place, p.Front = p.Path(m.Location, true), ""
	for i := range p.Parts {
		p.Parts[i].Attributes["visibility"] = memory.PrivateOnly.String()
	}
	p.data, p.changes = p.File(m.Layout)
	return nil
}

// missingParts returns the parts of a record that a file lacks: by their ids, else by
// their sections and texts.
func (m adminOps) missingParts(p *recordImport, there *memory.Document, byID bool) (rest []memory.ImportedPart) {
	name := func(e *memory.Entry) string { return strings.Join(e.Sections, "\x00") + "\x00" + e.Text }
	known := map[string]bool{"": true} // ids or names
	for i := range there.Entries {
		known[there.Entries[i].ID], known[name(&there.Entries[i])] = byID, !byID
	}
	doc := m.Layout.Parse(p.Place, p.data, memory.Meta{})
	for i, part := range p.Parts {
		switch {
		case byID && known[part.Attributes["id"]]:
		case !byID && len(doc.Entries) == len(p.Parts) && known[name(&doc.Entries[i])]:
		default:
			rest = append(rest, part)
		}
	}
	return rest
}

// importSummary writes a summary of another program to the owner's file of summaries.
// It replaces only the one from the same origin, unless that one is newer or was
// edited; beside a summary of the same name from elsewhere, the name gets the
// origin.
func (m adminOps) importSummary(ctx context.Context, c Call, p *recordImport) error {
	dir, err := m.subjectDir(ctx, &c)
	if err != nil {
		return err
	}
	result := &p.result
	result.Path, p.state = dir+"/"+p.Summary+".md", memory.ImportSame
	s, err := m.summaryOf(c, p)
	if err != nil {
		return err
	}
	section := p.Parts[0].Section
	if len(section) == 0 {
		section = []string{memory.SummarySection}
	}
	initial, visibility := memory.NewItems(c.Scope.Subject), orPrivate(p.Parts[0].Attributes["visibility"])
	if visibility == memory.PublicOK.String() {
		result.Path = memory.BesideFile(result.Path, memory.PublicFile)
		initial = memory.WithVisibility(initial, visibility)
	}
	delete(s.Attributes, "visibility")
	_, _, err = m.editFile(ctx, c, fileEdit{
		writeTarget: writeTarget{path: result.Path, initial: initial, audience: visibility},
		cause:       "import", dryRun: p.dryRun,
		change: func(doc *memory.Document, r *memory.Revision) error {
			p.state = memory.ImportSame
			for _, title := range []string{s.Title, fmt.Sprintf("%s (%s)", s.Title, p.Origin)} {
				next := s
				next.Title = title
				at := slices.IndexFunc(doc.Entries, func(e memory.Entry) bool { return isSummary(&e, &addition{Put: next}) })
				if at < 0 {
					p.state = importCreated
					r.Append(section, &next)
					return nil
				}
				e := &doc.Entries[at]
				same := e.SummaryText() == s.Text
				switch {
				case same && next.IsAt(e):
				case e.Attributes[memory.OriginAttribute] != p.Origin:
					p.changes[changeTitle] = 1
					continue
				case e.Time.Before(p.Changed()):
					p.state = memory.ImportOlder
					r.Replace(at, &next, m.Now())
				case !same: // else only its evidence has moved
					p.state = memory.ImportEdited
				}
				return nil
			}
			return nil
		},
	})
	return err
}

// summaryOf returns the summary in a record, and counts its differences from the record.
func (m adminOps) summaryOf(c Call, p *recordImport) (s memory.Put, err error) {
	if len(p.Parts) != 1 || p.Summary != "profile" && p.Summary != "project" {
		return s, api.Errorf(api.Invalid, "summary: %q is not profile or project with one part", p.Summary)
	}
	part := &p.Parts[0]
	text := oneLine(part.Text)
	p.changes = map[string]int{}
	if text != strings.TrimSpace(part.Text) {
		p.changes[changeText] = 1
	}
	s = memory.Put{Form: memory.FactForm, Title: cmp.Or(p.Title, c.Scope.Subject), Text: text, Evidence: part.Evidence,
		Attributes: maps.Clone(part.Attributes)}
	parse := func(text string) (e memory.Entry) {
		if d := m.Layout.Parse(p.result.Path, []byte(text+"\n"), memory.Meta{}); len(d.Entries) == 1 {
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
	s.Attributes[memory.OriginAttribute] = p.Origin
	if err := m.Layout.Fit(p.result.Path, &s); err != nil {
		return s, api.Errorf(api.Invalid, "%s %q: %v", p.Summary, s.Title, err)
	}
	return s, nil
}
