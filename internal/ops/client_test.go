package ops

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// TestRequestsAreDistinct checks that the type of a request determines its operation.
func TestRequestsAreDistinct(t *testing.T) {
	requests := map[reflect.Type]string{}
	for _, op := range api.Operations {
		request := reflect.TypeOf(op.NewRequest().Value())
		if other := requests[request]; other != "" {
			t.Errorf("%s and %s have one type of request: %s", other, op.Name, request)
		}
		requests[request] = op.Name
	}
}

// TestZeroIsTheDefault checks that a field is a pointer if its zero value
// differs from its default. The client omits zero fields, so only a pointer can
// send zero.
func TestZeroIsTheDefault(t *testing.T) {
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			least, bounded := strconv.ParseFloat(p.Min, 64)
			number := p.Kind() == "integer" || p.Kind() == "number"
			means := p.Kind() == "boolean" && p.Default == "true" || number && p.Default != "" && (bounded != nil || least <= 0)
			if means && p.Type().Kind() != reflect.Pointer {
				t.Errorf("%s: %s has the default %s, and its zero cannot be said: make it a *%s", op.Name, p.Name, p.Default, p.Type())
			}
		}
	}
	if fields := api.RequestOf(api.SearchRequest{}).Fields(); len(fields) > 0 {
		t.Errorf("an empty request says %v", fields)
	}
	said, err := json.Marshal(api.RequestOf(api.SearchRequest{
		Query: "x", RecencyBias: new(0.0), Fresh: api.Fresh{Sync: new(false)}, Scope: api.Scope{Subject: new("")},
	}).Fields())
	if want := `{"query":"x","recency_bias":0,"subject":"","sync":false}`; err != nil || string(said) != want {
		t.Errorf("the request is %s, %v, not %s", said, err, want)
	}
}

func TestClientScope(t *testing.T) {
	mine := api.Scope{Subject: new("acct:42"), Context: new("private")}
	for _, c := range []struct {
		client, request api.Scope
		want            string
	}{
		{api.Scope{}, api.Scope{}, `{}`},
		{mine, api.Scope{}, `{"context":"private","subject":"acct:42"}`},
		{mine, api.Scope{Context: new("public")}, `{"context":"public","subject":"acct:42"}`},
		{mine, api.Scope{ExternalKey: new("tg:1")}, `{"context":"private","external_key":"tg:1"}`},
		{mine, api.Scope{Subject: new("")}, `{"context":"private","subject":""}`},
		{api.Scope{ExternalKey: new("tg:1")}, api.Scope{Subject: new("a")}, `{"subject":"a"}`},
		{api.Scope{ExternalKey: new("tg:1")}, api.Scope{}, `{"external_key":"tg:1"}`},
	} {
		got, err := json.Marshal(c.client.CompleteFields(api.RequestOf(api.StatusRequest{Scope: c.request})))
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}

// TestClientLosesNothing checks that the client returns complete answers and
// the daemon's errors.
func TestClientLosesNothing(t *testing.T) {
	names, err := filepath.Glob("testdata/ops/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := readOpsCase(t, archive)
		other := serveOps(t, c.memory(t))
		client := &client.Client{Socket: serveOps(t, c.memory(t)), AsOwner: true}
		for _, a := range c.requests {
			req := a.op.NewRequest()
			if req.Decode(a.request) != nil {
				continue // no client can send this
			}
			asked[a.op.Name] = true
			said := opsTook.ReplaceAll(postOps(t, other, a.op.Name, a.request), []byte(`"took_ms":0`))
			answer := a.op.NewAnswer()
			raw, err := client.Do(t.Context(), req)
			if e, ok := errors.AsType[*api.Error](err); ok {
				answer = api.Failure{Error: e}
			} else if err = errors.Join(err, json.Unmarshal(raw, answer)); err != nil {
				t.Errorf("%s: %v", a.name, err)
				continue
			}
			got, err := api.EncodeJSON(answer)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(said), string(opsTook.ReplaceAll(got, []byte(`"took_ms":0`)))); diff != "" {
				t.Errorf("%s (-daemon +client):\n%s", a.name, diff)
			}
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %v were asked", asked)
	}
}

func TestClientWithoutDaemon(t *testing.T) {
	c := &client.Client{Socket: filepath.Join(t.TempDir(), "s")}
	if _, err := client.Call(t.Context(), c, api.StatusRequest{}); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("the error is %v", err)
	}
}
