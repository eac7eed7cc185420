// Package llm asks a language model what memory cannot know by rules: which
// items of two texts are about the same thing, and what many lines come to.
//
// The model is a service that speaks the OpenAI protocol. It proposes, and
// decides nothing: whoever asks has to check the answer, and can do without it.
// So one question is one short conversation with one server, bounded in time and
// size, of which nothing is kept; and no error of it repeats what was sent.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// What a conversation may take, unless the client says otherwise.
const (
	DefaultTimeout = 20 * time.Second
	maxQuestion    = 96 << 10 // bytes of text, which is as much as smaller models can read at once
	maxAnswer      = 1 << 20  // bytes of an answer with all that is around it
)

// A Client asks one model. Its fields must not change while it is in use; its
// methods are safe for concurrent use.
type Client struct {
	Endpoint string                 // the address below which /chat/completions is
	Model    string                 // the name that the service has for it
	Key      func() (string, error) // reads the key of the service, each time; nil if it needs none
	Timeout  time.Duration          // of a question, its second try included; DefaultTimeout if zero

	// Redact takes credentials out of a text. Every text that is sent goes
	// through it; without it nothing is sent.
	Redact func(string) string

	formless atomic.Bool // the service does not know the schema of an answer
	tally    tally
}

// errForm: there was an answer, and it is not of the form that was asked for.
var errForm = errors.New("the model's answer is not what it was asked for")

// ask puts a question and decodes the answer, an object of the schema that is
// given, which check says no to if it is of no use. The question is a value of
// JSON, which is data to the model.
func (c *Client) ask(ctx context.Context, task string, question, schema, answer any, check func() error) (err error) {
	defer func() { c.count(err) }()
	if err := c.converse(ctx, task, question, schema, answer); err != nil {
		return err
	}
	return check()
}

// converse asks once; twice if that is for want of a schema.
func (c *Client) converse(ctx context.Context, task string, question, schema, answer any) error {
	if c.Redact == nil {
		return errors.New("the model is not asked: nothing takes credentials out of what is sent")
	}
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if len(text) > maxQuestion {
		return fmt.Errorf("the model is not asked: there is too much text for it (%d bytes, at most %d)", len(text), maxQuestion)
	}
	key := ""
	if c.Key != nil {
		if key, err = c.Key(); err != nil {
			return fmt.Errorf("the model is not asked: its key cannot be read: %w", err)
		}
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	config := openai.DefaultConfig(key)
	config.BaseURL, config.HTTPClient = c.Endpoint, door{}
	client := openai.NewClientWithConfig(config)
	request := openai.ChatCompletionRequest{Model: c.Model, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: task},
		{Role: openai.ChatMessageRoleUser, Content: string(text)},
	}}
	form, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	if !c.formless.Load() {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: json.RawMessage(form), Strict: true},
		}
	}
	response, err := client.CreateChatCompletion(ctx, request)
	if status, ok := errors.AsType[statusError](err); ok && request.ResponseFormat != nil &&
		(status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) {
		// Not every service knows schemas. The task says in words what they
		// say, so one that does not is asked without, once and from then on.
		request.ResponseFormat = nil
		if response, err = client.CreateChatCompletion(ctx, request); err == nil {
			c.formless.Store(true)
		}
	}
	if err != nil {
		return c.told(err, limit)
	}
	if len(response.Choices) == 0 || response.Choices[0].Message.Content == "" {
		return errors.New("the model's answer is empty")
	}
	if json.Unmarshal(inner(response.Choices[0].Message.Content), answer) != nil {
		return errForm
	}
	return nil
}

// inner is the object of JSON in an answer: models that were not held to a schema
// think aloud before it, or put it into a fence.
func inner(answer string) []byte {
	if _, after, ok := strings.Cut(answer, "</think>"); ok {
		answer = after
	}
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return nil
	}
	return []byte(answer[from : to+1])
}

// object is the schema of an object that has exactly these properties.
func object(properties map[string]any) any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": properties, "required": slices.Sorted(maps.Keys(properties)),
	}
}

// redact takes credentials out of a text. Without a way to do that, nothing is
// sent in the end.
func (c *Client) redact(text *string) {
	if c.Redact != nil {
		*text = c.Redact(*text)
	}
}

// told is an error as it may be told and logged: a sentence without addresses,
// and without anything that the service says, which may be what it was sent.
func (c *Client) told(err error, limit time.Duration) error {
	status, isStatus := errors.AsType[statusError](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	refusal, isRefusal := errors.AsType[refusal](err)
	_, isNet := errors.AsType[*net.OpError](err)
	_, isURL := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the model gave no answer within %s", limit)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case isStatus:
		return status
	case isTooLarge:
		return fmt.Errorf("the model's answer is larger than %d bytes", tooLarge.Limit)
	case isRefusal:
		return refusal
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the model's answer ends in the middle")
	case isNet, isURL:
		why := "the connection failed"
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			why = cause.Error()
		} else if dns, ok := errors.AsType[*net.DNSError](err); ok {
			why = dns.Err
		}
		return fmt.Errorf("the model cannot be reached: %s", why)
	}
	return errForm
}

// A statusError is the status of an answer that is none.
type statusError int

func (s statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the model's service answers %d %s", int(s), http.StatusText(int(s))))
}

// A refusal says what is wrong with an answer that was not read.
type refusal string

func (r refusal) Error() string { return string(r) }

// transport is how a service is reached: directly, whatever proxies the
// environment names, and over a connection that ends with the answer.
var transport = &http.Transport{
	DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout:    10 * time.Second,
	MaxResponseHeaderBytes: 64 << 10,
	DisableKeepAlives:      true,
}

// A door is the way to the service and back. What is sent goes to the address
// that was configured and to no other, and what comes back is read only if it is
// an answer, as far as one may go.
type door struct{}

// Do implements [openai.HTTPDoer].
func (door) Do(request *http.Request) (*http.Response, error) {
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return refusal("the model's service sends to another address, which is not followed: configure that one")
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	err = nil
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); response.StatusCode != http.StatusOK {
		err = statusError(response.StatusCode)
	} else if kind != "application/json" {
		err = refusal("the model's service answers with something other than JSON: is the endpoint right?")
	}
	if err != nil {
		response.Body.Close()
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	return response, nil
}
