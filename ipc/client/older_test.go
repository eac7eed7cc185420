package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// serveOlder serves a daemon that knows only some fields of each of some operations, and
// returns its socket and the bodies that it accepted.
func serveOlder(t *testing.T, known map[string]string) (socket string, accepted *[]string) {
	socket, accepted = filepath.Join(t.TempDir(), "s"), new([]string)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	reject := func(w http.ResponseWriter, failure *api.Error) {
		w.WriteHeader(failure.Code.Status())
		json.NewEncoder(w).Encode(api.Failure{Error: failure})
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/v1/")
		fields, exists := known[name]
		if !exists {
			reject(w, api.Errorf(api.NotFound, "unknown operation %q", name).WithHint("did you mean %q?", "note"))
			return
		}
		body, _ := io.ReadAll(r.Body)
		err := api.EachField(body, func(field string, value json.RawMessage) error {
			if object := map[string]any{}; json.Unmarshal(value, &object) == nil && object["new"] != nil {
				return api.Errorf(api.Invalid, "%s: unknown field %q", field, "new")
			}
			if !strings.Contains(" "+fields+" ", " "+field+" ") {
				return api.Errorf(api.Invalid, "unknown field %q", field).WithHint("did you mean %q?", "text")
			}
			return nil
		})
		if err != nil {
			reject(w, api.AsError(err))
			return
		}
		*accepted = append(*accepted, name+" "+string(body))
		io.WriteString(w, "{}\n")
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return socket, accepted
}

// TestOlderDaemon checks that a daemon of an earlier version answers requests that need
// nothing new, that reads are repeated without new fields, and that nothing else is left out of a
// request.
func TestOlderDaemon(t *testing.T) {
	known := map[string]string{"context": "format query subject", "search": "query", "note": "text", "todo": "text"}
	for _, c := range []struct {
		name    string
		request *api.Request
		want    string // what the daemon accepts; "" if the error is ErrOlder
		repeats int
	}{
		{"default", api.RequestOf(api.ContextRequest{Format: "auto"}), `context {}`, 0},
		{"default pointer", api.RequestOf(api.ContextRequest{Format: "boot", Count: new(true)}), `context {"format":"boot"}`, 0},
		{"default of a write", api.RequestOf(api.TodoRequest{Text: "a", State: "done"}), `todo {"text":"a"}`, 0},
		{"new field", api.RequestOf(api.ContextRequest{Project: "x"}), `context {}`, 1},
		{"two new fields", api.RequestOf(api.SearchRequest{Query: "a", Limit: 3, Count: new(false)}), `search {"query":"a"}`, 2},
		{"new field of the scope", api.RequestOf(api.SearchRequest{Query: "a", Scope: api.Scope{Context: new("public")}}), "", 0},
		{"new field of a write", api.RequestOf(api.NoteRequest{Text: "a", Project: "b"}), "", 0},
		{"new operation", api.RequestOf(api.HistoryRequest{Path: "a.md"}), "", 0},
		{"new operation without fields", api.RequestOf(api.StatusRequest{}), "", 0},
	} {
		socket, accepted := serveOlder(t, known)
		repeats := 0
		daemon := &Client{Socket: socket, Older: func(err error) {
			if !errors.Is(err, ErrOlder) {
				t.Errorf("%s: Older is called with %v", c.name, err)
			}
			repeats++
		}}
		_, err := daemon.Do(t.Context(), c.request)
		if got := strings.Join(*accepted, "\n"); got != c.want || errors.Is(err, ErrOlder) != (c.want == "") || repeats != c.repeats {
			t.Errorf("%s: the daemon accepts %q after %d repetitions, error %v; want %q after %d",
				c.name, got, repeats, err, c.want, c.repeats)
		}
	}
}

// TestUnknownField checks which errors of a daemon mean that it is older.
func TestUnknownField(t *testing.T) {
	session := api.RequestOf(api.SessionRequest{Session: "a"})
	for _, c := range []struct {
		err  error
		want string
	}{
		{api.Errorf(api.Invalid, `unknown field "x"`), "x true"},
		{fmt.Errorf("session: %w", api.Errorf(api.Invalid, `unknown field "x"`)), "x true"},
		{api.Errorf(api.Invalid, `draft: unknown field "x"`), " true"},
		{api.Errorf(api.Invalid, `draft: invalid JSON: unknown field "x"`), " false"},
		{api.Errorf(api.Invalid, `session: "unknown field \"x\"" is too long`), " false"},
		{api.Errorf(api.Conflict, `unknown field "x"`), " false"},
		{api.Errorf(api.NotFound, `unknown operation "session"`), " true"},
		{api.Errorf(api.NotFound, `unknown operation "other"`), " false"},
		{api.Errorf(api.NotFound, `file "unknown field" not found`), " false"},
		{io.EOF, " false"},
		{nil, " false"},
	} {
		name, unknown := findUnknown(session, c.err)
		if got := fmt.Sprint(name, " ", unknown); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}

	// A daemon of this version finds values without effect, too, but only those that Check finds.
	refused := api.Errorf(api.Invalid, "query: no effect with `format` relevant")
	for format, want := range map[string]string{"relevant": "query true", "boot": "query false"} {
		name, unknown := findUnknown(api.RequestOf(api.ContextRequest{Format: format, Query: "a"}), refused)
		if got := fmt.Sprint(name, " ", unknown); got != want {
			t.Errorf("format %s: %s, want %s", format, got, want)
		}
	}
}
