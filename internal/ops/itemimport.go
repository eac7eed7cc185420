package ops

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

type itemLine struct {
	Subject    *string         `json:"subject"`
	Namespace  string          `json:"namespace"`
	Key        string          `json:"key"`
	Value      json.RawMessage `json:"value"`
	Visibility string          `json:"visibility"`
	Confidence *float64        `json:"confidence"`
	Source     *string         `json:"source"`
	CreatedAt  itemTime        `json:"created_at"`
	UpdatedAt  itemTime        `json:"updated_at"`

	number int // of the line, from 1
	item   api.Item
}

// maxYear is the last year of times in RFC 3339. Imported times are earlier,
// because each later change of an item has a later time.
const maxYear = 9999

// An itemTime is a time in seconds since 1970 or in the format of RFC 3339.
type itemTime struct{ time.Time }

// UnmarshalJSON sets the time. Null has no effect.
func (t *itemTime) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var seconds int64
	var text string
	var err error
	if json.Unmarshal(data, &seconds) == nil {
		t.Time = time.Unix(seconds, 0).UTC()
	} else if err = json.Unmarshal(data, &text); err == nil {
		t.Time, err = time.Parse(time.RFC3339, text)
		t.Time = t.UTC()
	}
	switch year := t.Year(); {
	case err == nil && year >= 1 && year < maxYear:
		return nil
	case err == nil:
		return errors.New("a time is not in the years 1 to 9998")
	}
	return errors.New("a time is neither seconds since 1970 nor a text such as 2026-02-04T12:30:00Z")
}

// itemImport stores the items of JSON lines. The items of a file are one change,
// and all changes can be undone together. A stored item is replaced only by a
// newer one, so a repeated import changes nothing.
func (m adminOps) itemImport(ctx context.Context, c Call, r *api.ItemImportRequest) (*api.ItemImportAnswer, error) {
	answer := &api.ItemImportAnswer{Invalid: []api.LineProblem{}, DryRun: r.DryRun}
	if m.Writer == nil {
		return nil, errNoWriter
	}
	type target struct{ subject, namespace, visibility string }
	files := map[target][]*itemLine{}
	var order []target
	reject := func(number int, err error) {
		answer.Invalid = append(answer.Invalid, api.LineProblem{Line: number, Reason: asError(err).Error()})
	}
	number := 0
	for text := range strings.Lines(r.Lines) {
		number++
		if strings.TrimSpace(text) == "" {
			continue
		}
		line, err := m.parseItemLine(c, text)
		if err != nil {
			reject(number, err)
			continue
		}
		line.number = number
		at := target{line.item.Subject, line.item.Namespace, line.item.Visibility}
		if files[at] == nil {
			order = append(order, at)
		}
		same := slices.IndexFunc(files[at], func(l *itemLine) bool { return l.item.Key == line.item.Key })
		switch {
		case same < 0:
		case line.item.Updated.Before(files[at][same].item.Updated):
			answer.Older++
			continue
		default: // of two equally new lines the later one counts
			answer.Older++
			files[at] = slices.Delete(files[at], same, same+1)
		}
		files[at] = append(files[at], line)
	}
	group := ""
	for _, at := range order {
		id, err := m.importFile(ctx, c, at.subject, at.namespace, at.visibility, group, files[at], answer)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		group = cmp.Or(group, id)
		if err != nil {
			for _, line := range files[at] {
				reject(line.number, err)
			}
		}
	}
	slices.SortStableFunc(answer.Invalid, func(a, b api.LineProblem) int { return cmp.Compare(a.Line, b.Line) })
	return answer, nil
}

// parseItemLine parses and checks a line. Its subject is the caller's unless the
// line names one.
func (m adminOps) parseItemLine(c Call, text string) (*itemLine, error) {
	line := &itemLine{Subject: &c.Scope.Subject}
	if err := api.DecodeJSON([]byte(text), line); err != nil {
		return nil, err
	}
	put := api.ItemPutRequest{Namespace: line.Namespace, Key: strings.TrimSpace(line.Key),
		Visibility: api.VisibilityName(line.Visibility), Confidence: line.Confidence}
	if err := api.RequestOf(put).Check(); err != nil {
		return nil, err
	}
	line.item = api.Item{Namespace: put.Namespace, Key: put.Key, Confidence: put.Confidence,
		Visibility: orPrivate(put.Visibility), Source: "import", Created: line.CreatedAt.Time,
		Updated: line.UpdatedAt.Time}
	item := &line.item
	if line.Source != nil {
		item.Source = cmp.Or(oneLine(*line.Source), item.Source)
	}
	if line.Subject != nil {
		item.Subject = *line.Subject
	}
	if err := memory.ValidSubject(item.Subject); err != nil {
		return nil, api.Errorf(api.Invalid, "subject: %v", err)
	}
	switch raw := bytes.TrimSpace(line.Value); {
	case len(raw) == 0, string(raw) == "null":
		return nil, api.Errorf(api.Invalid, "value is missing")
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &item.Value); err != nil {
			return nil, api.Errorf(api.Invalid, "value: %v", err)
		}
	default: // other JSON is stored as its text
		item.Value = string(raw)
	}
	return line, m.checkItem(item, item.Source)
}

