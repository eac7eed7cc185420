package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	if e.IsSummary() {
		out.Summary = "profile"
		if strings.HasSuffix(doc.Place.Path, "/project.md") {
			out.Summary, out.Project = "project", e.Title
		}
	}
	return out
}

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
}

// readJSONL returns the lines with the same path, one after the other, as one
// record, so that the entries of a file stay together. If other lines separate
// them, the further records have ids of their own. A line without a path is a
// record of its own.
func readJSONL(_ string, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		var record *api.ImportRecord // of the last path
		path, size := "", 0
		runs := map[string]int{} // number of records by path
		flush := func() bool {
			done := record
			record, size = nil, 0
			return done == nil || yield(done, nil)
		}
		for v, err := range lines(r) {
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
			if p.Path == "" || record == nil || path != p.Path {
				if !flush() {
					return
				}
				path = p.Path
				record = &api.ImportRecord{ID: cmp.Or(path, p.ID), Tags: slices.Clone(p.Tags),
					Title: cmp.Or(path, p.Title, p.Project, titleOf(p.Content))}
				if runs[path]++; path != "" && runs[path] > 1 {
					record.ID += fmt.Sprintf(" %d", runs[path])
					record.Title += fmt.Sprintf(" (%d)", runs[path])
				}
			}
			updated := latest(p.Updated.Time, p.UpdatedAt.Time, p.Timestamp.Time)
			record.Created = earliest(record.Created, updated, p.Created.Time)
			record.Updated = latest(record.Updated, updated)
			record.Tags = slices.DeleteFunc(record.Tags,
				func(t string) bool { return !slices.Contains(p.Tags, t) })
			record.Parts = append(record.Parts, l.part(updated))
			size += len(p.Content)
			if size > maxRecord && !flush() {
				return
			}
		}
		flush()
	}
}

// read decodes and validates a line.
func (l *inputLine) read(v value) error {
	problem := func(format string, args ...any) error {
		return &Problem{Line: v.line, Reason: fmt.Sprintf(format, args...), Text: bytes.Clone(v.raw)}
	}
	dec := json.NewDecoder(bytes.NewReader(v.raw))
	if err := dec.Decode(l); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			_, field, _ := strings.Cut(e.Field, ".")
			return problem("%s: got %s, want %s", cmp.Or(strings.TrimPrefix(field, "Payload.ExportEntry."), "line"), e.Value,
				e.Type.Kind())
		}
		return problem("invalid JSON: %v", err)
	}
	p := &l.Payload
	p.ID, p.Content = cmp.Or(p.ID, p.OtherID), cmp.Or(p.Content, p.Summary)
	switch l.RecordType {
	case MemoryItem:
	case UserProfile, ProjectMemory:
		if len(p.EvidenceIDs) == 0 {
			return problem("evidence_ids is missing: a summary names its evidence")
		}
		p.Evidence = p.EvidenceIDs
		p.ID = cmp.Or(p.ID, l.RecordType+" "+cmp.Or(p.Project, p.Name))
	case "":
		return problem("record_type is missing")
	default:
		return problem("record_type: %q is not one of %s, %s, %s", l.RecordType, MemoryItem, UserProfile,
			ProjectMemory)
	}
	switch {
	case p.ID == "":
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
func (l *inputLine) part(updated time.Time) api.ImportPart {
	p := &l.Payload
	part := api.ImportPart{Section: p.Section, Text: p.Content, Evidence: p.Evidence, Attributes: map[string]string{
		"type": p.Type, "source": p.Source, "written_by": p.WrittenBy}}
	maps.DeleteFunc(part.Attributes, func(_, value string) bool { return value == "" })
	if p.Importance > 0 {
		part.Attributes["importance"] = strconv.FormatFloat(p.Importance, 'g', -1, 64)
	}
	if p.Confidence != nil {
		part.Attributes["confidence"] = strconv.FormatFloat(*p.Confidence, 'g', -1, 64)
	}
	if !updated.IsZero() {
		part.Attributes["updated"] = updated.Format(time.RFC3339)
	}
	return part
}
