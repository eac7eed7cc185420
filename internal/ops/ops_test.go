package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
)

var updateOps = flag.Bool("update", false, "write golden files anew")

// Each archive below testdata/ops contains a memory, requests and expected
// answers. Its comment may set now, timezone, enabled, injection, max_items,
// max_chars, full_max_chars and untrusted. Its files are those of the memory,
// until the first section named after an operation. Such a section,
//
//	-- search: what it shows --
//
// contains a request, sent by the owner in private unless it sets another
// scope. The next section contains the answer. Hits are rendered one a line;
// with "in full" at the end of the name, as the encoded answer.
//
// A section "written: PATH" contains text that is then written to a file, one a second, for
// operations on the journal.
//
// With "by NAME SUBJECT CONTEXT" after the operation, the request comes to a listener of
// that name with a fixed scope, of which - stands for an empty part. The names of its
// operations may follow.
//
// After each request, archives contain the changed files too, as line diffs. In a request,
// $hash stands for the last hash in an answer, and $token for the last token. The setting
// quiet: none lets operations without a request write to files that changed a moment ago. The
// setting visibility is that of daily notes and sessions that set none themselves, model the
// proposal of a model for a merge; archives contain the items that it received. With the
// setting fields, archives contain only these members of answers, an element a line.
//
// Every request goes to two such memories, as a function call and over HTTP on a Unix
// socket. The answers and the changes must be the same bytes.
func TestOperations(t *testing.T) { runArchives(t, "testdata/ops", askBoth) }

func TestWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	runArchives(t, "testdata/writes", askBoth)
}

// runArchives runs the requests of archives. The function start returns a function that
// renders the answer to a request.
func runArchives(t *testing.T, dir string, start func(*testing.T, *opsCase) func(*opsRequest) string) {
	names, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			checkError(t, err)
			c := readOpsCase(t, archive)
			ask, hash, token := start(t, c), "", ""
			for _, a := range c.requests {
				a.request = []byte(strings.NewReplacer("$hash", hash, "$token", token).Replace(string(a.request)))
				answer := ask(&a)
				if m := opsHash.FindStringSubmatch(answer); m != nil {
					hash = m[1]
				}
				if m := opsToken.FindStringSubmatch(answer); m != nil {
					token = m[1]
				}
				if *updateOps {
					archive.Files[a.at+1].Data = []byte(answer)
				} else if diff := cmp.Diff(string(archive.Files[a.at+1].Data), answer); diff != "" {
					t.Errorf("%s (-want +got):\n%s", a.name, diff)
				}
			}
			if *updateOps {
				checkError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
			}
		})
	}
}

// askBoth answers requests by a function call and over HTTP.
func askBoth(t *testing.T, c *opsCase) func(*opsRequest) string {
	direct, wire, sockets := c.start(t), c.start(t), map[*api.Fixed]string{}
	return func(a *opsRequest) string {
		if sockets[a.fixed] == "" {
			sockets[a.fixed] = serveAs(t, wire.memory, func(e *ipc.Endpoint, _ *ipc.Server) { e.Fixed = a.fixed })
		}
		answer, failure := direct.send(t.Context(), api.Caller{AsOwner: a.fixed == nil, Fixed: a.fixed}, a.op, a.request)
		sent := answer
		if failure != nil {
			body, err := api.EncodeJSON(api.Failure{Error: asError(failure)})
			checkError(t, err)
			sent = string(body)
		}
		if diff := cmp.Diff(sent, postOps(t, sockets[a.fixed], a, a.request)); diff != "" {
			t.Errorf("%s: the function and HTTP differ (-function +HTTP):\n%s", a.name, diff)
		}
		changed := direct.changes(t)
		if diff := cmp.Diff(changed, wire.changes(t)); diff != "" {
			t.Errorf("%s: the files differ (-function +HTTP):\n%s", a.name, diff)
		}
		return a.render(t, []byte(answer), failure, c.settings["fields"]) + changed
	}
}

// An opsCase is a parsed archive.
type opsCase struct {
	settings map[string]string
	files    []txtar.File
	writes   []txtar.File
	requests []opsRequest
}

