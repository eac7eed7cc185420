package importer

import (
	"cmp"
	"io"
	"path"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// A claudeElement is a conversation, or a project with documents.
type claudeElement struct {
	UUID      string `json:"uuid"`
	Name      string `json:"name"`
	CreatedAt moment `json:"created_at"`
	UpdatedAt moment `json:"updated_at"`

	Messages []struct {
		Sender  string `json:"sender"`
		Text    string `json:"text"`
		Content []struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			Name  string `json:"name"` // of a tool
			Input struct {
				Title   string `json:"title"`
				Content string `json:"content"`
			} `json:"input"`
		} `json:"content"`
		CreatedAt   moment `json:"created_at"`
		Attachments []struct {
			Name string `json:"file_name"`
			Text string `json:"extracted_content"`
		} `json:"attachments"`
	} `json:"chat_messages"`

	Description string `json:"description"`
	Template    string `json:"prompt_template"`
	Docs        []struct {
		UUID      string `json:"uuid"`
		Name      string `json:"filename"`
		Content   string `json:"content"`
		CreatedAt moment `json:"created_at"`
	} `json:"docs"`
}

// isClaude reports whether a file contains conversations or projects.
func isClaude(name string) bool { return isConversations(name) || name == "projects.json" }

func readClaude(s Source, r io.Reader) Records {
	return readEach(elements(r), func(v value, e *claudeElement) ([]*api.ImportRecord, error) {
		switch {
		case e.UUID == "":
			return nil, &Problem{v.at, "uuid is missing"}
		case len(e.Messages) > 0:
			return []*api.ImportRecord{s.claudeConversation(e)}, nil
		}
		return s.claudeProject(e), nil
	})
}

// claudeConversation converts a conversation. Attachments are parts of their own, because
// anyone may have written them.
func (s *Source) claudeConversation(e *claudeElement) *api.ImportRecord {
	r := &api.ImportRecord{ID: e.UUID, Title: e.Name, Created: s.time(e.CreatedAt), Updated: s.time(e.UpdatedAt)}
	for _, m := range e.Messages {
		author, text := "agent", ""
		if m.Sender == "human" {
			author = "person"
		}
		for _, c := range m.Content {
			switch {
			case c.Type == "text":
				text += strings.TrimSpace(c.Text) + "\n\n"
			case c.Name == "artifacts":
				text += strings.TrimSpace(c.Input.Title+"\n\n"+c.Input.Content) + "\n\n"
			}
		}
		r.Parts = appendPart(r.Parts, author, cmp.Or(strings.TrimSpace(text), m.Text))
		for _, a := range m.Attachments { // documents that anyone may have written
			r.Parts = appendPart(r.Parts, "attachment", a.Name+"\n\n"+a.Text)
		}
		at := s.time(m.CreatedAt)
		r.Created, r.Updated = earliest(r.Created, at), latest(r.Updated, at)
	}
	return r
}

// claudeProject returns the instructions of a project and its documents, which anyone
// may have written.
func (s *Source) claudeProject(e *claudeElement) []*api.ImportRecord {
	list := []*api.ImportRecord{{ID: e.UUID, Title: e.Name, Created: s.time(e.CreatedAt), Updated: s.time(e.UpdatedAt),
		Parts: appendPart(nil, "", strings.TrimSpace(e.Description)+"\n\n"+e.Template)}}
	for _, d := range e.Docs {
		name := path.Base(strings.ReplaceAll(d.Name, `\`, "/"))
		list = append(list, &api.ImportRecord{ID: e.UUID + "/" + cmp.Or(d.UUID, d.Name),
			Title: strings.TrimSuffix(name, ".md"), Created: s.time(d.CreatedAt), Updated: s.time(d.CreatedAt),
			Parts: appendPart(nil, "attachment", d.Content)})
	}
	return list
}
