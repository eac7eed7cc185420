package ops

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// methodOf returns the name of the client method for an operation.
func methodOf(op string) string {
	words := strings.Split(op, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// TestClientHasEveryOperation checks that the client has exactly one method for
// each operation, with the types of its request and answer, and few others.
func TestClientHasEveryOperation(t *testing.T) {
	client := reflect.TypeFor[*client.Client]()
	methods := []string{"Do", "IsServer", "Stream"}
	requests := map[reflect.Type]string{}
	for _, op := range api.Operations {
		request, answer := reflect.TypeOf(op.NewRequest().Value()).Elem(), reflect.TypeOf(op.NewAnswer()).Elem()
		name := methodOf(op.Name)
		methods = append(methods, name)
		if other := requests[request]; other != "" {
			t.Errorf("%s and %s have one type of request: %s", other, op.Name, request)
		}
		requests[request] = op.Name
		m, ok := client.MethodByName(name)
		if !ok {
			t.Errorf("there is no method for the operation %s; add it to methods.go:\n\nfunc (c *Client) %s(ctx context.Context, r %s) (*%s, error) {\n\treturn ask[%[4]s](ctx, c, r)\n}\n",
				op.Name, name, request.Name(), answer.Name())
			continue
		}
		want := reflect.FuncOf([]reflect.Type{client, reflect.TypeFor[context.Context](), request},
			[]reflect.Type{reflect.PointerTo(answer), reflect.TypeFor[error]()}, false)
		if op.Stream {
			each := reflect.FuncOf([]reflect.Type{reflect.PointerTo(answer)}, []reflect.Type{reflect.TypeFor[error]()}, false)
			want = reflect.FuncOf([]reflect.Type{client, reflect.TypeFor[context.Context](), request, each}, []reflect.Type{reflect.TypeFor[error]()}, false)
		}
		if m.Type != want {
			t.Errorf("%s is a %s, not a %s", name, m.Type, want)
		}
	}
	for i := range client.NumMethod() {
		if name := client.Method(i).Name; !slices.Contains(methods, name) {
			t.Errorf("there is no operation for the method %s", name)
		}
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
			strict := a.op.NewRequest()
			req := reflect.New(reflect.TypeOf(strict.Value()).Elem())
			zero := func(p *api.Param) bool {
				return p.Default != "" && fieldOf(req.Elem(), p.Name).IsZero() && strings.Contains(string(a.request), strconv.Quote(p.Name))
			}
			if strict.Decode(a.request) != nil || json.Unmarshal(a.request, req.Interface()) != nil || slices.ContainsFunc(a.op.Params(), zero) {
				continue // no client can send this
			}
			asked[a.op.Name] = true
			said := opsTook.ReplaceAll(postOps(t, other, a.op.Name, a.request), []byte(`"took_ms":0`))
			out := reflect.ValueOf(client).MethodByName(methodOf(a.op.Name)).Call([]reflect.Value{reflect.ValueOf(t.Context()), req.Elem()})
			if err, _ := out[1].Interface().(error); err != nil {
				e, ok := errors.AsType[*api.Error](err)
				if !ok {
					t.Errorf("%s: %v", a.name, err)
					continue
				}
				out[0] = reflect.ValueOf(api.Failure{Error: e})
			}
			got, err := api.EncodeJSON(out[0].Interface())
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

func fieldOf(request reflect.Value, name string) reflect.Value {
	for _, f := range reflect.VisibleFields(request.Type()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return request.FieldByIndex(f.Index)
		}
	}
	return reflect.Value{}
}
