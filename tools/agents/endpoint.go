package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A step is one answer of the endpoint: the call of a tool, or text.
type step struct {
	tool string // end of its name
	args map[string]any
	text string
}

// A rule is the answers to a prompt that contains a text, in their order.
type rule struct {
	when  string
	steps []step
}

// An endpoint answers the requests of agents by rules, in the protocols of Anthropic, OpenAI
// (chat and responses) and Gemini, and records the requests.
type endpoint struct {
	rules []rule

	mu       sync.Mutex
	requests []string // bodies
}

// take returns the requests since the last call.
func (e *endpoint) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.requests
	e.requests = nil
	return taken
}

// A protocol reads requests and writes answers.
type protocol struct {
	path   *regexp.Regexp
	read   func(body map[string]any) ([]turn, []tool)
	answer func(a answer) any // without a stream
	stream func(a answer) []event
}

// A turn is a message of a request, in any protocol.
type turn struct {
	user  bool
	text  string
	calls int // of tools, by the model
}

type tool struct{ name, namespace string }

type answer struct {
	tool tool
	args map[string]any
	text string
	id   string
}

type event struct {
	name string
	data any
}

var protocols = []protocol{
	{regexp.MustCompile(`/messages$`), readAnthropic, anthropicMessage, anthropicEvents},
	{regexp.MustCompile(`/chat/completions$`), readChat, chatCompletion, chatEvents},
	{regexp.MustCompile(`/responses$`), readResponses, openAIResponse, openAIEvents},
	{regexp.MustCompile(`:(?:stream)?[gG]enerateContent$`), readGemini, geminiContent, geminiEvents},
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(data, &body) // an unknown request gets an empty answer
	w.Header().Set("Content-Type", "application/json")
	i := slices.IndexFunc(protocols, func(p protocol) bool { return p.path.MatchString(r.URL.Path) })
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, object{"object": "list", "data": []any{object{"id": "fake", "object": "model"}}})
		return
	case i < 0:
		writeJSON(w, object{"input_tokens": 1, "totalTokens": 1})
		return
	}
	e.mu.Lock()
	e.requests = append(e.requests, string(data))
	n := len(e.requests)
	e.mu.Unlock()
	p := protocols[i]
	turns, tools := p.read(body)
	a := e.choose(turns, tools, string(data))
	a.id = cmp.Or(a.id, fmt.Sprintf("call_%d", n))
	if body["stream"] != true && !strings.Contains(r.URL.Path, ":stream") {
		writeJSON(w, p.answer(a))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range p.stream(a) {
		if ev.name != "" {
			fmt.Fprintf(w, "event: %s\n", ev.name)
		}
		text, ok := ev.data.(string)
		if !ok {
			encoded, _ := json.Marshal(ev.data)
			text = string(encoded)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

type object = map[string]any

func writeJSON(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) } // the agent may be gone

// added matches memory in a prompt, which can quote earlier prompts.
var added = regexp.MustCompile(`(?s)<!-- \w+:generated -->.*?<!-- /\w+:generated -->|\[Memory:.*?(?:\n\n|$)|` +
	`<hook_context>.*?</hook_context>`)

// loaders are tools by which an agent loads others. A step does not count them.
var loaders = []string{"ToolSearch", "tool_search"}

// choose returns the next step for the newest prompt with a rule.
func (e *endpoint) choose(turns []turn, tools []tool, raw string) answer {
	at, steps := -1, []step(nil)
	for i, t := range turns {
		text := added.ReplaceAllString(t.text, "")
		for _, r := range e.rules {
			if t.user && strings.Contains(text, r.when) {
				at, steps = i, r.steps
			}
		}
	}
	done := 0
	for _, t := range turns[at+1:] {
		done += t.calls
	}
	switch {
	case at < 0:
		return answer{text: "Understood."}
	case done >= len(steps):
		return answer{text: "Done."}
	case steps[done].tool == "":
		return answer{text: steps[done].text}
	}
	s := steps[done]
	for _, t := range tools {
		if strings.HasSuffix(t.name, s.tool) {
			return answer{tool: t, args: s.args}
		}
	}
	name := regexp.MustCompile(`mcp__\w+?__` + s.tool + `\b`).FindString(raw)
	load := "call_load_" + s.tool
	for _, t := range tools {
		if slices.Contains(loaders, t.name) && name != "" && !strings.Contains(raw, load) {
			return answer{tool: t, args: object{"query": "select:" + name, "max_results": 5}, id: load}
		}
	}
	if name == "" {
		return answer{text: "There is no tool " + s.tool + "."}
	}
	return answer{tool: tool{name: name}, args: s.args}
}

// list returns a value as a list of objects.
func list(v any) (objects []object) {
	values, _ := v.([]any)
	for _, v := range values {
		if o, ok := v.(object); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

func text(v any) string { s, _ := v.(string); return s }

// textOf returns the text of a content, a text or a list of parts with text.
func textOf(content any) string {
	all := text(content)
	for _, part := range list(content) {
		all += text(part["text"]) + "\n"
	}
	return all
}

func isCall(name any) int {
	if slices.Contains(loaders, text(name)) {
		return 0
	}
	return 1
}

func readAnthropic(body map[string]any) (turns []turn, tools []tool) {
	for _, m := range list(body["messages"]) {
		t := turn{user: m["role"] == "user", text: textOf(m["content"])}
		for _, part := range list(m["content"]) {
			switch part["type"] {
			case "tool_use":
				t.calls += isCall(part["name"])
			case "tool_result":
				t.user = false
			}
		}
		turns = append(turns, t)
	}
	for _, o := range list(body["tools"]) {
		tools = append(tools, tool{name: text(o["name"])})
	}
	return turns, tools
}

func anthropicBlocks(a answer) (blocks []any, reason string) {
	if a.tool.name != "" {
		return []any{object{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool.name, "input": a.args}}, "tool_use"
	}
	return []any{object{"type": "text", "text": a.text}}, "end_turn"
}

func anthropicMessage(a answer) any {
	blocks, reason := anthropicBlocks(a)
	return object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": "fake", "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 1200, "output_tokens": 20}}
}

func anthropicEvents(a answer) []event {
	blocks, reason := anthropicBlocks(a)
	message := anthropicMessage(a).(object)
	message["content"], message["stop_reason"] = []any{}, nil
	block := blocks[0].(object)
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.tool.name != "" {
		args, _ := json.Marshal(a.args)
		start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(args)}
	}
	return []event{
		{"message_start", object{"type": "message_start", "message": message}},
		{"content_block_start", object{"type": "content_block_start", "index": 0, "content_block": start}},
		{"content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta}},
		{"content_block_stop", object{"type": "content_block_stop", "index": 0}},
		{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
			"usage": object{"output_tokens": 20}}},
		{"message_stop", object{"type": "message_stop"}},
	}
}

func readChat(body map[string]any) (turns []turn, tools []tool) {
	for _, m := range list(body["messages"]) {
		t := turn{user: m["role"] == "user", text: textOf(m["content"])}
		for _, call := range list(m["tool_calls"]) {
			function, _ := call["function"].(object)
			t.calls += isCall(function["name"])
		}
		turns = append(turns, t)
	}
	for _, o := range list(body["tools"]) {
		function, _ := o["function"].(object)
		tools = append(tools, tool{name: text(function["name"])})
	}
	return turns, tools
}

func chatMessage(a answer) (message object, reason string) {
	if a.tool.name == "" {
		return object{"role": "assistant", "content": a.text}, "stop"
	}
	args, _ := json.Marshal(a.args)
	return object{"role": "assistant", "content": "", "tool_calls": []any{object{"index": 0, "id": a.id,
		"type": "function", "function": object{"name": a.tool.name, "arguments": string(args)}}}}, "tool_calls"
}

var chatUsage = object{"prompt_tokens": 1200, "completion_tokens": 20, "total_tokens": 1220}

func chatCompletion(a answer) any {
	message, reason := chatMessage(a)
	return object{"id": a.id, "object": "chat.completion", "created": 1, "model": "fake", "usage": chatUsage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}}}
}

