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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
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
	status api.ModelStatus
}

// errInvalidAnswer reports an answer that does not have the required form.
var errInvalidAnswer = errors.New("model response does not match the requested format")

// requestAnswer sends a question without its credentials and decodes the answer, a JSON
// object in the form that the task describes. The question is a JSON value, which the task
// declares to be data. If check rejects the answer, the result is the error of check.
func (c *Client) requestAnswer(ctx context.Context, task string, question, answer any, check func() error) (err error) {
	defer func() { c.recordResult(err) }()
	question, _ = secrets.RedactValue(question)
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if len(text) > maxRequest {
		return tooLong(len(text), maxRequest)
	}
	body, err := json.Marshal(chatRequest{c.Model, []chatMessage{{"system", task}, {"user", string(text)}}})
	if err == nil {
		body, err = c.post(ctx, "/chat/completions", body, maxAnswer)
	}
	if err != nil {
		return err
	}
	var response struct {
		Choices []struct{ Message chatMessage }
	}
	if json.Unmarshal(body, &response) != nil {
		return errInvalidAnswer
	}
	if len(response.Choices) == 0 || response.Choices[0].Message.Content == "" {
		return errors.New("model response is empty")
	}
	content := response.Choices[0].Message.Content
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

func tooLong(n, limit int) error {
	return fmt.Errorf("model request not sent: text has %d bytes, at most %d", n, limit)
}

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

// client keeps connections open for a minute, so that a question does not wait for
// another handshake.
var client = outbound.NewClient(10*time.Second, nil)

// post sends a request to the service and returns the response.
func (c *Client) post(ctx context.Context, path string, body []byte, limit int64) ([]byte, error) {
	request := outbound.Request{
		Client: client, Service: "model", Setting: cmp.Or(c.Setting, "llm") + ".endpoint", Key: c.Key,
		Method: http.MethodPost, URL: strings.TrimRight(c.Endpoint, "/") + path, Body: body, Limit: limit,
		Timeout: cmp.Or(c.Timeout, DefaultTimeout),
	}
	return request.Send(ctx)
}
