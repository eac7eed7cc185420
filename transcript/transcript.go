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
	"encoding/json"
)

// A Message is one message of the person or the agent.
type Message struct {
	Assistant bool // the agent, not the person
	Text      string
}

// A record is a line of a Claude Code transcript, with the fields used here.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Sidechain bool   `json:"isSidechain"`      // part of a conversation with another agent
	Meta      bool   `json:"isMeta"`           // inserted by a program
	Summary   bool   `json:"isCompactSummary"` // summary of compressed turns
	Failure   bool   `json:"isApiErrorMessage"`
	Message   struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // a text, or parts
	} `json:"message"`
}

// A contentBlock is one part of a message.
type contentBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Read returns the turns of a transcript in JSON, one record a line, or of the
// end of a transcript. Only the turns since the last compression of the
// conversation are returned, because earlier ones did not survive the
// compression. Read skips records of any other form, truncated lines, and text
// that accompanies the output of a tool.
func Read(text []byte) (turns []Message) {
	for line := range bytes.Lines(text) {
		has := func(word string) bool { return bytes.Contains(line, []byte(`"`+word+`"`)) }
		if !has("user") && !has("assistant") && !has("compact_boundary") || has("tool_result") || has("toolUseResult") {
			continue // most of a transcript is output of tools and internal notes of programs
		}
		var r record
		if !decodeJSON(line, &r) || r.Sidechain {
			continue
		}
		switch {
		case r.Subtype == "compact_boundary":
			turns = nil
		case r.Meta, r.Summary, r.Failure:
		case r.Type != r.Message.Role, r.Type != "user" && r.Type != "assistant":
		default:
			if trimmed := r.messageText(); trimmed != "" {
				turns = append(turns, Message{r.Type == "assistant", trimmed})
			}
		}
	}
	return turns
}

// messageText returns the text of a record.
func (r *record) messageText() string {
	var trimmed string
	if decodeJSON(r.Message.Content, &trimmed) && trimmed != "" {
		return trimmed
	}
	var parts []contentBlock
	decodeJSON(r.Message.Content, &parts)
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			trimmed += p.Text + "\n\n"
		}
	}
	return trimmed
}

// decodeJSON decodes JSON and skips values of unexpected types. It reports whether
// the JSON is valid.
func decodeJSON(text []byte, v any) bool {
	err := json.Unmarshal(text, v)
	_, mistyped := err.(*json.UnmarshalTypeError)
	return err == nil || mistyped
}
