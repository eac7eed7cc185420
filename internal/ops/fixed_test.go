package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestFixedScopesAllowNoMore checks that every operation on a listener with a
// fixed scope answers as elsewhere for that scope, rejects wider scopes and
// rejects administration.
func TestFixedScopesAllowNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	leaves, targets := comparisonFiles()
	scopes := []api.Fixed{
		{Subject: "acct:42", Context: "private"}, {Subject: "acct:42", Context: "public"}, {Subject: "ext:telegram:1", Context: "private"},
		{Subject: "bob", Context: "unknown"}, {Subject: "owner", Context: "private"}, {Subject: "", Context: "private"},
	}
	const stride = 7 // covers every kind and visibility
	for _, fixed := range scopes {
		name := fmt.Sprintf("%q %s", fixed.Subject, fixed.Context)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, asked := newTestMemory(t, leaves, nil), map[string]bool{}
			for _, op := range api.Operations {
				for i := 0; i < len(targets); i += stride {
					for n, ask := range requestPlans[op.Name].requests(targets[i]) {
						request := encodeRequest(t, ask.request)
						if ask.before == nil && !asked[op.Name+request] {
							asked[op.Name+request] = true
							g.checkFixed(t, &fixed, op, ask.request, i+n == 0)
						}
					}
				}
			}
		})
	}
}

func encodeRequest(t *testing.T, request fields) string {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkFixed sends a request to a listener with a fixed scope and, if beyond is
// set, also with wider scopes.
func (g *testMemory) checkFixed(t *testing.T, fixed *api.Fixed, op *api.Operation, request fields, beyond bool) {
	t.Helper()
	inbox := !(fixed.Subject == "owner" && fixed.Context == "private")
	ask := func(fixed *api.Fixed, scope fields) (string, *api.Error) {
		full := maps.Clone(request)
		maps.Copy(full, scope)
		answer, failure := g.runRequest(t, fixed, op, encodeRequest(t, full))
		if !op.ReadOnly {
			if fixed != nil && inbox {
				g.checkOutside(t, op.Name, request)
			}
			g.restore(t)
		}
		// Only the owner on another listener sees the state of the whole
		// memory.
		return strings.ReplaceAll(answer, `"revision":1,"pending":0,`, ""), failure
	}
	got, failure := ask(fixed, nil)
	switch {
	case op.Admin:
		if failure == nil || failure.Code != api.Forbidden {
			t.Errorf("%s %v is done: %s", op.Name, request, got)
		}
		return
	case op.Name == "status":
		if got != `{"healthy":true}`+"\n" {
			t.Errorf("status tells %s", got)
		}
	case op.Name == "resolve": // accepts its own key only
		if own := g.Resolve("telegram:1") == fixed.Subject; own != (failure == nil) {
			t.Errorf("%s %v answers %s", op.Name, request, got)
		}
		return
	case op.Name == "complete" && request["what"] == "subject": // other subjects are visible elsewhere only
		g.checkSubjects(t, fixed, got)
	case op.Name == "sync", op.Name == "operations": // the available operations differ from those elsewhere
	case !op.ReadOnly && inbox: // elsewhere, it changes other files
	default:
		if want, _ := ask(nil, fields{"subject": fixed.Subject, "context": fixed.Context}); got != want {
			t.Errorf("%s %v answers %s, and elsewhere %s", op.Name, request, got, want)
		}
	}
	if !beyond {
		return
	}
	for _, wider := range []fields{
		{"subject": "alice"}, {"subject": "ext:slack:7"}, {"external_key": "slack:7"}, {"subject": "owner", "context": "private"},
		{"subject": "acct:42"}, {"external_key": "telegram:1"}, {"context": "private"}, {"subject": "bob"}, {"subject": ""}, {"context": "public"},
	} {
		subject, context := fixed.Subject, fixed.Context
		if s, ok := wider["subject"].(string); ok {
			subject = s
		}
		if key, ok := wider["external_key"].(string); ok {
			subject = g.Resolve(key)
		}
		if s, ok := wider["context"].(string); ok {
			context = s
		}
		within := (subject == "" || subject == fixed.Subject) && (context != "private" || fixed.Context == "private")
		_, failure := ask(fixed, wider)
		if is := failure != nil && failure.Error() == errFixedScope.Error(); is == within {
			t.Errorf("%s %v, asked as %v: %v", op.Name, request, wider, failure)
		}
	}
}

// checkOutside checks that a request has not changed any file outside the inboxes.
func (g *testMemory) checkOutside(t *testing.T, op string, request fields) {
	t.Helper()
	files := g.files(t)
	maps.DeleteFunc(files, func(path, _ string) bool { return memory.InInbox(path) })
	if diff := cmp.Diff(g.base, files); diff != "" {
		t.Errorf("%s %v on a listener with a fixed scope (-before +after):\n%s", op, request, diff)
	}
}

// checkSubjects checks that an answer lists exactly the subjects that a fixed
// scope reads.
func (g *testMemory) checkSubjects(t *testing.T, fixed *api.Fixed, answer string) {
	t.Helper()
	v, err := g.View(g.Scope(fixed.Subject, contextOf(fixed)))
	if err != nil {
		t.Fatal(err)
	}
	want := v.Subjects()
	slices.Sort(want)
	if got := decodeAnswer[api.CompleteAnswer](answer).Values; !slices.Equal(got, want) {
		t.Errorf("to %q the subjects are %q", fixed.Subject, got)
	}
}
