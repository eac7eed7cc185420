package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// The types of records in JSON lines. Items are short-term memory; profiles and
// projects are long-term memory and name their evidence.
const (
	MemoryItem    = "MemoryItem"
	UserProfile   = "UserProfile"
	ProjectMemory = "ProjectMemory"
)

// A Line is a line of JSON lines.
type Line struct {
	RecordType string  `json:"record_type"`
	Payload    Payload `json:"payload"`
}

// A Payload is an entry. Lines of other programs have the fields id, summary and
// timestamp in place of memory_id, content and updated.
type Payload struct {
	api.ExportEntry
	Name        string   `json:"name,omitempty"`         // of a profile: its subject
	EvidenceIDs []string `json:"evidence_ids,omitempty"` // of profiles and projects; never empty
}

// EntryOf returns an entry of a document, as it is exported. Subject is the owner
// of the entry, and session that of the document.
func EntryOf(doc *memory.Document, e *memory.Entry, subject, session string) api.ExportEntry {
	out := api.ExportEntry{
		ID: doc.Place.Path + "#" + e.ID, Path: doc.Place.Path, Section: e.Sections, Kind: doc.Place.Kind.String(),
		Type: e.Type, Content: e.Text, Title: e.Title, Tags: e.Tags, Task: e.TaskState(),
		Importance: e.Importance, Evidence: e.Evidence, Source: e.Source, WrittenBy: e.By,
		Subject: subject, Visibility: e.Partition.Visibility.String(),
		Session: session, Day: doc.Place.Day, Updated: e.Time.UTC(),
	}
	if e.HasConfidence {
		out.Confidence = &e.Confidence
	}
	if file := path.Base(doc.Place.Path); e.IsSummary() && doc.Place.Kind == memory.Items {
		switch file {
		case "profile.md":
			out.Summary = "profile"
		case "project.md":
			out.Summary, out.Project = "project", e.Title
		}
	}
	return out
}

// WholeEntryOf returns an entry as EntryOf does, with everything that an import needs
// to write it again.
func WholeEntryOf(doc *memory.Document, e *memory.Entry, subject, session string) api.ExportEntry {
	out := EntryOf(doc, e, subject, session)
	for h := e.Heading; h >= 0; h = doc.Headings[h].Parent {
		out.Levels = append([]int{doc.Headings[h].Level}, out.Levels...)
	}
	for i, level := range out.Levels {
		if level != i+1 {
			break
		}
		if i == len(out.Levels)-1 {
			out.Levels = nil
		}
	}
	out.Attributes = maps.Clone(e.Attributes)
	maps.DeleteFunc(out.Attributes, func(key, _ string) bool { return slices.Contains(entryFields, key) })
	return out
}

// entryFields are the attributes that fields of an [api.ExportEntry] contain, and the
// origin of an imported summary.
var entryFields = []string{"id", "type", "importance", "visibility", "confidence", "evidence", "source", "updated",
	"written_by", memory.OriginAttribute}

// LineOf returns an entry of an export as a line.
func LineOf(e api.ExportEntry) Line {
	l := Line{MemoryItem, Payload{ExportEntry: e}}
	switch e.Summary {
	case "profile":
		l.RecordType, l.Payload.Name = UserProfile, e.Subject
	case "project":
		l.RecordType = ProjectMemory
	}
	if l.RecordType != MemoryItem {
		l.Payload.EvidenceIDs, l.Payload.Evidence, l.Payload.Summary = e.Evidence, nil, ""
	}
	return l
}

// inputLine is a Line with the names of fields that other programs use, and with
// times in any form.
type inputLine struct {
	RecordType string `json:"record_type"`
	Payload    struct {
		Payload
		OtherID   string `json:"id"`
		Summary   string `json:"summary"`
		Updated   moment `json:"updated"`
		UpdatedAt moment `json:"updated_at"`
		Timestamp moment `json:"timestamp"`
		Created   moment `json:"created_at"`
	} `json:"payload"`

	localID string // of the line in its file
}

// maxGathered bounds the text of the lines that wait for further ones of their
// files, in bytes.
const maxGathered = 32 << 20

