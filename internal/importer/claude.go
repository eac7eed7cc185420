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
			Type string `json:"type"`
			Text string `json:"text"`
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
			return nil, &Problem{At: v.at, Reason: "uuid is missing"}
		case len(e.Messages) > 0:
			return []*api.ImportRecord{s.claudeConversation(e)}, nil
		}
		return s.claudeProject(e), nil
	})
}

func (s *Source) claudeConversation(e *claudeElement) *api.ImportRecord {
	r := &api.ImportRecord{ID: e.UUID, Title: e.Name, Created: s.time(e.CreatedAt), Updated: s.time(e.UpdatedAt)}
	for _, m := range e.Messages {
		author := "agent"
		if m.Sender == "human" {
			author = "person"
		}
		var texts []string
		for _, c := range m.Content {
			if c.Type == "text" && strings.TrimSpace(c.Text) != "" {
				texts = append(texts, strings.TrimSpace(c.Text))
			}
		}
		if part := textPart(author, cmp.Or(strings.Join(texts, "\n\n"), m.Text)); part.Text != "" {
			r.Parts = append(r.Parts, part)
		}
		for _, a := range m.Attachments {
			if part := textPart("agent", a.Text); part.Text != "" { // a document that anyone may have written
				part.Text = strings.TrimSpace(a.Name + "\n\n" + part.Text)
				r.Parts = append(r.Parts, part)
			}
		}
		at := s.time(m.CreatedAt)
		r.Created, r.Updated = earliest(r.Created, at), latest(r.Updated, at)
	}
	return r
}

// claudeProject returns the instructions of a project and its documents, which anyone
// may have written.
func (s *Source) claudeProject(e *claudeElement) (list []*api.ImportRecord) {
	record := func(id, title, author, text string, created, updated moment) {
		if part := textPart(author, text); part.Text != "" {
			list = append(list, &api.ImportRecord{ID: id, Title: title, Created: s.time(created),
				Updated: s.time(updated),
				Parts:   []api.ImportPart{part}})
		}
	}
	record(e.UUID, e.Name, "", strings.TrimSpace(e.Description)+"\n\n"+e.Template, e.CreatedAt, e.UpdatedAt)
	for _, d := range e.Docs {
		name := path.Base(strings.ReplaceAll(d.Name, `\`, "/"))
		record(e.UUID+"/"+cmp.Or(d.UUID, d.Name), strings.TrimSuffix(name, ".md"), "agent", d.Content, d.CreatedAt,
			d.CreatedAt)
	}
	return list
}
