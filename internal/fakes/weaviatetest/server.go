// Package weaviatetest is a server for tests with the part of the protocol of
// Weaviate that package weaviate uses, and with faults. The tests of package
// weaviate compare it with the real server.
package weaviatetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Server is a cluster of one node in memory.
type Server struct {
	*httptest.Server
	Key string // API key that requests must contain; empty for none

	mu       sync.Mutex
	fault    Fault
	requests []Request
	refuse   func(id string) bool
	classes  map[string]*class
}

// A Request is a request that the server received.
type Request struct{ Method, URL, Body string }

// A Fault answers a request instead of the server. It reports whether it did.
type Fault func(w http.ResponseWriter, r *http.Request) bool

type class struct {
	schema  map[string]any
	objects map[string]map[string]map[string]any // by tenant and id
}

// NewServer starts a server, which the caller must close.
func NewServer() *Server {
	s := &Server{classes: map[string]*class{}}
	s.Server = httptest.NewServer(s)
	return s
}

// NewTLSServer starts a server with TLS. Its Client trusts it.
func NewTLSServer() *Server {
	s := &Server{classes: map[string]*class{}}
	s.Server = httptest.NewTLSServer(s)
	return s
}

// SetFault lets f answer all further requests that it wants to answer; nil ends
// the fault.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Refuse makes the server refuse some objects, within a successful response.
func (s *Server) Refuse(objects func(id string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = objects
}

// Requests returns the requests since the last call.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.requests
	s.requests = nil
	return list
}

// Fail answers every request with a status. A delay other than zero is the value
// of Retry-After.
func Fail(status int, retryAfter time.Duration) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
		}
		w.WriteHeader(status)
		return true
	}
}

