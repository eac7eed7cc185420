package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxKeptSource = 4 << 20   // bytes read from the end of a transcript to keep the conversation
	maxKept       = 900 << 10 // bytes of a kept conversation; the daemon accepts 1 MiB in a request
)

// A keptConversation names a conversation to keep as Markdown.
type keptConversation struct {
	Agent      string `json:"agent"`
	Session    string `json:"session"`
	Project    string `json:"project,omitempty"`
	Day        string `json:"day"`
	Transcript string `json:"transcript"`
}

// keepConversation writes the conversation as Markdown. The transcript of an agent
// can lack what earlier events have kept, so its new messages follow those in the
// file.
func (h *hook) keepConversation(ctx context.Context, k *keptConversation) error {
	_, text, err := readTranscript(k.Transcript, 0, maxKeptSource)
	if err != nil {
		return notKept(err)
	}
	conversation := transcript.Read(text)
	if len(conversation.Messages) == 0 {
		return notKept(errors.New("it is empty"))
	}
	path := memory.TranscriptPath(k.Agent, k.Day, k.Session)
	r := api.WriteRequest{Path: path}
	old, err := client.Call(ctx, h.client, api.GetRequest{Path: path})
	switch e, _ := errors.AsType[*api.Error](err); {
	case err == nil:
		r.Hash = old.Hash
		r.Text = appendMessages(old.Text, conversation.Messages)
		if r.Text == old.Text {
			return nil
		}
	case e != nil && e.Code == api.NotFound:
		r.Text = appendMessages(k.head(), conversation.Messages)
	default:
		return err
	}
	if len(r.Text) > maxKept {
		return notKept(fmt.Errorf("it has more than %d bytes", maxKept))
	}
	_, err = client.Call(ctx, h.client, r)
	return err
}

// notKept returns an error that sending again cannot mend.
func notKept(reason error) error {
	return api.Errorf(api.Invalid, "the conversation was not kept: %v", reason)
}

// head returns the beginning of a new file.
func (k *keptConversation) head() string {
	front := "---\nvisibility: private_only\nsource: " + k.Agent + "\n"
	if k.Project != "" {
		front += "tags: project:" + k.Project + "\n"
	}
	return front + "---\n\n# " + k.Day + " Conversation\n"
}

// appendMessages appends messages to a kept conversation, without those at the
// beginning with which it ends already. It removes nothing: an agent shortens its
// transcript, and people edit the file.
func appendMessages(kept string, messages []transcript.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(messageText(m))
	}
	text := b.String()
	if strings.Contains(kept, text) {
		return kept
	}
	for at := range kept {
		if strings.HasPrefix(kept[at:], messageStart) && strings.HasPrefix(text, kept[at:]) {
			return kept[:at] + text
		}
	}
	return kept + text
}

// messageStart is the beginning of each message in a kept conversation.
const messageStart = "\n## "

// messageText returns a message as a section of Markdown that has no effect on
// the rest of the file: without comments, private tags and credentials, with
// deeper headings, and with closed code.
func messageText(m transcript.Message) string {
	var b strings.Builder
	fence := ""
	content, _ := secrets.Remove(strings.TrimSpace(m.Text))
	for line := range strings.Lines(content) {
		text := memory.CleanLine(line)
		if text == "" {
			b.WriteByte('\n')
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if mark := memory.FenceOf(text); mark != "" {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.Trim(text, fence[:1]) == "":
				fence = ""
			}
		} else if fence == "" && strings.HasPrefix(text, "#") {
			text = "##" + text
		}
		b.WriteString(indent + text + "\n")
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	if strings.TrimSpace(b.String()) == "" {
		return ""
	}
	name := "Person"
	if m.Assistant {
		name = "Agent"
	}
	return messageStart + name + "\n\n" + b.String()
}
