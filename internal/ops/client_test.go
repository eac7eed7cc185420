package ops

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"github.com/memwatchd/memwatchd/api"
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
