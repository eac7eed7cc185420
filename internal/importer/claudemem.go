package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// A claudeMemRow is a row of one of the tables of claude-mem. Versions differ in
// the names of sessions.
type claudeMemRow struct {
	ID             json.Number     `json:"id"`
	SDKSession     string          `json:"sdk_session_id"`
	MemorySession  string          `json:"memory_session_id"`
	ClaudeSession  string          `json:"claude_session_id"`
	ContentSession string          `json:"content_session_id"`
	Project        string          `json:"project"`
	Title          string          `json:"title"`
	Subtitle       string          `json:"subtitle"`
	Text           string          `json:"text"`
	Narrative      string          `json:"narrative"`
	Facts          json.RawMessage `json:"facts"` // a list, or the JSON of a list
	Request        string          `json:"request"`
	Investigated   string          `json:"investigated"`
	Learned        string          `json:"learned"`
	Completed      string          `json:"completed"`
	NextSteps      string          `json:"next_steps"`
	Notes          string          `json:"notes"`
	PromptNumber   json.Number     `json:"prompt_number"`
	PromptText     string          `json:"prompt_text"`
	CreatedAt      moment          `json:"created_at"`
	CreatedEpoch   moment          `json:"created_at_epoch"`
}

// readClaudeMem returns a record for each observation, summary and prompt. If
// different rows have an id in common, the id of each but the first ends with that
// of its row.
func readClaudeMem(s Source, r io.Reader) Records {
	rows := map[string]string{} // by the ids of records
	return readEach(elements(r), func(v value, row *claudeMemRow) ([]*api.ImportRecord, error) {
		at := cmp.Or(s.time(row.CreatedAt), s.time(row.CreatedEpoch))
		session := cmp.Or(row.MemorySession, row.SDKSession, row.ContentSession, row.ClaudeSession)
		record := &api.ImportRecord{Created: at, Updated: at}
		add := func(author, heading, text string) {
			if part := textPart(author, text); part.Text != "" {
				if heading != "" {
					part.Text = heading + ": " + part.Text
				}
				record.Parts = append(record.Parts, part)
			}
		}
		switch v.key {
		case "observations":
			record.ID = fmt.Sprintf("observation %s %s %d", session, row.Title, at.UnixMilli())
			record.Title = row.Title
			for _, text := range append([]string{row.Subtitle, row.Narrative, row.Text}, factsOf(row.Facts)...) {
				add("agent", "", text)
			}
		case "summaries":
			record.ID, record.Title = "summary "+session, titleOf(row.Request)
			for _, p := range [][2]string{{"Request", row.Request}, {"Investigated", row.Investigated},
				{"Learned", row.Learned}, {"Completed", row.Completed}, {"Next steps", row.NextSteps},
				{"Notes", row.Notes}} {
				add("agent", p[0], p[1])
			}
		case "prompts":
			record.ID = fmt.Sprintf("prompt %s %s", session, row.PromptNumber)
			record.Title = titleOf(row.PromptText)
			add("person", "", row.PromptText)
		default: // sessions have no text
			return nil, nil
		}
		number := cmp.Or(row.ID.String(), row.PromptNumber.String(), strconv.FormatInt(at.UnixMilli(), 10))
		first, ok := rows[record.ID]
		switch {
		case len(record.Parts) == 0: // the record is not imported
		case !ok:
			rows[record.ID] = number
		case first != number:
			record.ID += " " + number
		}
		if row.Project != "" {
			record.Tags = []string{"project:" + row.Project}
		}
		return []*api.ImportRecord{record}, nil
	})
}

// factsOf returns a list of texts, or the list that is encoded in a text.
func factsOf(raw json.RawMessage) (list []string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	json.Unmarshal(raw, &list) // other forms have no facts
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}
