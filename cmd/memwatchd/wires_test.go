package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/ipc"
)

// tookMS is what may differ between two answers to one question.
var tookMS = regexp.MustCompile(`"took_ms":[0-9.e+-]+`)

// The requests of the operations' own tests, asked as commands and over HTTP of
// a daemon that runs on the same files: both get the same bytes, or the same
// error.
func TestCommandsAnswerAsHTTP(t *testing.T) {
	names, err := filepath.Glob("../../ipc/testdata/ops/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			var asks []txtar.File
			for _, f := range archive.Files {
				switch word, _, _ := strings.Cut(f.Name, ":"); {
				case operationNamed(word) != nil:
					asks = append(asks, f)
				case f.Name != "answer":
					path := filepath.Join(root, filepath.FromSlash(f.Name))
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			l := startLive(t, root, "")
			asked := 0
			for _, ask := range asks {
				if compareWires(t, l, ask) {
					asked++
				}
			}
			if asked == 0 {
				t.Error("no request could be asked as a command")
			}
		})
	}
}

func operationNamed(name string) *ipc.Operation {
	for _, op := range ipc.Operations {
		if op.Name == name {
			return op
		}
	}
	return nil
}

// compareWires asks in both ways, if there is a command line that says what the
// request says.
func compareWires(t *testing.T, l *live, ask txtar.File) bool {
	t.Helper()
	word, _, _ := strings.Cut(ask.Name, ":")
	op := operationNamed(word)
	var fields map[string]any
	if json.Unmarshal(ask.Data, &fields) != nil {
		return false
	}
	if op.Name == "search" || op.Name == "recent" { // or a second may pass between the two
		if _, ok := fields["as_of"]; !ok {
			fields["as_of"] = "2026-02-05T12:00:00Z"
		}
	}
	args, ok := commandLine(op, fields)
	if !ok || op.Programs {
		return false
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://memwatchd/v1/"+op.Name, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Memwatchd-As-Owner", "1")
	res, err := overSocket(l.socket).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	wire, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"--config", l.config, "--json"}, args...), &stdout, &stderr)
	if res.StatusCode == http.StatusOK {
		if code != 0 {
			t.Errorf("%s: %v ends with %d: %s", ask.Name, args, code, stderr.String())
			return true
		}
		want, got := tookMS.ReplaceAllString(string(wire), ""), tookMS.ReplaceAllString(stdout.String(), "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %v (-HTTP +command):\n%s", ask.Name, args, diff)
		}
		return true
	}
	var failure struct{ Error *ipc.Error }
	if err := json.Unmarshal(wire, &failure); err != nil || failure.Error == nil {
		t.Fatalf("%s: the answer is no error: %s", ask.Name, wire)
	}
	if want, got := "memwatchd: "+escapeLine(failure.Error.Error())+"\n", stderr.String(); want != got || code == 0 || stdout.Len() > 0 {
		t.Errorf("%s: %v ends with %d and says\n%swant\n%s", ask.Name, args, code, got, want)
	}
	return true
}

// commandLine says in flags and arguments what a request says in JSON, if it
// can: a command has no fields that are unknown, or of another type.
func commandLine(op *ipc.Operation, fields map[string]any) (args []string, ok bool) {
	args = strings.Fields(op.Command)
	positional := []string{"--"}
	for _, p := range op.Params {
		value, given := fields[p.Name]
		if !given {
			continue
		}
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		for _, v := range values {
			if !fits(p.Kind(), v, isList) {
				return nil, false
			}
			if p.Arg != "" {
				positional = append(positional, fmt.Sprint(v))
			} else {
				args = append(args, fmt.Sprintf("--%s=%v", strings.ReplaceAll(p.Name, "_", "-"), v))
			}
		}
	}
	for name := range fields {
		if !slices.ContainsFunc(op.Params, func(p *ipc.Param) bool { return p.Name == name }) {
			return nil, false
		}
	}
	return append(args, positional...), true
}

// fits reports whether a value can be typed for a parameter.
func fits(kind string, v any, isList bool) bool {
	switch x := v.(type) {
	case string:
		return kind == "string" && !isList || kind == "strings" && isList
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && x == float64(int(x))
	}
	return false
}
