package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/outbound"
	"github.com/memwatchd/memwatchd/internal/secrets"
)

// The limits of a request for vectors.
const (
	maxEmbedRequest = 4 << 20   // bytes of a request
	maxVectorBytes  = 256 << 10 // bytes of one vector in a response
	maxDimensions   = 8192
)

// Embed requests the vectors of texts. It returns one vector of length 1 per
// text, in the order of the texts and all with the same number of dimensions.
// The texts are sent without their credentials.
//
// The service has the embeddings API of OpenAI at Endpoint/embeddings; for an
// Endpoint that ends with /api, it has that of Ollama at /api/embed.
func (c *Client) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	defer func() { c.recordResult(err) }()
	request := struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{Model: c.Model}
	request.Input, _ = secrets.RedactValue(texts)
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if len(body) > maxEmbedRequest {
		return nil, tooLong(len(body), maxEmbedRequest)
	}
	path := "/embeddings"
	if strings.HasSuffix(c.Endpoint, "/api") {
		path = "/embed"
	}
	answer, err := c.post(ctx, path, body, maxAnswer+int64(len(texts))*maxVectorBytes)
	if err != nil {
		return nil, err
	}
	return readVectors(answer, len(texts))
}

type vector []float32

// UnmarshalJSON implements [json.Unmarshaler]. Unlike the decoder of package
// json, it rejects null, which some services return in place of NaN.
func (v *vector) UnmarshalJSON(b []byte) error {
	if bytes.Contains(b, []byte("null")) {
		return errInvalidAnswer
	}
	return json.Unmarshal(b, (*[]float32)(v))
}

// readVectors returns the n vectors in a response, in the order of the request.
func readVectors(body []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
		Embeddings []vector `json:"embeddings"` // of Ollama
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil, errInvalidAnswer
	}
	list := make([][]float32, 0, n)
	for _, v := range answer.Embeddings {
		list = append(list, v)
	}
	if len(answer.Data) > 0 {
		list = make([][]float32, len(answer.Data))
	}
	for i, item := range answer.Data {
		if item.Index != nil {
			i = *item.Index
		}
		if i < 0 || i >= len(list) || list[i] != nil {
			return nil, errors.New("model response has wrong indexes")
		}
		list[i] = item.Embedding
	}
	if len(list) != n {
		return nil, fmt.Errorf("model returned %d vectors for %d texts", len(list), n)
	}
	for _, v := range list {
		if len(v) != len(list[0]) {
			return nil, errors.New("model returned vectors of different dimensions")
		}
		if err := normalize(v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// normalize scales a vector to length 1.
func normalize(v []float32) error {
	if len(v) == 0 || len(v) > maxDimensions {
		return fmt.Errorf("model returned a vector of %d dimensions: 1 to %d are supported", len(v), maxDimensions)
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) { // NaN is not greater than 0
		return errors.New("model returned a vector that is zero or not finite")
	}
	length := math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return nil
}

// RetryAfter returns the time to wait that a service without capacity named in the response
// to a request, or 0.
func RetryAfter(err error) time.Duration {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok {
		return 0
	}
	return min(e.RetryAfter, maxRetryAfter)
}

// maxRetryAfter bounds the time to wait that a service can name.
const maxRetryAfter = time.Hour

// RefusesText reports whether a request for vectors that failed with err may succeed
// with other or fewer texts.
func RefusesText(err error) bool {
	e, ok := errors.AsType[*outbound.Error](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnprocessableEntity)
}