// importFile stores items of one subject and namespace, counts them in the
// answer, and returns the id of the change.
func (m adminOps) importFile(ctx context.Context, c Call, subject, namespace, visibility, group string,
	lines []*itemLine, answer *api.ItemImportAnswer) (id string, err error) {
	c.Scope = memory.Scope{Subject: subject, Context: memory.Private}
	if err := m.renewView(&c); err != nil {
		return "", err
	}
	if _, err := m.subjectDir(ctx, &c); err != nil {
		return "", err
	}
	path, initial := itemPath(subject, namespace), memory.NewItems(subject)
	other := memory.BesideFile(path, memory.PublicFile)
	if visibility == memory.PublicOK.String() {
		path, other, initial = other, path, memory.WithVisibility(initial, visibility)
	}
	var elsewhere []string // keys in the file for other readers
	if doc, err := m.Files.Load(other); err == nil {
		for i := range doc.Entries {
			if key, _, ok := doc.Entries[i].Item(); ok {
				elsewhere = append(elsewhere, key)
			}
		}
	}
	var got api.ItemImportAnswer // of the last call of change
	_, written, err := m.editFile(ctx, c, fileEdit{
		writeTarget: writeTarget{path: path, initial: initial, audience: visibility},
		cause:       "import", group: group, dryRun: answer.DryRun,
		change: func(doc *memory.Document, r *memory.Revision) error {
			got = api.ItemImportAnswer{}
			taken := takenIDs(doc)
			for _, line := range lines {
				item := line.item
				if slices.Contains(elsewhere, item.Key) {
					got.Invalid = append(got.Invalid, api.LineProblem{Line: line.number,
						Reason: "the item is in " + other + ", with other readers; set its visibility first"})
					continue
				}
				held := itemsNamed(doc, item.Key)
				if len(held) > 0 {
					stored := itemOf(m.Location, c, doc, &doc.Entries[held[0]])
					switch {
					case isSameItem(stored, &item):
						got.Unchanged++
						continue
					case !item.Updated.IsZero() && !item.Updated.After(doc.Entries[held[0]].Time):
						got.Older++
						continue
					}
					item.ID, item.Created = stored.ID, cmp.Or(item.Created, stored.Created)
				}
				now := m.Now().UTC().Truncate(time.Second)
				item.Updated = cmp.Or(item.Updated, now)
				item.Created = cmp.Or(item.Created, item.Updated)
				if item.ID == "" || strings.HasPrefix(item.ID, "~") { // derived ids change with the text
					item.ID = memory.NewID(taken, namespace, item.Key, item.Value, now.Format(time.RFC3339))
					taken[item.ID] = true
				}
				if err := insertItem(m.Layout, doc, r, held, &item); err != nil {
					got.Invalid = append(got.Invalid, api.LineProblem{Line: line.number, Reason: asError(err).Error()})
					continue
				}
				got.Imported++
				for i, at := range held {
					_, value, _ := doc.Entries[at].Item()
					_, first, _ := doc.Entries[held[0]].Item()
					if i > 0 && value != first && value != item.Value {
						got.Removed++
					}
				}
			}
			return nil
		},
	})
	if err != nil {
		return "", err
	}
	answer.Add(&got)
	return written.ID, nil
}

// isSameItem reports whether an item to import is stored already.
func isSameItem(stored, item *api.Item) bool {
	return stored.Value == item.Value && stored.Visibility == item.Visibility && stored.Source == item.Source &&
		(stored.Confidence == nil) == (item.Confidence == nil) &&
		(item.Confidence == nil || *stored.Confidence == *item.Confidence) &&
		(item.Created.IsZero() || stored.Created.Equal(item.Created)) &&
		(item.Updated.IsZero() || stored.Updated.Equal(item.Updated))
}