type opsRequest struct {
	at      int // index of the section; the answer is in the next one
	name    string
	op      *api.Operation // nil for a request over HTTP
	method  string
	target  string
	fixed   *api.Fixed // of the listener; nil for none
	full    bool
	request []byte
}

var (
	opsSetting = regexp.MustCompile(`(?m)^(now|timezone|max_items|max_chars|full_max_chars|injection|enabled|quiet|fields|read|visibility|pending|users|vectors|model|model_private|uses): (.*)$`)
	opsHash    = regexp.MustCompile(`(?m)^ *"?hash"?: "(.{64})"`)
	opsToken   = regexp.MustCompile(`(?m)^ *"?token"?: "(.{20})"`)
	opsTook    = regexp.MustCompile(`"took_ms":[0-9.e+-]+`)
)

func readOpsCase(t testing.TB, archive *txtar.Archive) *opsCase {
	t.Helper()
	guests := map[string]*api.Fixed{}
	c := &opsCase{settings: map[string]string{"now": "2026-02-05T12:00:00Z", "timezone": "UTC", "max_items": "50", "max_chars": "6000", "full_max_chars": "5000", "injection": "true", "enabled": "true", "pending": "0", "visibility": "public_ok"}}
	for _, m := range opsSetting.FindAllSubmatch(archive.Comment, -1) {
		c.settings[string(m[1])] = string(m[2])
	}
	for i := 0; i < len(archive.Files); i++ {
		f := archive.Files[i]
		word, path, _ := strings.Cut(f.Name, ": ")
		if word == "written" {
			c.writes = append(c.writes, txtar.File{Name: path, Data: f.Data})
			continue
		}
		word, by, _ := strings.Cut(word, " by ")
		op, err := api.LookUp(word)
		method, target, _ := strings.Cut(word, " ")
		if err != nil && !slices.Contains([]string{"GET", "POST", "PUT", "DELETE"}, method) {
			c.files = append(c.files, f)
			continue
		}
		i++
		if i == len(archive.Files) {
			t.Fatalf("%s has no section with its answer", f.Name)
		}
		if scope := strings.Split(by, " "); len(scope) > 2 && guests[by] == nil {
			guests[by] = guest(strings.Trim(scope[0], "-"), scope[1], strings.Trim(scope[2], "-")).Fixed
			guests[by].Operations = strings.Split(strings.Join(scope[3:], ""), ",")
			if len(scope) == 3 {
				guests[by].Operations = nil
			}
		}
		c.requests = append(c.requests, opsRequest{i - 1, f.Name, op, method, target, guests[by], strings.HasSuffix(f.Name, "in full"), f.Data})
	}
	return c
}

// render formats an answer or an error as the archives contain it.
func (a *opsRequest) render(t *testing.T, direct []byte, failure error, fields string) string {
	t.Helper()
	if failure != nil {
		e := asError(failure)
		text := fmt.Sprintf("%s %d: %s\n", e.Code, e.Code.Status(), e.Message)
		if e.Hint != "" {
			text += "hint: " + e.Hint + "\n"
		}
		return text
	}
	if !a.full && (a.op.Name == "search" || a.op.Name == "recent") {
		return opsHits(t, direct)
	}
	if !a.full && a.op.Name == "operations" {
		return strings.Join(decodeAnswer[api.OperationsAnswer](string(direct)).Operations, " ") + "\n"
	}
	if !a.full && a.op.Name == "context" {
		return opsContext(t, direct)
	}
	if fields != "" && !a.full {
		return opsFields(t, direct, strings.Fields(fields))
	}
	return opsJSON(t, direct)
}