// Send answers every request with a body and the given length of the body, so that
// a smaller body is a truncated response.
func Send(body string, length int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(length))
		io.WriteString(w, body)
		return true
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, r.URL.String(), string(body)})
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key {
		sendJSON(w, http.StatusUnauthorized, map[string]any{"code": 401, "message": "unauthorized: invalid api key"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")[1:]
	switch route := r.Method + " " + path[0] + fmt.Sprint(len(path)); route {
	case "GET .well-known2":
	case "POST schema1":
		s.addClass(w, body)
	case "GET schema2":
		if c := s.classes[path[1]]; c == nil {
			w.WriteHeader(http.StatusNotFound)
		} else {
			sendJSON(w, http.StatusOK, c.schema)
		}
	case "POST schema3":
		s.addProperty(w, path[1], body)
	case "GET schema3":
		s.listTenants(w, path[1])
	case "POST batch2":
		s.putBatch(w, body)
	case "POST objects2":
		var o object
		if json.Unmarshal(body, &o) == nil && s.invalid(o) != "" {
			sendError(w, "invalid object: "+s.invalid(o))
		}
	case "GET objects3", "DELETE objects3":
		s.object(w, r, path[1], path[2])
	case "POST graphql1":
		s.graphql(w, body)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func sendJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func sendError(w http.ResponseWriter, message string) {
	sendJSON(w, http.StatusUnprocessableEntity, map[string]any{"error": []any{map[string]any{"message": message}}})
}

// addClass creates a class. The stop words of a class without them are those of
// English, and multi-tenancy is off.
func (s *Server) addClass(w http.ResponseWriter, body []byte) {
	var schema map[string]any
	if json.Unmarshal(body, &schema) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	name, _ := schema["class"].(string)
	if s.classes[name] != nil {
		sendError(w, "class name "+name+" already exists")
		return
	}
	s.classes[name] = &class{schema, map[string]map[string]map[string]any{}}
	sendJSON(w, http.StatusOK, schema)
}

func (s *Server) addProperty(w http.ResponseWriter, name string, body []byte) {
	var property map[string]any
	c := s.classes[name]
	if c == nil || json.Unmarshal(body, &property) != nil {
		sendError(w, "class not found")
		return
	}
	list, _ := c.schema["properties"].([]any)
	c.schema["properties"] = append(list, property)
	sendJSON(w, http.StatusOK, property)
}

func (s *Server) listTenants(w http.ResponseWriter, name string) {
	c := s.classes[name]
	if c == nil {
		sendError(w, "class not found")
		return
	}
	list := []any{}
	for _, tenant := range slices.Sorted(maps.Keys(c.objects)) {
		list = append(list, map[string]any{"name": tenant, "activityStatus": "HOT"})
	}
	sendJSON(w, http.StatusOK, list)
}

type object struct {
	Class      string         `json:"class"`
	Tenant     string         `json:"tenant,omitempty"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties"`
}

// putBatch writes objects. Like the real server, it creates a missing class, but
// without tenants, so that no object of a tenant fits into it.
func (s *Server) putBatch(w http.ResponseWriter, body []byte) {
	var batch struct{ Objects []object }
	if json.Unmarshal(body, &batch) != nil {
		sendJSON(w, http.StatusBadRequest, map[string]any{"code": 400, "message": "parsing body failed"})
		return
	}
	type result struct {
		object
		Result map[string]any `json:"result"`
	}
	var answer []result
	for _, o := range batch.Objects {
		if s.classes[o.Class] == nil {
			schema := map[string]any{"class": o.Class, "vectorizer": "none", "properties": []any{}}
			s.classes[o.Class] = &class{schema, map[string]map[string]map[string]any{}}
		}
		reason := s.invalid(o)
		if reason == "" && s.refuse != nil && s.refuse(o.ID) {
			reason = "refused"
		}
		if reason != "" {
			answer = append(answer, result{o, map[string]any{"status": "FAILED",
				"errors": map[string]any{"error": []any{map[string]any{"message": reason}}}}})
			continue
		}
		c := s.classes[o.Class]
		if c.objects[o.Tenant] == nil {
			c.objects[o.Tenant] = map[string]map[string]any{}
		}
		c.objects[o.Tenant][o.ID] = o.Properties
		answer = append(answer, result{o, map[string]any{"status": "SUCCESS"}})
	}
	sendJSON(w, http.StatusOK, answer)
}

// invalid returns why an object does not fit into its class, or "".
func (s *Server) invalid(o object) string {
	c := s.classes[o.Class]
	if tenancy, _ := c.schema["multiTenancyConfig"].(map[string]any); tenancy["enabled"] != true {
		return fmt.Sprintf("class %s has multi-tenancy disabled, but request was with tenant", o.Class)
	}
	for name, value := range o.Properties {
		kind := c.propertyType(name)
		ok := value == nil
		switch v := value.(type) {
		case string:
			ok = kind == "text"
			if kind == "date" {
				_, err := time.Parse(time.RFC3339, v)
				ok = err == nil
			}
		case float64:
			ok = kind == "number" || kind == "int" && v == float64(int64(v))
		case bool:
			ok = kind == "boolean"
		case []any:
			ok = kind == "text[]"
		}
		if !ok {
			return fmt.Sprintf("invalid %s property '%s' on class '%s'", kind, name, o.Class)
		}
	}
	return ""
}

// propertyType returns the type of a property, or "" for an unknown property.
func (c *class) propertyType(name string) string {
	list, _ := c.schema["properties"].([]any)
	for _, p := range list {
		p, _ := p.(map[string]any)
		if kinds, _ := p["dataType"].([]any); p["name"] == name && len(kinds) == 1 {
			kind, _ := kinds[0].(string)
			return kind
		}
	}
	return ""
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, name, id string) {
	c, tenant := s.classes[name], r.URL.Query().Get("tenant")
	switch {
	case c == nil:
		w.WriteHeader(http.StatusNotFound)
	case c.objects[tenant] == nil:
		sendError(w, fmt.Sprintf("determine shard: tenant not found: %q", tenant))
	case r.Method == http.MethodDelete:
		delete(c.objects[tenant], id)
		w.WriteHeader(http.StatusNoContent)
	case c.objects[tenant][id] == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		sendJSON(w, http.StatusOK, object{name, tenant, id, c.objects[tenant][id]})
	}
}
