package weaviate

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
	"github.com/memwatchd/memwatchd/internal/share"
)

func newFake(t *testing.T) (*Client, *weaviatetest.Server) {
	t.Helper()
	s := weaviatetest.NewServer()
	c := &Client{URL: s.URL, Timeout: patience}
	t.Cleanup(func() { s.SetFault(nil); c.Close(); s.Close() })
	must(t, c.Init(t.Context()))
	return c, s
}

// TestFaults checks the errors of a server that does not answer as it should.
func TestFaults(t *testing.T) {
	c, s := newFake(t)
	for _, test := range []struct {
		name      string
		fault     weaviatetest.Fault
		want      string
		permanent bool
		after     time.Duration
	}{
		{"busy", weaviatetest.Fail(http.StatusTooManyRequests, 7*time.Second), "store returned 429 Too Many Requests",
			false, 7 * time.Second},
		{"starting", weaviatetest.Fail(http.StatusServiceUnavailable, 0), "store returned 503 Service Unavailable", false, 0},
		{"another key", weaviatetest.Fail(http.StatusUnauthorized, 0),
			"store rejects the API key: check share.weaviate.key_file", true, 0},
		{"no rights", weaviatetest.Fail(http.StatusForbidden, 0),
			"store denies access with the API key: extend its role in the cluster", true, 0},
		{"a page", weaviatetest.Send(`<html>`, 6),
			"store response is not that of Weaviate: check share.weaviate.url", false, 0},
	} {
		s.SetFault(test.fault)
		_, put := c.Put(t.Context(), []share.Object{item(tenantA, 1, nil)})
		_, search := c.Search(t.Context(), share.Query{Tenants: []string{tenantA}, Terms: "x", Limit: 5})
		_, get := c.Get(t.Context(), "MemoryItem", tenantA, id(1))
		var list error
		for _, err := range c.List(t.Context(), "desk") {
			list = err
		}
		if test.name == "no rights" { // an object that the key cannot read is missing
			if !errors.Is(get, share.ErrNotFound) {
				t.Errorf("Get without rights: %v", get)
			}
			get = put
		}
		for operation, err := range map[string]error{"Put": put, "Search": search, "Get": get, "List": list} {
			e, ok := errors.AsType[*share.Error](err)
			if !ok || e.Error() != test.want || e.Permanent != test.permanent || e.RetryAfter != test.after {
				t.Errorf("%s, %s: %v, want %s", test.name, operation, err, test.want)
			}
		}
	}
	s.SetFault(nil)
	c.Timeout = patience
	mustPut(t, c, item(tenantA, 1, nil))
}

// TestRefusedInSuccess checks that one refused object does not block others, and
// that unavailable replicas, which also fail within a successful response, are an
// error.
func TestRefusedInSuccess(t *testing.T) {
	c, s := newFake(t)
	s.Refuse(func(other string) bool { return other == id(2) })
	two := []share.Object{item(tenantA, 1, nil), item(tenantA, 2, nil)}
	wantPartlyRefused(t, c, two, 2)
	s.Refuse(func(string) bool { return true })
	refused, err := c.Put(t.Context(), two)
	if err == nil || err.Error() != "store cannot write now: check that enough of its nodes run" || refused != nil {
		t.Errorf("without replicas: refused %v, %v", refused, err)
	}
	// A request that is rejected as a whole is divided.
	s.Refuse(nil)
	s.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(s.Requests()[0].Body, id(5)) {
			return false
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		return true
	})
	var batch []share.Object
	for n := range 12 {
		batch = append(batch, item(tenantA, n, nil))
	}
	s.Requests()
	wantPartlyRefused(t, c, batch, 5)
}

// TestWrongAnswers checks that answers of another form are errors.
func TestWrongAnswers(t *testing.T) {
	c, s := newFake(t)
	c.Timeout = patience
	only := func(part, body string) weaviatetest.Fault {
		return func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, part) && weaviatetest.Send(body, len(body))(w, r)
		}
	}
	for _, body := range []string{
		`[]`, `[{"id":"` + id(2) + `","result":{"status":"SUCCESS"}}]`, `{}`, `[{},{}]`,
	} {
		s.SetFault(only("/batch", body))
		if _, err := c.Put(t.Context(), []share.Object{item(tenantA, 1, nil)}); err == nil {
			t.Errorf("Put accepts the answer %s", body)
		}
	}
	for _, body := range []string{
		`{}`, `{"data":{"Get":{}}}`, `{"data":{"Get":{"p0":null}}}`, `{"data":{"Get":{"p0":[{}]}}}`, `{"data":{"Get":{"p0":[3]}}}`,
		`{"errors":[{"message":"no"}]}`, `{"data":{"Get":{"p0":null}},"errors":[{"message":"secret","path":["Get","p0"]}]}`,
	} {
		s.SetFault(only("/graphql", body))
		_, err := c.Search(t.Context(), share.Query{Tenants: []string{tenantA}, Types: []string{"x"}, Limit: 5})
		if _, ok := errors.AsType[*share.Error](err); !ok || strings.Contains(err.Error(), "secret") {
			t.Errorf("the answer %s results in %v", body, err)
		}
	}
	s.SetFault(only("/graphql", `{"data":{"Get":{"p0":[{"_additional":{"id":"00000000-0000-0000-0000-000000000000"}}]}}}`))
	mustPut(t, c, item(tenantA, 1, nil))
	n := 0
	for _, err := range c.List(t.Context(), "desk") {
		n++
		if err == nil || n > 1 {
			t.Fatal("List accepts a page that it has seen")
		}
	}
}

// TestKeyAndCertificate checks the API key, which is read for each request, and the
// certificate of the server.
func TestKeyAndCertificate(t *testing.T) {
	s := weaviatetest.NewTLSServer()
	defer s.Close()
	s.Key = "one"
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	// On a busy machine, connecting may take longer than a client waits.
	retry := func(call func(context.Context) error) (err error) {
		for range 20 {
			if err = call(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "no connection in time") {
				break
			}
		}
		return err
	}
	key := "two"
	c := &Client{URL: s.URL, Timeout: patience, Key: func() (string, error) { return key, nil }, Roots: roots}
	defer c.Close()
	if err := retry(c.Init); err == nil || !strings.Contains(err.Error(), "rejects the API key") {
		t.Errorf("another key: %v", err)
	}
	key = "one"
	if err := retry(c.Init); err != nil {
		t.Errorf("the key: %v", err)
	}
	for name, test := range map[string]struct {
		c    *Client
		want string
	}{
		"authority": {&Client{URL: s.URL}, "certificate of the store is rejected (certificate signed by unknown authority): set "},
		"name": {&Client{URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1), Roots: roots},
			"certificate of the store is rejected (certificate is valid for example.com, *.example.com, not localhost): set "},
	} {
		err := retry(test.c.Ready)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		test.c.Close()
	}
}
