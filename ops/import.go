package ops

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
	"github.com/memwatchd/memwatchd/vault"
)

// Speakers in imported conversations. Text of an agent is untrusted.
var speakers = map[string]string{"person": "Person", "agent": "Agent"}

// untitled are the programs whose records have titles that only repeat their text
// or path.
var untitled = []string{"jsonl", "mem0"}

// importedAttributes are the attributes that an imported entry may have. Others,
// such as visibility and id, depend on the memory that the entry comes from.
var importedAttributes = []string{"type", "importance", "confidence", "source", "written_by", "created", "updated"}

// States of imported records in answers.
const (
	importCreated   = "created"
	importRewritten = "rewritten"
	importUnchanged = "unchanged"
	importEdited    = "edited"
	importOlder     = "older"
	importFailed    = "failed"
)

// importStates are the states of records by those of their files.
var importStates = map[memory.ImportState]string{
	memory.ImportSame: importUnchanged, memory.ImportOlder: importRewritten, memory.ImportEdited: importEdited,
}

// importRecords writes records of another program to private files of the owner.
// A repeated import changes nothing, and a file that was edited since its import
// stays.
func (m writeOps) importRecords(ctx context.Context, c Call, r *api.ImportRequest) (*api.ImportAnswer, error) {
	answer := &api.ImportAnswer{Records: []api.ImportedRecord{}, DryRun: r.DryRun, Disabled: m.Disabled}
	if m.Disabled {
		return answer, nil
	}
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
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool {
		return paths[importSuffix(f.Path)] != nil && f.Readable(c.View)
	}) {
		list := paths[importSuffix(f.Path)]
		*list = append(*list, f.Path)
	}
	for i := range answer.Records {
		result := &answer.Records[i]
		switch record := records[i]; {
		case result.State != "":
		case r.Since != "" && record.Changed().Before(since):
			result.State = importOlder
		case r.Max > 0 && i-answer.Older-answer.Failed >= r.Max:
			answer.Records = answer.Records[:i]
			return answer, nil
		default:
			err := m.importRecord(ctx, c, record, *paths[record.Suffix()], result, r.DryRun)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				result.State, result.Reason = importFailed, asError(err).Error()
			}
		}
		switch result.State {
		case importCreated:
			answer.Created++
		case importRewritten:
			answer.Rewritten++
		case importUnchanged:
			answer.Unchanged++
		case importEdited:
			answer.Edited++
		case importOlder:
			answer.Older++
		default:
			answer.Failed++
		}
	}
	return answer, nil
}

// importSuffix returns the part of a path that can be the suffix of a record.
func importSuffix(file string) string {
	name := path.Base(file)
	return name[strings.LastIndexByte(name, '-')+1:]
}

// decodeRecords returns the records of a request, with an element in the answer
// for each, and a list for the paths of each suffix.
func (m writeOps) decodeRecords(r *api.ImportRequest, answer *api.ImportAnswer) (records []*memory.Imported,
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
func (m writeOps) decodeRecord(source, line string) (record *memory.Imported, credentials []string, err error) {
	var in api.ImportRecord
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, nil, api.Errorf(api.Invalid, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if strings.TrimSpace(in.ID) == "" {
		return nil, nil, api.Errorf(api.Invalid, "id is missing")
	}
	for _, t := range []struct {
		name string
		year int
	}{{"created", in.Created.UTC().Year()}, {"updated", in.Updated.UTC().Year()}} {
		if t.year < 1 || t.year > maxYear {
			return nil, nil, api.Errorf(api.Invalid, "%s: a time is not in the years 1 to %d", t.name, maxYear)
		}
	}
	mask := func(text string) string {
		text, rules := secrets.Remove(strings.ToValidUTF8(text, string(utf8.RuneError)))
		credentials = append(credentials, rules...)
		return text
	}
	record = &memory.Imported{Program: source, ID: in.ID, Title: mask(cutLine(in.Title, maxTopic)),
		Untitled: slices.Contains(untitled, source), Created: in.Created, Updated: in.Updated}
	for _, tag := range in.Tags[:min(len(in.Tags), api.MaxValues)] {
		record.Tags = append(record.Tags, mask(tag))
	}
	for i, p := range in.Parts {
		part := memory.ImportedPart{Text: mask(p.Text), Attributes: map[string]string{}}
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
			part.Section = append(part.Section, mask(cutLine(s, maxTopic)))
		}
		for _, e := range p.Evidence {
			part.Evidence = append(part.Evidence, mask(memory.CleanLine(e)))
		}
		for _, key := range importedAttributes {
			if value := memory.CleanLine(p.Attributes[key]); value != "" {
				part.Attributes[key] = mask(value)
			}
		}
		record.Parts = append(record.Parts, part)
	}
	slices.Sort(credentials)
	return record, slices.Compact(credentials), nil
}

// importRecord writes a record to its file: the one at a given path that contains
// an earlier version, or a new one.
func (m writeOps) importRecord(ctx context.Context, c Call, record *memory.Imported, paths []string,
	result *api.ImportedRecord, dryRun bool) error {
	data := record.File(m.Layout)
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
	if result.State == importUnchanged || result.State == importEdited {
		return nil
	}
	if result.Path == "" {
		result.Path = record.Path(m.Location, true)
		if m.Writer.Vault.Skips(result.Path, false) != "" || m.secretIn(result.Path) != "" {
			result.Path = record.Path(m.Location, false)
		}
	}
	if reason := m.Writer.Vault.Skips(result.Path, false); reason != "" {
		return api.Errorf(api.Unavailable, "%s is excluded from memory: %s", result.Path, reason)
	}
	next := m.Parse(vault.File{Path: result.Path, Data: data, ModTime: m.Now()})
	switch {
	case !ownPlace(c, next.Place) || next.For(c.View) == nil:
		return notFound("file", result.Path)
	case next.Unsound || next.Own.Visibility != memory.PrivateOnly:
		return api.Errorf(api.Invalid, "the record cannot be written as a private file")
	}
	var failed error
	_, err := m.Writer.Write(ctx, vault.Change{
		Path: result.Path, Cause: "import", Requested: true,
		Edit: func(old *vault.File) ([]byte, error) {
			result.State, failed = importCreated, nil
			if old != nil {
				state := record.StateIn(m.Layout, old.Data, data)
				if state == memory.ImportOther {
					failed = api.Errorf(api.Conflict, "%s already exists and is not a file of this record", result.Path)
					return nil, failed
				}
				result.State = importStates[state]
			}
			if dryRun || result.State != importCreated && result.State != importRewritten {
				return nil, nil
			}
			return data, nil
		},
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return writeError(err, errors.Is(err, context.Canceled) || next.PrivateReadable(c.View))
	}
	return nil
}
