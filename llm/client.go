// Package llm requests decisions from a language model that rules cannot make:
// which items of two texts have the same subject, and how to summarize many
// lines.
//
// The model is a service with the OpenAI protocol. It only makes proposals:
// callers must check its answers and must work without them. Each request is
// therefore one short conversation with one server, bounded in time and size,
// without stored state. Among the errors, only a [RefusedError] may repeat text
// of a request.
package llm

import (
	"cmp"
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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// The limits of a conversation. A Client can set another timeout.
const (
	DefaultTimeout = 20 * time.Second
	maxRequest     = 96 << 10 // bytes of text, as much as smaller models can read at once
	maxAnswer      = 1 << 20  // bytes of a whole response
)

// A Client sends requests to one model. Its fields must not change while it is
// in use; its methods are safe for concurrent use.
type Client struct {
	Endpoint string                 // URL prefix of /chat/completions
	Model    string                 // name of the model at the service
	Key      func() (string, error) // returns the API key, called for each request; nil if none is needed
	Timeout  time.Duration          // of a request including its retry; DefaultTimeout if zero

	// Redact removes credentials from a text. It is applied to every text that
	// is sent; without Redact nothing is sent.
	Redact func(string) string

	schemaUnsupported atomic.Bool // the service does not support schemas of answers

	mu     sync.Mutex
	status Status
}

// errInvalidAnswer reports an answer that does not have the required form.
var errInvalidAnswer = errors.New("model response does not match the requested format")

// requestAnswer sends a question and decodes the answer, which is an object of the given
// schema. The question is a JSON value, which the task declares to be data. If
// check rejects the answer, the result is the error of check.
func (c *Client) requestAnswer(ctx context.Context, task string, question, schema, answer any,
	check func() error) (err error) {
	defer func() { c.recordResult(err) }()
	if err := c.completeChat(ctx, task, question, schema, answer); err != nil {
		return err
	}
	return check()
}

// completeChat sends one request. If the service may lack support for schemas, it
// retries once without a schema.
func (c *Client) completeChat(ctx context.Context, task string, question, schema, answer any) error {
	if c.Redact == nil {
		return errors.New("model request not sent: no redaction of credentials is configured")
	}
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if len(text) > maxRequest {
		return fmt.Errorf("model request not sent: text has %d bytes, at most %d", len(text),
			maxRequest)
	}
	key := ""
	if c.Key != nil {
		key, err = c.Key()
		if err != nil {
			return fmt.Errorf("model request not sent: read key: %w", err)
		}
	}
	limit := cmp.Or(c.Timeout, DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	config := openai.DefaultConfig(key)
	config.BaseURL, config.HTTPClient = c.Endpoint, httpClient{}
	client := openai.NewClientWithConfig(config)
	request := openai.ChatCompletionRequest{Model: c.Model, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: task},
		{Role: openai.ChatMessageRoleUser, Content: string(text)},
	}}
	form, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	if !c.schemaUnsupported.Load() {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: json.RawMessage(form),
				Strict: true},
		}
	}
	response, err := client.CreateChatCompletion(ctx, request)
	if status, ok := errors.AsType[statusError](err); ok && request.ResponseFormat != nil &&
		(status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) {
		// Not every service supports schemas. The task describes the schema in
		// words, so the request is repeated without it. If that succeeds, all
		// further requests omit the schema.
		request.ResponseFormat = nil
		response, err = client.CreateChatCompletion(ctx, request)
		if err == nil {
			c.schemaUnsupported.Store(true)
		}
	}
	if err != nil {
		return c.describeError(err, limit)
	}
	if len(response.Choices) == 0 || response.Choices[0].Message.Content == "" {
		return errors.New("model response is empty")
	}
	if json.Unmarshal(extractObject(response.Choices[0].Message.Content), answer) != nil {
		return errInvalidAnswer
	}
	return nil
}

// extractObject returns the JSON object in an answer. Without a schema, models write
// their reasoning before the object or put the object into a code fence.
func extractObject(answer string) []byte {
	if _, after, ok := strings.Cut(answer, "</think>"); ok {
		answer = after
	}
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return nil
	}
	return []byte(answer[from : to+1])
}

// objectSchema returns the schema of an object with exactly these properties, all
// required.
func objectSchema(properties map[string]any) any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": properties, "required": slices.Sorted(maps.Keys(properties)),
	}
}

// redactText removes credentials from a text. If Redact is nil, text is unchanged,
// but converse sends nothing then.
func (c *Client) redactText(text *string) {
	if c.Redact != nil {
		*text = c.Redact(*text)
	}
}

// describeError converts an error to one that is safe for users and logs: a sentence
// without addresses and without text from the service, which may repeat the
// request.
func (c *Client) describeError(err error, limit time.Duration) error {
	status, isStatus := errors.AsType[statusError](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	refusal, isRefusal := errors.AsType[responseError](err)
	_, isNet := errors.AsType[*net.OpError](err)
	_, isURL := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no response from the model within %s", limit)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case isStatus:
		return status
	case isTooLarge:
		return fmt.Errorf("model response is larger than %d bytes", tooLarge.Limit)
	case isRefusal:
		return refusal
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("model response is truncated")
	case isNet, isURL:
		why := "connection failed"
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			why = cause.Error()
		} else if dns, ok := errors.AsType[*net.DNSError](err); ok {
			why = dns.Err
		}
		return fmt.Errorf("cannot reach the model: %s", why)
	}
	return errInvalidAnswer
}

// A statusError is the HTTP status of a failed request.
type statusError int

func (s statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("model endpoint returned %d %s", int(s), http.StatusText(int(s))))
}

// A responseError describes why a response was not read.
type responseError string

func (r responseError) Error() string { return string(r) }

// transport connects to the service directly, regardless of the proxies in the
// environment, and closes the connection after the response.
var transport = &http.Transport{
	DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout:    10 * time.Second,
	MaxResponseHeaderBytes: 64 << 10,
	DisableKeepAlives:      true,
}

// A httpClient is the HTTP client for the service. It sends requests to the
// configured address only, without following redirects. It accepts only JSON
// responses with status 200 and limits their size.
type httpClient struct{}

// Do implements [openai.HTTPDoer].
func (httpClient) Do(request *http.Request) (*http.Response, error) {
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return responseError("model endpoint redirects to another address, which is not followed: set " +
			"llm.endpoint to that address")
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		err = statusError(response.StatusCode)
	case kind != "application/json":
		err = responseError("model endpoint did not return JSON: check llm.endpoint")
	}
	if err != nil {
		response.Body.Close()
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	return response, nil
}
