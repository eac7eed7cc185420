package transcript

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A claudeRecord is a line of a transcript of Claude Code, with the fields used
// here.
type claudeRecord struct {
	Time      string `json:"timestamp"`
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Sidechain bool   `json:"isSidechain"`      // part of a conversation with another agent
	Meta      bool   `json:"isMeta"`           // inserted by a program
	Summary   bool   `json:"isCompactSummary"` // summary of compressed turns
	Failure   bool   `json:"isApiErrorMessage"`
	Message   struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	ToolResult json.RawMessage `json:"toolUseResult"`
	Attachment struct {
		Type   string          `json:"type"`
		Mode   string          `json:"commandMode"`
		Meta   bool            `json:"isMeta"`
		Prompt json.RawMessage `json:"prompt"`
		Origin struct {
			Kind string `json:"kind"` // human, or missing
		} `json:"origin"`
	} `json:"attachment"`
}

// isQueuedPrompt reports whether the record is a message that the person sent
// while the agent worked. Claude Code writes no other record of it.
func (r *claudeRecord) isQueuedPrompt() bool {
	a := &r.Attachment
	return r.Type == "attachment" && a.Type == "queued_command" && a.Mode == "prompt" && !a.Meta &&
		(a.Origin.Kind == "" || a.Origin.Kind == "human")
}

func (c *Conversation) readClaude(line []byte) {
	var r claudeRecord
	if !decodeJSON(line, &r) || r.Sidechain {
		return
	}
	switch {
	case r.Subtype == "compact_boundary":
		c.forget()
	case r.Meta, r.Summary, r.Failure:
	case r.isQueuedPrompt():
		text, _ := readContent(r.Attachment.Prompt)
		c.addMessage(Message{Text: text, Time: parseTime(r.Time)})
	case r.Type != r.Message.Role, r.Type != "user" && r.Type != "assistant":
	default:
		text, parts := readContent(r.Message.Content)
		isResult := func(p contentBlock) bool { return p.Type == "tool_result" }
		if r.ToolResult == nil && !slices.ContainsFunc(parts, isResult) {
			if arguments := commandRE().FindStringSubmatch(text); r.Type == "user" && arguments != nil {
				text = arguments[1]
			}
			c.addMessage(Message{Assistant: r.Type == "assistant", Text: text, Time: parseTime(r.Time)})
		}
		for _, p := range parts {
			switch p.Type {
			case "tool_use":
				c.readTodoTool(p)
			case "tool_result":
				c.readTaskID(p)
			}
		}
	}
}

// commandRE matches a message that begins with the tags of a slash command, and the
// words that the person typed after the command.
var commandRE = lazyregexp.New(`(?s)^\s*<command-(?:name|message)>.*?<command-args>\s*(.*\S)\s*</command-args>`)

// readTodoTool reads the use of a tool of Claude Code that changes the agent's
// list: older versions write the whole list, newer ones change single items.
func (c *Conversation) readTodoTool(p contentBlock) {
	var task struct {
		ID      string `json:"taskId"`
		Subject string `json:"subject"`
		Status  string `json:"status"`
	}
	switch p.Name {
	case "TodoWrite":
		c.setTodos(p.Input)
	case "TaskCreate":
		if decodeJSON(p.Input, &task) && strings.TrimSpace(task.Subject) != "" {
			if c.created == nil {
				c.created = map[string]string{}
			}
			c.created[p.ID] = strings.Join(strings.Fields(task.Subject), " ")
		}
	case "TaskUpdate":
		decodeJSON(p.Input, &task)
		at := slices.IndexFunc(c.Todos, func(t Todo) bool { return t.id != "" && t.id == task.ID })
		switch {
		case at < 0:
		case task.Status == "deleted":
			c.Todos = slices.Delete(c.Todos, at, at+1)
		case task.Status != "":
			c.Todos[at].Done = task.Status == "completed"
		}
	}
}

// taskIDRE matches the result of a tool that creates an item of the list.
var taskIDRE = lazyregexp.New(`^"?Task #(\d+) created`)

// readTaskID reads the id of an item that the agent has created. The text of the
// item is the agent's, not that of the result, which any tool can write.
func (c *Conversation) readTaskID(p contentBlock) {
	id := taskIDRE().FindSubmatch(p.Content)
	if text := c.created[p.UseID]; id != nil && text != "" {
		c.Todos = append(c.Todos, Todo{Text: text, id: string(id[1])})
		delete(c.created, p.UseID)
	}
}

// A codexRecord is a line of a transcript of Codex, with the fields used here.
// Messages are events and also items of the protocol with the model. The items
// count only in a transcript without events, because those of the person
// contain text of programs.
type codexRecord struct {
	Time    string `json:"timestamp"`
	Type    string `json:"type"`
	Payload struct {
		Type      string          `json:"type"`
		Message   string          `json:"message"`
		Role      string          `json:"role"`    // of an item
		Content   json.RawMessage `json:"content"` // of an item
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"` // JSON
		Turns     int             `json:"num_turns"` // to remove
	} `json:"payload"`
}