func chatEvents(a answer) []event {
	message, reason := chatMessage(a)
	chunk := func(choices []any, usage any) event {
		return event{data: object{"id": a.id, "object": "chat.completion.chunk", "created": 1, "model": "fake",
			"choices": choices, "usage": usage}}
	}
	return []event{
		chunk([]any{object{"index": 0, "delta": message, "finish_reason": nil}}, nil),
		chunk([]any{object{"index": 0, "delta": object{}, "finish_reason": reason}}, nil),
		chunk([]any{}, chatUsage), {data: "[DONE]"},
	}
}

func readResponses(body map[string]any) (turns []turn, tools []tool) {
	turns = append(turns, turn{user: true, text: text(body["input"])})
	for _, m := range list(body["input"]) {
		switch m["type"] {
		case "message", nil:
			turns = append(turns, turn{user: m["role"] == "user", text: textOf(m["content"])})
		case "function_call":
			turns = append(turns, turn{calls: isCall(m["name"])})
		}
	}
	for _, o := range list(body["tools"]) {
		if o["type"] == "function" {
			tools = append(tools, tool{name: text(o["name"])})
		}
		for _, below := range list(o["tools"]) {
			tools = append(tools, tool{text(below["name"]), text(o["name"])})
		}
	}
	return turns, tools
}

