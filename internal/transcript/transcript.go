// Package transcript reads conversations between a person and an agent, and
// finds statements that are worth keeping.
//
// The package is pure and uses rules only. Its results are verbatim parts of
// single lines. Conversations contain much text that resembles speech but is
// not: code, output of tools, text that programs insert into prompts, and
// injected memory. All text therefore passes through [ProseLines] first.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Conversation is the content of a transcript.
type Conversation struct {
	Messages []Message
	Todos    []Todo // the agent's own list, in its latest state
	Whole    bool   // keep the messages before a compression of the conversation

	items   []Message         // those of a transcript of Codex in the protocol with the model
	created map[string]string // texts of items without id, by the id of the tool's use
	at      map[string]int    // indexes of messages by id; those of removed ones can remain
}

// A Message is one message of the person or the agent.
type Message struct {
	Assistant bool // the agent, not the person
	Text      string
	Time      time.Time // zero if the transcript has none

	id string // of messages that a later record can replace
}

// A Todo is an item of an agent's own list.
type Todo struct {
	Text string
	Done bool

	id string // of items that a later record can change
}

// Read returns the conversation in a transcript of Claude Code, Codex, Gemini CLI, Qwen Code or
// Copilot CLI, one record in JSON a line, or in a part of a transcript. Only the
// messages since the last compression of the conversation are returned, because
// earlier ones did not survive the compression. Read skips records of any other
// form, truncated lines, and text that accompanies the output of a tool.
func Read(text []byte) (c Conversation) {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		c.Add(line)
	}
	c.Finish()
	return c
}

// Finish completes the conversation after the last record.
func (c *Conversation) Finish() {
	if len(c.Messages) == 0 { // an old version of Codex, or a program without its events
		c.Messages = c.items
	}
	c.items = nil
}

// Add adds a record, one line of a transcript, to the conversation, and reports whether
// the record contains a message.
func (c *Conversation) Add(line []byte) bool {
	before := len(c.Messages) + len(c.items)
	c.readRecord(line)
	return len(c.Messages)+len(c.items) > before
}

// recordWords are strings in records. Every record with a part of a conversation
// contains one of them.
var recordWords = [][]byte{
	[]byte(`"user"`), []byte(`"assistant"`), []byte(`"compact_boundary"`), []byte(`"queued_command"`), // Claude Code
	[]byte(`"user_message"`), []byte(`"agent_message"`), []byte(`"compacted"`), []byte(`"update_plan"`), // Codex
	[]byte(`"input_text"`), []byte(`"output_text"`), []byte(`"thread_rolled_back"`),
	[]byte(`"gemini"`), []byte(`"$set"`), []byte(`"$rewindTo"`), []byte(`"projectHash"`), // Gemini CLI
	[]byte(`"chat_compression"`),                                                                     // Qwen Code
	[]byte(`"user.message"`), []byte(`"assistant.message"`), []byte(`"session.compaction_complete"`), // Copilot CLI
}

// readRecord reads a record in the format that its type suggests.
func (c *Conversation) readRecord(line []byte) {
	// Most of a transcript is output of tools and internal notes of programs.
	if !slices.ContainsFunc(recordWords, func(word []byte) bool { return bytes.Contains(line, word) }) {
		return
	}
	var r struct {
		Type       string          `json:"type"`
		Provenance string          `json:"provenance"`
		Message    json.RawMessage `json:"message"`
	}
	switch {
	case !decodeJSON(line, &r):
		return
	case r.Provenance != "":
		c.readQwen(line)
		return
	}
	switch r.Type {
	case "event_msg", "response_item", "compacted":
		c.readCodex(line)
	case "user.message", "assistant.message", "session.compaction_complete":
		c.readCopilot(line)
	case "assistant", "system", "attachment":
		c.readClaude(line)
	case "user":
		switch {
		case r.Message == nil:
			c.readGemini(line)
		case !bytes.Contains(line, []byte(`"type":"tool_result"`)) || bytes.Contains(line, []byte("Task #")):
			c.readClaude(line)
		}
	case "gemini", "":
		c.readGemini(line)
	}
}

// forget removes the messages before a compression.
func (c *Conversation) forget() {
	if !c.Whole {
		c.Messages, c.items = nil, nil
	}
}

func (c *Conversation) addMessage(m Message) {
	if strings.TrimSpace(m.Text) != "" {
		if m.id != "" {
			if c.at == nil {
				c.at = map[string]int{}
			}
			c.at[m.id] = len(c.Messages)
		}
		c.Messages = append(c.Messages, m)
	}
}

// setTodos replaces the list of the agent. Done items have the status
// completed, and deleted ones are omitted.
func (c *Conversation) setTodos(text []byte) {
	var list struct {
		Todos []todoInput `json:"todos"`
		Plan  []todoInput `json:"plan"` // Codex
	}
	if !decodeJSON(text, &list) {
		return
	}
	c.Todos = nil
	for _, t := range append(list.Todos, list.Plan...) {
		text := strings.Join(strings.Fields(t.Content+t.Step+t.Description), " ")
		if text != "" && t.Status != "cancelled" {
			c.Todos = append(c.Todos, Todo{Text: text, Done: t.Status == "completed"})
		}
	}
}

// A todoInput is an item of a list as an agent writes it.
type todoInput struct {
	Content     string `json:"content"`     // Claude Code
	Step        string `json:"step"`        // Codex
	Description string `json:"description"` // Gemini CLI
	Status      string `json:"status"`
}

// Subject returns the first line of the person's first message that states a
// request, in at most most characters, or "".
func (c *Conversation) Subject(most int) string {
	for _, m := range c.Messages {
		if m.Assistant || strings.HasPrefix(m.Text, "/") {
			continue
		}
		for _, line := range ProseLines(m.Text) {
			if utf8.RuneCountInString(line) <= most {
				return line
			}
			short := string([]rune(line)[:most-2])
			return strings.TrimSpace(cmp.Or(strings.TrimRightFunc(short, isWord), short)) + " …"
		}
	}
	return ""
}

// parseTime returns the time of a record, or zero.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// decodeJSON decodes JSON and skips values of unexpected types. It reports whether
// the JSON is valid.
func decodeJSON(text []byte, v any) bool {
	err := json.Unmarshal(text, v)
	_, mistyped := err.(*json.UnmarshalTypeError)
	return err == nil || mistyped
}
