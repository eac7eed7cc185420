package weaviatetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
)

// A Proxy passes requests to a server and records them.
type Proxy struct {
	*httptest.Server

	mu     sync.Mutex
	bodies []string
}

// NewProxy starts a proxy of the server at a URL. The caller must close it.
func NewProxy(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	reverse := httputil.NewSingleHostReverseProxy(u)
	reverse.ModifyResponse = func(response *http.Response) error {
		body, err := io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(body))
		p.record(string(body))
		return err
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.record(r.Method + " " + r.URL.String() + " " + string(body))
		reverse.ServeHTTP(w, r)
	}))
	return p, nil
}

func (p *Proxy) record(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, text)
}

// Take returns the requests and the bodies of responses since the last call.
func (p *Proxy) Take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	bodies := p.bodies
	p.bodies = nil
	return bodies
}
