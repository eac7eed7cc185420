// Package transcript reads what was said between a person and an agent, and finds
// in it what is worth keeping.
//
// It is pure, and goes by rules alone: what it finds are stretches of single
// lines, as they were said. Conversations are full of what looks like speech and
// is not (code, output of tools, what programs put into prompts, and memory that
// was injected), so everything first goes through [Prose].
package transcript

import (
	"bytes"
	"encoding/json"
)

// A Turn is what one of the two said at once.
type Turn struct {
	Assistant bool // the agent, not the person
	Text      string
}

// A record is a line of a transcript of Claude Code, as far as it matters here.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Sidechain bool   `json:"isSidechain"`      // said to or by another agent
	Meta      bool   `json:"isMeta"`           // put there by a program
	Summary   bool   `json:"isCompactSummary"` // of what was compressed
	Failure   bool   `json:"isApiErrorMessage"`
	Message   struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // a text, or parts
	} `json:"message"`
}

// A part is one of those that a message is made of.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Read returns the turns of a transcript in JSON, one record a line, or of its
// end: those since the conversation was last compressed, which what came before
// did not outlive. Records of any other shape, lines that are cut off, and what
// comes along with the output of a tool are passed over.
func Read(text []byte) (turns []Turn) {
	for line := range bytes.Lines(text) {
		has := func(word string) bool { return bytes.Contains(line, []byte(`"`+word+`"`)) }
		if !has("user") && !has("assistant") && !has("compact_boundary") || has("tool_result") {
			continue // most of a transcript is the output of tools, and what programs note for themselves
		}
		var r record
		if !decode(line, &r) || r.Sidechain {
			continue
		}
		switch {
		case r.Subtype == "compact_boundary":
			turns = nil
		case r.Meta, r.Summary, r.Failure:
		case r.Type != r.Message.Role, r.Type != "user" && r.Type != "assistant":
		default:
			if said := r.text(); said != "" {
				turns = append(turns, Turn{r.Type == "assistant", said})
			}
		}
	}
	return turns
}

// text is what a record says.
func (r *record) text() string {
	var said string
	if decode(r.Message.Content, &said) && said != "" {
		return said
	}
	var parts []part
	decode(r.Message.Content, &parts)
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			said += p.Text + "\n\n"
		}
	}
	return said
}

// decode reads JSON, and leaves out what is of another type than expected.
func decode(text []byte, v any) bool {
	err := json.Unmarshal(text, v)
	_, mistyped := err.(*json.UnmarshalTypeError)
	return err == nil || mistyped
}