// programTextRE matches the beginning of an item that a program wrote for the model.
var programTextRE = lazyregexp.New(`^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|` +
	`permissions instructions|collaboration_mode|turn_aborted|user_action|skill)>)`)

// codexRequest precedes the person's words in a message from an editor, which
// contains its open files before.
const codexRequest = "## My request for Codex:"

func (c *Conversation) readCodex(line []byte) {
	var r codexRecord
	if !decodeJSON(line, &r) {
		return
	}
	at := parseTime(r.Time)
	switch p := r.Payload; {
	case r.Type == "compacted":
		c.forget()
	case r.Type == "event_msg" && p.Type == "user_message":
		if _, request, ok := strings.Cut(p.Message, codexRequest); ok {
			p.Message = request
		}
		c.addMessage(Message{Text: p.Message, Time: at})
	case r.Type == "event_msg" && p.Type == "agent_message":
		c.addMessage(Message{Assistant: true, Text: p.Message, Time: at})
	case r.Type == "event_msg" && p.Type == "thread_rolled_back":
		c.Messages, c.items = removeTurns(c.Messages, p.Turns), removeTurns(c.items, p.Turns)
	case r.Type == "response_item" && (p.Role == "user" || p.Role == "assistant"):
		text, _ := readContent(p.Content)
		if strings.TrimSpace(text) != "" && !programTextRE().MatchString(text) {
			c.items = append(c.items, Message{Assistant: p.Role == "assistant", Text: text, Time: at})
		}
	case p.Type == "function_call" && p.Name == "update_plan":
		c.setTodos([]byte(p.Arguments))
	}
}

// removeTurns removes the last n messages of the person and those after them.
func removeTurns(messages []Message, n int) []Message {
	at := len(messages)
	for i := len(messages) - 1; i >= 0 && n > 0; i-- {
		if !messages[i].Assistant {
			at = i
			n--
		}
	}
	return messages[:at]
}

// A geminiRecord is a line of a transcript of Gemini CLI, or a message in such a
// line, with the fields used here. A message with the id of an earlier one
// replaces it.
type geminiRecord struct {
	ID      string          `json:"id"`
	Time    string          `json:"timestamp"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"toolCalls"`

	Messages []geminiRecord `json:"messages"`
	Set      struct {
		Messages []geminiRecord `json:"messages"` // replace all earlier messages
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"` // id of the first message to remove
}

func (c *Conversation) readGemini(line []byte) {
	var r geminiRecord
	if !decodeJSON(line, &r) {
		return
	}
	if r.Set.Messages != nil {
		c.Messages = nil
	}
	if at := c.indexOf(r.RewindTo); at >= 0 {
		c.Messages = c.Messages[:at]
	}
	for _, m := range slices.Concat([]geminiRecord{r}, r.Messages, r.Set.Messages) {
		if m.Type != "user" && m.Type != "gemini" {
			continue
		}
		text, _ := readContent(m.Content)
		message := Message{Assistant: m.Type == "gemini", Text: text, Time: parseTime(m.Time), id: m.ID}
		if at := c.indexOf(m.ID); at >= 0 {
			c.Messages[at] = message
		} else {
			c.addMessage(message)
		}
		for _, call := range m.Calls {
			if call.Name == "write_todos" {
				c.setTodos(call.Args)
			}
		}
	}
}

// indexOf returns the index of the message with an id, or -1.
func (c *Conversation) indexOf(id string) int {
	at, ok := c.at[id]
	if !ok || at >= len(c.Messages) || c.Messages[at].id != id {
		return -1
	}
	return at
}

// A contentBlock is one part of a message.
type contentBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Thought bool            `json:"thought"`     // the text is for the agent itself
	ID      string          `json:"id"`          // of the use of a tool
	Name    string          `json:"name"`        // of a tool
	Input   json.RawMessage `json:"input"`       // of a tool
	UseID   string          `json:"tool_use_id"` // of a result
	Content json.RawMessage `json:"content"`     // of a result
}

// readContent returns the text of a message, which is a text or a list of parts,
// and the parts.
func readContent(content json.RawMessage) (text string, parts []contentBlock) {
	if decodeJSON(content, &text) && text != "" {
		return text, nil
	}
	decodeJSON(content, &parts)
	for _, p := range parts {
		isText := p.Type == "text" || p.Type == "" || p.Type == "input_text" || p.Type == "output_text"
		if isText && p.Text != "" && !p.Thought {
			text += p.Text + "\n\n"
		}
	}
	return text, parts
}
