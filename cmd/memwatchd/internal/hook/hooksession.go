package hook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxStatements = 10        // statements saved by one hook
	maxProse      = 256 << 10 // bytes of messages searched for statements, in a third of the time limit
	maxTodos      = 50        // to-dos saved by one hook
	maxSubject    = 160       // characters of the first prompt in the summary of a session
	maxHead       = 256 << 10 // bytes of a transcript that contain the first prompt
	lateLimits    = 5         // time in which an agent writes the end of a transcript, in TimeLimits
)

// saveConversation saves the essence of a conversation before it is compacted
// or ends: its important sentences, and the file of the session. A repeated event
// changes nothing.
func saveConversation(ctx context.Context, h *hook) error {
	if !h.config.Hooks.Capture {
		return errors.New("hooks.capture is false")
	}
	head, tail, err := awaitTranscript(h.agent, h.input.Transcript)
	if err != nil {
		return err
	}
	requests := h.essence(transcript.Read(head), transcript.Read(tail))
	if len(requests) == 0 {
		return errors.New("no statements to save")
	}
	return h.save(ctx, requests)
}

// awaitTranscript reads the beginning and the end of a transcript, which some agents write
// shortly after they start the hook. It waits at most lateLimits; a later hook of the session
// reads what was missing.
func awaitTranscript(a agents.Agent, path string) (head, tail []byte, err error) {
	for deadline := time.Now().Add(lateLimits * TimeLimit); ; time.Sleep(TimeLimit / 10) {
		head, tail, err = readTranscript(path, maxHead, maxTranscript)
		if a.HasEnd(tail) || time.Now().After(deadline) {
			return head, tail, err
		}
	}
}

// essence returns the important sentences of a conversation and the draft of its
// session, from the beginning and the end of the conversation, unless nothing was decided
// and the agent has no list. The daemon skips entries that memory contains. Sentences of older
// messages are omitted: in a resumed session they would be saved again.
func (h *hook) essence(head, conversation transcript.Conversation) (requests []spooled) {
	var bullets []string
	var decisions []api.DraftItem
	from := config.Now().AddDate(0, 0, -h.config.Memory.ShortTermDays)
	messages := slices.DeleteFunc(slices.Clone(lastMessages(conversation.Messages, maxProse)),
		func(m transcript.Message) bool { return !m.Time.IsZero() && m.Time.Before(from) })
	for _, s := range transcript.Statements(messages, maxStatements) {
		if secrets.MatchingRule(s.Text) != "" {
			continue
		}
		line := memory.CleanLine(s.Text)
		bullets = append(bullets, line)
		if s.Kind == transcript.Decision && !h.config.Hooks.Review { // else it waits with the others
			decisions = append(decisions, api.DraftItem{Text: line})
		}
	}
	for some := range slices.Chunk(bullets, bulletsPerRequest) {
		requests = append(requests, spooled{CaptureRequest: api.CaptureRequest{Bullets: some}})
	}
	draft := h.sessionDraft(subjectOf(head), conversation, decisions)
	if h.input.Session != "" && len(draft.Draft.Facts)+len(draft.Draft.Tasks) > 0 {
		requests = append(requests, spooled{Draft: draft})
	}
	return requests
}

// lastMessages returns the last messages that have at most most bytes.
func lastMessages(messages []transcript.Message, most int) []transcript.Message {
	at := len(messages)
	for at > 0 && len(messages[at-1].Text) <= most {
		at--
		most -= len(messages[at].Text)
	}
	return messages[at:]
}

// sessionDraft returns the draft that merges a conversation into the file of its
// session. The file keeps its summary if it has one.
func (h *hook) sessionDraft(summary string, conversation transcript.Conversation,
	decisions []api.DraftItem) *api.SessionRequest {
	draft := api.Draft{
		DefaultSummary: summary, Visibility: memory.PrivateOnly.String(), Source: h.agentName, Facts: decisions,
	}
	for _, t := range conversation.Todos[:min(len(conversation.Todos), maxTodos)] {
		if secrets.MatchingRule(t.Text) == "" {
			draft.Tasks = append(draft.Tasks, api.DraftTask{Text: memory.CleanLine(t.Text), Done: t.Done})
		}
	}
	// A later hook may send the draft on another day.
	return &api.SessionRequest{Session: h.input.Session, Project: h.project(), Day: h.today(), Draft: draft}
}

// subjectOf returns the beginning of the first prompt of a conversation, or "" if it has none or
// if it contains a credential, whose beginning would not be recognized.
func subjectOf(head transcript.Conversation) string {
	if secrets.MatchingRule(head.Subject(maxProse)) != "" {
		return ""
	}
	return memory.CleanLine(head.Subject(maxSubject))
}

// today returns the present day of the memory, in the agent's time zone if the
// configuration names none.
func (h *hook) today() string { return config.Now().In(h.config.Location).Format(time.DateOnly) }
