package ops

import (
	"context"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// protects is the importance from which on an entry is never tidied away.
const protects = 0.8

// note appends a note to the log of a day.
func (m writing) note(ctx context.Context, c Call, r *api.NoteRequest) (*api.NoteAnswer, error) {
	if m.Disabled {
		return &api.NoteAnswer{Disabled: true}, nil
	}
	if err := m.mayAdd(c); err != nil {
		return nil, err
	}
	if r.Importance >= protects && !c.View.Private() {
		return nil, api.Errorf(api.Forbidden, "importance: %v would keep the note from being tidied away, which is for private contexts", r.Importance).
			WithHint("give less than %v", protects)
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
	return &api.NoteAnswer{Path: done.path, Line: done.lines[0]}, nil
}

// noteBlock is a note as it is written.
func (m writing) noteBlock(c Call, r *api.NoteRequest) (b logBlock, err error) {
	if b.text, err = m.logText("text", r.Text); err != nil {
		return b, err
	}
	if err := m.outside("topic", r.Topic); err != nil {
		return b, err
	}
	if utf8.RuneCountInString(memory.HeadingText(r.Topic)) > maxTopic {
		return b, api.Errorf(api.TooLarge, "topic has more than %d characters", maxTopic).WithHint("a few words are enough: the rest belongs into the text")
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