func openAIItem(a answer) object {
	if a.tool.name == "" {
		return object{"type": "message", "id": "m" + a.id, "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": a.text, "annotations": []any{}}}}
	}
	args, _ := json.Marshal(a.args)
	item := object{"type": "function_call", "id": "f" + a.id, "call_id": a.id, "status": "completed",
		"name": a.tool.name, "arguments": string(args)}
	if a.tool.namespace != "" {
		item["namespace"] = a.tool.namespace
	}
	return item
}

func openAIResponse(a answer) any {
	return object{"id": "r" + a.id, "object": "response", "created_at": 1, "status": "completed", "model": "fake",
		"output": []any{openAIItem(a)}, "error": nil, "usage": object{"input_tokens": 1200, "output_tokens": 20,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": 1220}}
}

func openAIEvents(a answer) []event {
	done := openAIResponse(a).(object)
	created := object{"id": done["id"], "object": "response", "created_at": 1, "status": "in_progress", "model": "fake",
		"output": []any{}}
	item := openAIItem(a)
	events := []event{
		{"response.created", object{"type": "response.created", "response": created}},
		{"response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item}},
	}
	if a.tool.name == "" {
		events = append(events, event{"response.output_text.delta", object{"type": "response.output_text.delta",
			"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": a.text}})
	}
	return append(events,
		event{"response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item}},
		event{"response.completed", object{"type": "response.completed", "response": done}})
}

func readGemini(body map[string]any) (turns []turn, tools []tool) {
	for _, m := range list(body["contents"]) {
		t := turn{user: m["role"] == "user", text: textOf(m["parts"])}
		for _, part := range list(m["parts"]) {
			if call, ok := part["functionCall"].(object); ok {
				t.calls += isCall(call["name"])
			}
			if part["functionResponse"] != nil {
				t.user = false
			}
		}
		turns = append(turns, t)
	}
	for _, group := range list(body["tools"]) {
		for _, o := range list(group["functionDeclarations"]) {
			tools = append(tools, tool{name: text(o["name"])})
		}
	}
	return turns, tools
}

func geminiContent(a answer) any {
	part := object{"text": a.text}
	if a.tool.name != "" {
		part = object{"functionCall": object{"name": a.tool.name, "args": a.args}}
	}
	return object{"modelVersion": "fake", "responseId": "g" + a.id,
		"candidates": []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP",
			"index": 0}},
		"usageMetadata": object{"promptTokenCount": 1200, "candidatesTokenCount": 20, "totalTokenCount": 1220}}
}

func geminiEvents(a answer) []event { return []event{{data: geminiContent(a)}} }