// readJSONL returns a record for each file of the lines, so that the entries of a
// file stay together. Lines without a path belong to the notes of their day, in a
// file of the source. Summaries, and lines without a path and a time, are records
// of their own.
func readJSONL(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		var order []*api.ImportRecord
		files := map[string]*api.ImportRecord{}
		places := map[string]string{} // of entries of the notes of days, by their ids in the source
		rounds, size := 1, 0
		flush := func() bool {
			for _, record := range order {
				for i := range record.Parts {
					for j, piece := range record.Parts[i].Evidence {
						record.Parts[i].Evidence[j] = cmp.Or(places[piece], piece)
					}
				}
				if !yield(record, nil) {
					return false
				}
			}
			clear(files)
			order, size = nil, 0
			rounds++
			return true
		}
		for v, err := range objects(r) {
			var l inputLine
			if err == nil {
				err = l.read(v)
			}
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			p := &l.Payload
			updated := latest(s.time(p.Updated), s.time(p.UpdatedAt), s.time(p.Timestamp))
			created := earliest(s.time(p.Created), updated)
			record := &api.ImportRecord{ID: s.localID(l.localID),
				Title:  cmp.Or(p.Title, p.Project, p.Name, titleOf(p.Content)),
				Origin: s.Origin}
			file := p.Path
			switch {
			case l.RecordType != MemoryItem:
				file = ""
				record.Summary, record.Title = "profile", cmp.Or(p.Title, p.Name)
				if l.RecordType == ProjectMemory {
					record.Summary, record.Title = "project", cmp.Or(p.Title, p.Project, p.Name)
				}
			case file == "" && !created.IsZero(): // the notes of a day contain no times of others
				file = "memory/" + cmp.Or(updated, created).In(s.Location).Format(time.DateOnly) + "." + s.Origin +
					".md"
				places[p.ID] = file + "#" + p.ID
			}
			if known := files[file]; known != nil {
				record = known
			} else {
				if file != "" {
					record.ID, record.Title, record.Path, record.Front = s.localID(file), file, file, p.Front
					if rounds > 1 {
						record.ID += fmt.Sprintf(" %d", rounds)
					}
					files[file] = record
				}
				order = append(order, record)
			}
			record.Created = earliest(record.Created, created)
			record.Updated = latest(record.Updated, updated)
			record.Parts = append(record.Parts, l.part(s.time(p.Created), updated))
			size += len(v.raw)
			if size > maxGathered && !flush() {
				return
			}
		}
		flush()
	}
}

// read decodes and validates a line.
func (l *inputLine) read(v value) error {
	problem := func(format string, args ...any) error {
		return &Problem{At: v.at, Reason: fmt.Sprintf(format, args...), Text: bytes.Clone(v.raw)}
	}
	if err := decodeStrictly(v.raw, l); err != nil {
		return problem("%v", err)
	}
	p := &l.Payload
	p.ID, p.Content = cmp.Or(p.ID, p.OtherID), cmp.Or(p.Content, p.Summary)
	l.localID = p.ID
	switch l.RecordType {
	case MemoryItem:
	case UserProfile, ProjectMemory:
		if len(p.EvidenceIDs) == 0 {
			return problem("evidence_ids is missing: a summary names its evidence")
		}
		p.Evidence = p.EvidenceIDs
		l.localID = cmp.Or(p.ID, l.RecordType+" "+cmp.Or(p.Project, p.Name))
		if l.RecordType == ProjectMemory && cmp.Or(p.Title, p.Project, p.Name) == "" {
			return problem("project is missing")
		}
	case "":
		return problem("record_type is missing")
	default:
		return problem("record_type: %q is not one of %s, %s, %s", l.RecordType, MemoryItem, UserProfile,
			ProjectMemory)
	}
	switch {
	case l.localID == "":
		return problem("id is missing")
	case len(bytes.TrimSpace([]byte(p.Content))) == 0:
		return problem("content is missing")
	case p.Importance < 0 || p.Importance > 1:
		return problem("importance: %v is not between 0 and 1", p.Importance)
	case p.Confidence != nil && (*p.Confidence < 0 || *p.Confidence > 1):
		return problem("confidence: %v is not between 0 and 1", *p.Confidence)
	case p.Type != "" && !slices.Contains(memory.EntryTypes, p.Type):
		return problem("type: %q is not a type of entry", p.Type)
	}
	return nil
}

// part returns an entry with its attributes.
func (l *inputLine) part(created, updated time.Time) api.ImportPart {
	p := &l.Payload
	part := api.ImportPart{Section: p.Section, Levels: p.Levels, Text: p.Content, Tags: p.Tags, Evidence: p.Evidence,
		Attributes: map[string]string{}}
	id := p.ID
	if p.Path != "" {
		id = strings.TrimPrefix(id, p.Path+"#")
	}
	if !strings.HasPrefix(id, "~") { // else it follows from the text
		part.Attributes["id"] = id
	}
	maps.Copy(part.Attributes, p.Attributes)
	maps.Copy(part.Attributes, map[string]string{"type": p.Type, "source": p.Source, "written_by": p.WrittenBy,
		"visibility": cmp.Or(p.Visibility, memory.PrivateOnly.String())})
	if p.Importance > 0 {
		part.Attributes["importance"] = strconv.FormatFloat(p.Importance, 'g', -1, 64)
	}
	if p.Confidence != nil {
		part.Attributes["confidence"] = strconv.FormatFloat(*p.Confidence, 'g', -1, 64)
	}
	for key, at := range map[string]time.Time{"created": created, "updated": updated} {
		if !at.IsZero() {
			part.Attributes[key] = at.Format(time.RFC3339Nano)
		}
	}
	maps.DeleteFunc(part.Attributes, func(_, value string) bool { return value == "" })
	return part
}
