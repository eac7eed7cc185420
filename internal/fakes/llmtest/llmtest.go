// Package llmtest serves an embeddings endpoint for tests. Its vectors depend
// only on the text: texts that share many letters, or words with the same
// meaning in a short list, have similar vectors.
package llmtest

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
)

// Dimensions is the number of dimensions of a vector, unless the server has fewer.
const Dimensions = 256

// A Fault is a way in which the endpoint fails.
type Fault int

// The faults of an endpoint.
const (
	None           Fault = iota
	Hang                 // no response until the client disconnects
	Busy                 // 429 with Retry-After
	Failure              // 500
	Unauthorized         // 401
	WrongCount           // one vector less than texts
	Shuffled             // vectors in another order, with the right indexes
	WrongIndex           // an index twice
	NotANumber           // null in a vector, as llama.cpp writes NaN
	Zero                 // a vector of zeros
	OtherDimension       // one vector with a dimension less
	Cut                  // half of the JSON
	Ollama               // {"embeddings": …}
	Swapped              // another model under the same name
)

// A Server is an embeddings endpoint on a loopback address.
type Server struct {
	URL          string       // of the endpoint, without /embeddings
	RetryAfter   string       // header with the fault Busy
	Dimensions   atomic.Int64 // of the vectors; [Dimensions] if zero
	RejectStatus int          // of the texts that Reject names: 400 if it is 0; none if it is negative

	mu       sync.Mutex
	fault    Fault
	reject   string // texts that contain it fail
	requests int
	texts    []string
	header   http.Header
	running  int
	most     int           // most requests at a time
	delay    time.Duration // of each response
}

// NewServer starts an endpoint that ends with the test.
func NewServer(t testing.TB) *Server {
	s := new(Server)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	return s
}

// Set makes the following requests fail with a fault, or not with None.
func (s *Server) Set(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Delay makes the following responses wait.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Reject makes requests fail with RejectStatus if a text contains a word.
func (s *Server) Reject(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reject = word
}

// Requests returns the number of requests so far and the most at one time.
func (s *Server) Requests() (n, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.most
}

// Texts returns the received texts in order.
func (s *Server) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.texts...)
}

// Reset forgets the received texts.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = nil
}

// Header returns the header of the last request.
func (s *Server) Header() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header
}

// ServeHTTP answers POST requests for /embeddings and /embed.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Model string
		Input []string
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &request) != nil || r.Method != http.MethodPost ||
		!strings.HasSuffix(r.URL.Path, "/embeddings") && !strings.HasSuffix(r.URL.Path, "/embed") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	fault, delay, reject := s.fault, s.delay, s.reject
	s.requests++
	s.texts = append(s.texts, request.Input...)
	s.header = r.Header
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if fault == Hang {
		<-r.Context().Done()
		return
	}
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return
	}
	switch fault {
	case Busy:
		w.Header().Set("Retry-After", s.RetryAfter)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case Failure:
		http.Error(w, string(body), http.StatusInternalServerError)
		return
	case Unauthorized:
		http.Error(w, string(body), http.StatusUnauthorized)
		return
	}
	if reject != "" && strings.Contains(strings.Join(request.Input, "\n"), reject) {
		if s.RejectStatus < 0 {
			panic(http.ErrAbortHandler)
		}
		http.Error(w, string(body), cmp.Or(s.RejectStatus, http.StatusBadRequest))
		return
	}
	seed := request.Model
	if fault == Swapped {
		seed += " swapped"
	}
	var vectors [][]float32
	for _, text := range request.Input {
		v := Vector(seed, text)
		if n := int(s.Dimensions.Load()); n > 0 && n < len(v) {
			v = v[:n]
		}
		vectors = append(vectors, v)
	}
	w.Header().Set("Content-Type", "application/json")
	answer := renderResponse(vectors, fault)
	if fault == Cut {
		answer = answer[:len(answer)/2]
	}
	w.Write(answer)
}

func renderResponse(vectors [][]float32, fault Fault) []byte {
	last := len(vectors) - 1
	switch fault {
	case Zero:
		clear(vectors[last])
	case OtherDimension:
		vectors[last] = vectors[last][1:]
	case WrongCount:
		vectors = vectors[:last]
	case Ollama:
		body, _ := json.Marshal(map[string]any{"model": "m", "embeddings": vectors})
		return body
	}
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	items := []item{}
	for i, v := range vectors {
		it := item{"embedding", i, v}
		switch {
		case fault == NotANumber && i == last:
			list := make([]*float32, len(v))
			for j := range v[1:] {
				list[j+1] = &v[j+1]
			}
			it.Embedding = list
		case fault == WrongIndex:
			it.Index = 0
		}
		items = append(items, it)
	}
	if fault == Shuffled {
		for i := range len(items) / 2 {
			items[i], items[len(items)-1-i] = items[len(items)-1-i], items[i]
		}
	}
	body, _ := json.Marshal(map[string]any{"object": "list", "data": items})
	return body
}

// synonyms are groups of words that have the same vector.
var synonyms = map[string]string{}

func init() {
	for line := range strings.Lines(synonymGroups) {
		words := strings.Fields(line)
		for _, word := range words {
			synonyms[word] = words[0]
		}
	}
}

const synonymGroups = `car automobile vehicle
doctor physician medic
buy bought purchase purchased
house home residence
job work employment occupation
quick fast rapid
error fault failure defect
meeting appointment
movie film
child kid
holiday vacation
ill sick unwell
begin start commence
end finish stop
big large huge
dog hound puppy
money cash funds
phone telephone mobile
picture photo image
boss manager supervisor
angry furious mad
happy glad cheerful
cook chef
lawyer attorney
database postgres mysql
laptop notebook computer
allergy allergic intolerance
bicycle bike
`

// Vector returns the vector of a text for a model, of length 1: the sum of one
// pseudorandom direction for each piece of 3 to 5 characters of its words.
func Vector(model, text string) []float32 {
	v := make([]float32, Dimensions)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, word := range words {
		if same, ok := synonyms[word]; ok {
			word = same
		}
		piece := []rune("<" + word + ">")
		for n := 3; n <= 5; n++ {
			for i := 0; i+n <= len(piece); i++ {
				addPiece(v, model, string(piece[i:i+n]))
			}
		}
	}
	if len(words) == 0 {
		addPiece(v, model, "")
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// addPiece adds the direction of a piece to v.
func addPiece(v []float32, model, piece string) {
	h := fnv.New64a()
	io.WriteString(h, model+"\x00"+piece)
	x := h.Sum64()
	for i := range v {
		x += 0x9e3779b97f4a7c15 // splitmix64
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		v[i] += float32(int8(z>>56)) / 128
	}
}
