package importer

import (
	"cmp"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// isConversations reports whether a file contains conversations: large exports
// have several, such as conversations-000.json.
func isConversations(name string) bool {
	return strings.HasPrefix(name, "conversations") && path.Ext(name) == ".json"
}

// A chatGPTConversation is a tree of messages, with a branch for each edit of a
// message.
type chatGPTConversation struct {
	ID             string                 `json:"id"`
	ConversationID string                 `json:"conversation_id"`
	Title          string                 `json:"title"`
	CreateTime     moment                 `json:"create_time"`
	UpdateTime     moment                 `json:"update_time"`
	CurrentNode    string                 `json:"current_node"`
	Mapping        map[string]chatGPTNode `json:"mapping"`
}

type chatGPTNode struct {
	Parent  string          `json:"parent"`
	Message *chatGPTMessage `json:"message"`
}

type chatGPTMessage struct {
	Author struct {
		Role string `json:"role"`
	} `json:"author"`
	CreateTime moment `json:"create_time"`
	Recipient  string `json:"recipient"` // all, or a tool
	Content    struct {
		Type     string            `json:"content_type"`
		Parts    []json.RawMessage `json:"parts"`
		Text     string            `json:"text"`
		Language string            `json:"language"`
	} `json:"content"`
	Metadata struct {
		Hidden bool `json:"is_visually_hidden_from_conversation"`
	} `json:"metadata"`
}

func readChatGPT(s Source, r io.Reader) Records {
	return readEach(elements(r), func(v value, c *chatGPTConversation) ([]*api.ImportRecord, error) {
		if _, ok := c.Mapping[c.CurrentNode]; !ok && (len(c.Mapping) > 0 || c.Mapping == nil) {
			return nil, &Problem{v.at, "mapping or current_node is missing"}
		}
		return []*api.ImportRecord{s.chatGPT(c)}, nil
	})
}

// chatGPT returns the conversation that the person sees.
func (s *Source) chatGPT(c *chatGPTConversation) *api.ImportRecord {
	r := &api.ImportRecord{Title: c.Title}
	var first, last time.Time
	for _, m := range chatGPTBranch(c) {
		author := map[string]string{"user": "person", "assistant": "agent"}[m.Author.Role]
		if author == "" || m.Metadata.Hidden || m.Recipient != "" && m.Recipient != "all" {
			continue
		}
		at := s.time(m.CreateTime)
		r.Parts, first, last = appendPart(r.Parts, author, m.text()), earliest(first, at), latest(last, at)
	}
	r.Created = cmp.Or(s.time(c.CreateTime), first)
	r.Updated = latest(s.time(c.UpdateTime), last)
	r.ID = cmp.Or(c.ConversationID, c.ID, s.localID(r.Title+" "+r.Created.Format(time.RFC3339)))
	return r
}

// chatGPTBranch returns the messages from the root to the current one.
func chatGPTBranch(c *chatGPTConversation) (list []*chatGPTMessage) {
	at := c.CurrentNode
	for range len(c.Mapping) { // parents may form a circle
		if m := c.Mapping[at].Message; m != nil {
			list = append(list, m)
		}
		at = c.Mapping[at].Parent
	}
	slices.Reverse(list)
	return list
}

// text returns the text of a message: Markdown, or code. Thoughts, the output of tools and
// settings have none.
func (m *chatGPTMessage) text() string {
	switch m.Content.Type {
	case "code":
		return "```" + strings.TrimPrefix(m.Content.Language, "unknown") + "\n" + strings.TrimSpace(m.Content.Text) + "\n```"
	case "text", "multimodal_text", "":
	default:
		return ""
	}
	text := ""
	for _, raw := range m.Content.Parts {
		var part struct {
			Type string `json:"content_type"`
			Text string `json:"text"` // of speech
		}
		json.Unmarshal(raw, &part) // any other form has no text
		json.Unmarshal(raw, &part.Text)
		if part.Type == "image_asset_pointer" {
			part.Text = "[image]"
		}
		text += strings.TrimSpace(part.Text) + "\n\n"
	}
	return text
}
