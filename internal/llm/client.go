// Package llm requests decisions from a language model that rules cannot make:
// which items of two texts have the same subject, and how to summarize many
// lines. It also requests vectors of texts, whose angles show how similar the
// texts are.
//
// The model is a service with the OpenAI protocol. It only makes proposals:
// callers must check its answers and must work without them. Each request is
// therefore one short conversation with one server, bounded in time and size,
// without stored state. Among the errors, only a [RefusedError] may repeat text
// of a request.
package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/outbound"
	"github.com/memwatchd/memwatchd/internal/secrets"
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

	Setting string // prefix of the configuration keys in errors; "llm" if empty

	mu     sync.Mutex
	status Status
}

// errInvalidAnswer reports an answer that does not have the required form.
var errInvalidAnswer = errors.New("model response does not match the requested format")

var errTruncated = errors.New("model response is truncated")

// requestAnswer sends a question and decodes the answer, a JSON object in the form that the
// task describes. The question is a JSON value, which the task declares to be data. If
// check rejects the answer, the result is the error of check.
func (c *Client) requestAnswer(ctx context.Context, task string, question, answer any, check func() error) (err error) {
	defer func() { c.recordResult(err) }()
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	key, err := c.authorize(len(text), maxRequest)
	if err != nil {
		return err
	}
	limit := cmp.Or(c.Timeout, DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	content, err := c.sendChat(ctx, key, chatRequest{c.Model, []chatMessage{{"system", task}, {"user", string(text)}}})
	if err != nil {
		return c.describeError(err, limit)
	}
	if content == "" {
		return errors.New("model response is empty")
	}
	if json.Unmarshal(extractObject(content), answer) != nil {
		return errInvalidAnswer
	}
	return check()
}

type (
	chatRequest struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
	}
	chatMessage struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
)

// sendChat sends a conversation and returns the content of the answer, or "".
func (c *Client) sendChat(ctx context.Context, key string, request chatRequest) (string, error) {
	var response struct {
		Choices []struct{ Message chatMessage }
	}
	body, err := json.Marshal(request)
	if err == nil {
		body, err = c.post(ctx, "/chat/completions", key, body, maxAnswer)
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(&response)
	}
	if err != nil || len(response.Choices) == 0 {
		return "", err
	}
	return response.Choices[0].Message.Content, nil
}

// authorize returns the API key for a request with a text of n bytes, or an error if
// the text cannot be sent.
func (c *Client) authorize(n, limit int) (key string, err error) {
	if n > limit {
		return "", fmt.Errorf("model request not sent: text has %d bytes, at most %d", n, limit)
	}
	if c.Key == nil {
		return "", nil
	}
	key, err = c.Key()
	if err != nil {
		return "", fmt.Errorf("model request not sent: read key: %w", err)
	}
	return key, nil
}

// setting returns the prefix of the configuration keys of the client.
func (c *Client) setting() string { return cmp.Or(c.Setting, "llm") }

// extractObject returns the JSON object in an answer. Models write their reasoning before
// the object or put the object into a code fence.
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

// redactText removes credentials from a text. Every text is redacted before it is
// sent.
func redactText(text *string) { *text, _ = secrets.Redact(*text) }

// describeError converts an error to one that is safe for users and logs: a sentence
// without addresses and without text from the service, which may repeat the
// request.
func (c *Client) describeError(err error, limit time.Duration) error {
	status, isStatus := errors.AsType[statusError](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	refusal, isRefusal := errors.AsType[responseError](err)
	busy, isBusy := errors.AsType[*BusyError](err)
	_, isNet := errors.AsType[*net.OpError](err)
	_, isURL := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no response from the model within %s", limit)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case isStatus:
		return status
	case isBusy:
		return busy
	case isTooLarge:
		return fmt.Errorf("model response is larger than %d bytes", tooLarge.Limit)
	case isRefusal:
		return refusal
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errTruncated
	case isNet, isURL:
		return fmt.Errorf("cannot reach the model: %s", outbound.FailureReason(err))
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

// transport connects to the service directly and keeps connections open for a minute,
// so that a question does not wait for another handshake.
var transport = outbound.NewTransport(10*time.Second, nil)

// post sends a request to the configured address only, without following redirects,
// and returns the body of the response. It accepts only JSON responses with status 200
// and at most limit bytes.
func (c *Client) post(ctx context.Context, path, key string, body []byte, limit int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Endpoint, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	redirected := responseError("model endpoint redirects to another address, which is not followed: set " + c.setting() +
		".endpoint to that address")
	response, err := outbound.NewClient(transport, redirected).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusServiceUnavailable:
		err = &BusyError{Status: response.StatusCode, After: min(outbound.RetryAfter(response.Header), maxRetryAfter)}
	case response.StatusCode != http.StatusOK:
		err = statusError(response.StatusCode)
	case kind != "application/json":
		err = responseError("model endpoint did not return JSON: check " + c.setting() + ".endpoint")
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(http.MaxBytesReader(nil, response.Body, limit))
}