// opsFields renders members of an answer, one a line, and their elements if they are lists.
func opsFields(t *testing.T, raw []byte, names []string) string {
	t.Helper()
	var members map[string]json.RawMessage
	checkError(t, json.Unmarshal(raw, &members))
	var b strings.Builder
	for _, name := range names {
		value, ok := members[name]
		if !ok {
			continue
		}
		list := []json.RawMessage{value}
		if value[0] == '[' {
			checkError(t, json.Unmarshal(value, &list))
		}
		for _, v := range list {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	return b.String()
}

// opsHits renders the hits, one a line.
func opsHits(t *testing.T, raw []byte) string {
	t.Helper()
	var a api.SearchAnswer
	checkError(t, json.Unmarshal(raw, &a))
	var b strings.Builder
	for _, h := range a.Hits {
		text, _, _ := strings.Cut(h.Text, "\n")
		fmt.Fprintf(&b, "%s:%d  %s\n", h.Path, h.Line, text)
		for _, p := range h.AlsoAt {
			fmt.Fprintf(&b, "  also %s:%d\n", p.Path, p.Line)
		}
	}
	fmt.Fprintf(&b, "total %d\n", a.Total)
	if s := a.Index.Semantic; s != nil {
		fmt.Fprintf(&b, "semantic %s, %d ready\n", s.State, s.Ready)
	}
	if a.Index.Notice != "" {
		fmt.Fprintf(&b, "notice: %s, note %q, absent %q\n", a.Index.Notice, a.Note, a.Absent)
	}
	if a.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", a.Note)
	}
	return b.String()
}

// opsContext renders a context block and its metadata.
func opsContext(t *testing.T, raw []byte) string {
	t.Helper()
	var a api.ContextAnswer
	checkError(t, json.Unmarshal(raw, &a))
	left, err := json.Marshal(a.LeftOut)
	checkError(t, err)
	return fmt.Sprintf("%s(%d items, %d chars, about %d tokens, left out %s, hints %q)\n", a.Text, a.Items, a.Chars, a.Tokens, left, a.Hints)
}

// opsJSON renders an answer as indented JSON, without the index state if that
// is normal.
func opsJSON(t *testing.T, raw []byte) string {
	t.Helper()
	raw = bytes.ReplaceAll(raw, []byte(`,"index":{"revision":1,"pending":0,"synced":true,"degraded":false}`), nil)
	raw = bytes.ReplaceAll(raw, []byte(`,"index":{"synced":true,"degraded":false}`), nil)
	raw = bytes.ReplaceAll(raw, []byte(`,"took_ms":0`), nil)
	var b bytes.Buffer
	checkError(t, json.Indent(&b, raw, "", "  "))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func serveOps(t testing.TB, m *Memory) string {
	t.Helper()
	return serveAs(t, m, func(*ipc.Endpoint, *ipc.Server) {})
}

// serveAs serves a memory on a socket with changed settings.
func serveAs(t testing.TB, m *Memory, change func(*ipc.Endpoint, *ipc.Server)) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw") // short: a socket's path has 107 bytes at most
	checkError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	e, server := ipc.Endpoint{Path: filepath.Join(dir, "s")}, &ipc.Server{Backend: m, Logger: slog.New(slog.DiscardHandler)}
	change(&e, server)
	l, err := e.Listen()
	checkError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, l.Close()); err != nil {
			t.Error(err)
		}
	})
	return l.Path
}

// socketTransport connects to a socket.
func socketTransport(socket string) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
}

// postOps sends an HTTP request, to a listener without a fixed scope as the owner's own
// tools do, and returns the answer without durations.
func postOps(t *testing.T, socket string, a *opsRequest, body []byte) string {
	t.Helper()
	header := http.Header{}
	if a.fixed == nil {
		header.Set(api.OwnerHeader, "1")
	}
	res := send(t, socket, http.MethodPost, "/v1/"+a.op.Name, string(body), header)
	if failure := decodeAnswer[api.Failure](res.body); failure.Error != nil && res.status != failure.Error.Code.Status() {
		t.Errorf("%s answers %d with the code %s", a.op.Name, res.status, failure.Error.Code)
	}
	return opsTook.ReplaceAllString(res.body, `"took_ms":0`)
}

func lookUp(t testing.TB, name string) *api.Operation {
	t.Helper()
	op, err := api.LookUp(name)
	checkError(t, err)
	return op
}

func checkError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
