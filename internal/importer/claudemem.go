package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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

// readClaudeMem returns a record for each observation, summary and prompt. Sessions have no
// text.
func readClaudeMem(s Source, r io.Reader) Records {
	return readEach(elements(r), func(v value, row *claudeMemRow) ([]*api.ImportRecord, error) {
		at := cmp.Or(s.time(row.CreatedAt), s.time(row.CreatedEpoch))
		session := cmp.Or(row.MemorySession, row.SDKSession, row.ContentSession, row.ClaudeSession)
		record := &api.ImportRecord{Created: at, Updated: at,
			Title: titleOf(cmp.Or(row.Title, row.Request, row.PromptText)),
			ID:    fmt.Sprintf("%s %s %s %s %d", v.key, session, row.ID, row.PromptNumber, at.UnixMilli())}
		if row.Project != "" {
			record.Tags = []string{"project:" + row.Project}
		}
		for _, text := range append([]string{row.Subtitle, row.Narrative, row.Text}, factsOf(row.Facts)...) {
			record.Parts = appendPart(record.Parts, "agent", text)
		}
		for _, p := range [][2]string{{"Request", row.Request}, {"Investigated", row.Investigated},
			{"Learned", row.Learned}, {"Completed", row.Completed}, {"Next steps", row.NextSteps}, {"Notes", row.Notes}} {
			if strings.TrimSpace(p[1]) != "" {
				record.Parts = appendPart(record.Parts, "agent", p[0]+": "+strings.TrimSpace(p[1]))
			}
		}
		record.Parts = appendPart(record.Parts, "person", row.PromptText)
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
	return list
}
