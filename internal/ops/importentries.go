package ops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

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
					return e.IsSummary() && memory.Fold(e.Title) == memory.Fold(title) && e.Partition.Visibility == s.Visibility
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
