package ipc

import (
	"context"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// NoteRequest asks to append a note to the log of a day.
type NoteRequest struct {
	Text       string   `json:"text" arg:"rest" stdin:"true" need:"true" doc:"the note: one concise paragraph with a decision, a fact or a preference"`
	Topic      string   `json:"topic" doc:"what it is about, in a few words, for its heading"`
	Time       string   `json:"time" doc:"when it was, such as 10:30 AM, 22:30 or 2026-02-04T10:30:00Z; now if not given"`
	Day        string   `json:"day" doc:"its day, YYYY-MM-DD; today if not given"`
	Tags       []string `json:"tags" complete:"tag" doc:"tags, with or without #"`
	Type       string   `json:"type" enum:"fact,preference,project,decision,crumb,request,result" doc:"what it is: fact, preference, project, decision, crumb, request or result; crumb if not given"`
	Importance float64  `json:"importance" min:"0" max:"1" doc:"from 0 to 1; 0.8 and more keep it from being tidied away, which is for private contexts"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"private_only, or public_ok if it may be shown to others"`
	Source     string   `json:"source" doc:"where it comes from, such as a message's id"`
	Evidence   []string `json:"evidence" complete:"path" doc:"what it is based on: paths, path#id or URLs"`
	Scope
}

// NoteAnswer says where a note is. Without a path it is where the caller, in
// this context, may not read it.
type NoteAnswer struct {
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

// protects is the importance from which on an entry is never tidied away.
const protects = 0.8

// note appends a note to the log of a day.
func (m *Memory) note(ctx context.Context, c Call, r *NoteRequest) (*NoteAnswer, error) {
	if m.Disabled {
		return &NoteAnswer{Disabled: true}, nil
	}
	if err := m.mayAdd(c); err != nil {
		return nil, err
	}
	if r.Importance >= protects && !c.View.Private() {
		return nil, Errorf(Forbidden, "importance: %v would keep the note from being tidied away, which is for private contexts", r.Importance).
			hint("give less than %v", protects)
	}
	at, err := m.logTime(r.Time, r.Day)
	if err != nil {
		return nil, err
	}
	block, err := m.noteBlock(c, r)
	if err != nil {
		return nil, err
	}
	done, err := m.log(ctx, c, logging{cause: "note", at: at, topic: r.Topic, blocks: []logBlock{block}})
	if err != nil {
		return nil, err
	}
	return &NoteAnswer{Path: done.path, Line: done.lines[0]}, nil
}

// noteBlock is a note as it is written.
func (m *Memory) noteBlock(c Call, r *NoteRequest) (b logBlock, err error) {
	if b.text, err = m.logText("text", r.Text); err != nil {
		return b, err
	}
	if err := m.outside("topic", r.Topic); err != nil {
		return b, err
	}
	if utf8.RuneCountInString(memory.HeadingText(r.Topic)) > maxTopic {
		return b, Errorf(TooLarge, "topic has more than %d characters", maxTopic).hint("a few words are enough: the rest belongs into the text")
	}
	if err := m.logSource("source", r.Source); err != nil {
		return b, err
	}
	if err := m.logEvidence(r.Evidence); err != nil {
		return b, err
	}
	if b.text, err = m.withTags(b.text, r.Tags); err != nil {
		return b, err
	}
	b.evidence = r.Evidence
	b.attributes = map[string]string{
		"type": r.Type, "importance": attribute(r.Importance), "visibility": visible(r.Visibility), "source": origin(c, r.Source),
	}
	return b, nil
}
