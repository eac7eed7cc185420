package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// The types of records in JSON lines. Memory items are short-term memory; profiles and
// projects are long-term memory and name their evidence. Items are keyed values of subjects.
const (
	MemoryItem    = "MemoryItem"
	UserProfile   = "UserProfile"
	ProjectMemory = "ProjectMemory"
	keyedItem     = "Item"
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
	out.Attributes = maps.Clone(e.Attributes)
	maps.DeleteFunc(out.Attributes, func(key, _ string) bool { return slices.Contains(entryFields, key) })
	return out
}

// entryFields are the attributes that fields of an [api.ExportEntry] contain, and that of an
// import.
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

// An inputLine is a Line with the names of fields that other programs use, and with
// times in any form.
type inputLine struct {
	RecordType string `json:"record_type"`
	Payload    struct {
		Payload
		OtherID     string   `json:"id"`
		Text        string   `json:"summary"`
		Preferences []string `json:"preferences"`
		StableFacts []string `json:"stable_facts"`
		DoNotAssume []string `json:"do_not_assume"`
		ProjectID   string   `json:"project_id"`
		Updated     moment   `json:"updated"`
		UpdatedAt   moment   `json:"updated_at"`
		Timestamp   moment   `json:"timestamp"`
		Time        moment   `json:"ts"`
		Created     moment   `json:"created_at"`

		// Of a keyed item:
		Namespace string          `json:"namespace"`
		Key       string          `json:"key"`
		Value     json.RawMessage `json:"value"`
	} `json:"payload"`
}

// readJSONL returns a record for each line: an entry, with the path of its file unless it is
// a summary, or a keyed item. Lines without a path belong to the notes of their day, in a
// file of the source.
func readJSONL(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		for v, err := range objects(r) {
			var record *api.ImportRecord
			if err == nil {
				record, err = s.readLine(v)
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// readLine decodes and validates a line.
func (s *Source) readLine(v value) (*api.ImportRecord, error) {
	var l inputLine
	err := json.Unmarshal(v.raw, &l)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
		return nil, &Problem{v.at, fmt.Sprintf("%s: got %s, want %s", field, e.Value, e.Type.Kind())}
	}
	p, e := &l.Payload, &l.Payload.ExportEntry
	updated := latest(s.time(p.Updated), s.time(p.UpdatedAt), s.time(p.Timestamp), s.time(p.Time))
	record := &api.ImportRecord{Created: s.time(p.Created), Updated: updated}
	invalid := ""
	name := cmp.Or(e.Title, e.Project, p.ProjectID, p.Name, "owner")
	e.ID = cmp.Or(e.ID, p.OtherID)
	for i := range p.DoNotAssume {
		p.DoNotAssume[i] = "do not assume: " + p.DoNotAssume[i]
	}
	e.Content = cmp.Or(e.Content, p.Text, strings.Join(slices.Concat(p.Preferences, p.StableFacts, p.DoNotAssume), "; "))
	switch l.RecordType {
	case keyedItem:
		record.ID = strings.Join([]string{e.Subject, p.Namespace, p.Key}, "/")
		record.Item = &api.Item{Subject: e.Subject, Namespace: p.Namespace, Key: p.Key, Value: string(p.Value),
			Visibility: e.Visibility, Confidence: e.Confidence, Source: e.Source}
		json.Unmarshal(p.Value, &record.Item.Value) // other JSON is stored as its text
		if strings.TrimPrefix(string(p.Value), "null") == "" {
			return nil, &Problem{v.at, "value is missing"}
		}
		return record, nil
	case UserProfile, ProjectMemory:
		e.Evidence = p.EvidenceIDs
		e.Summary = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(l.RecordType, "User"), "Memory"))
		if len(e.Evidence) == 0 {
			invalid = "evidence_ids is missing: a summary names its evidence"
		}
		if e.Path == "" {
			e.ID, e.Section = e.Summary+"-"+name, []string{memory.SummarySection}
			e.Content = "- **" + memory.CleanLine(name) + "**: " + memory.CleanLine(e.Content)
		}
	case MemoryItem:
		day := updated.In(s.Location).Format(time.DateOnly)
		switch {
		case e.Path != "":
			e.Tags = nil // which are in the text or in the frontmatter
		case updated.IsZero():
			e.Path, e.Front = memory.ImportsDir+"/jsonl/"+s.Origin+".md", importFront
		default:
			e.Path, e.Front = "memory/"+day+"."+s.Origin+".md", importFront
		}
	default:
		invalid = fmt.Sprintf("record_type: %q is not one of %s, %s, %s, %s", l.RecordType, MemoryItem, UserProfile,
			ProjectMemory, keyedItem)
	}
	switch {
	case invalid != "":
	case e.ID == "":
		invalid = "id is missing"
	case strings.TrimSpace(e.Content) == "":
		invalid = "content is missing"
	case e.Importance < 0 || e.Importance > 1:
		invalid = fmt.Sprintf("importance: %v is not between 0 and 1", e.Importance)
	case e.Type != "" && !slices.Contains(memory.EntryTypes, e.Type):
		invalid = fmt.Sprintf("type: %q is not a type of entry", e.Type)
	}
	if invalid != "" {
		return nil, &Problem{v.at, invalid}
	}
	record.ID, record.Entry = cmp.Or(e.Path, e.Summary)+"#"+e.ID[strings.LastIndexByte(e.ID, '#')+1:], e
	return record, nil
}

// importFront is the frontmatter of a file of lines without a path.
const importFront = "---\nsource: " + memory.ImportSource + "jsonl\nsource_id: jsonl\n---\n"
