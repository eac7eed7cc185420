package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/ipc"
)

// Each archive below testdata/ops contains a memory, requests and expected
// answers. Its comment may set now, timezone, enabled, injection, max_items,
// max_chars, full_max_chars and untrusted. Its files are those of the memory, and
// the section "requests". A line of requests,
//
//	search: what it shows {"query": "a word"}
//
// names an operation and contains a request, sent by the owner in private unless it
// sets another scope. The indented lines below it contain the answer, as renderAnswer
// prints it. Hits are rendered one a line; with "in full" at the end of the name, like
// other answers.
//
// A section "written: PATH" contains text that is then written to a file, one a second, for
// operations on the journal.
//
// With "by NAME SUBJECT CONTEXT" after the operation, the request comes to a listener of
// that name with a fixed scope, of which - stands for an empty part. The names of its
// operations may follow.
//
// After each answer, archives contain the changed files too, as line diffs. In a request,
// $hash stands for the last hash in an answer, and $token for the last token. The setting
// quiet: none lets operations without a request write to files that changed a moment ago. The
// setting visibility is that of daily notes and sessions that set none themselves, model the
// proposal of a model for a merge; archives contain the items that it received. With the
// setting fields, archives contain only these members of answers.
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
// renders the answer to a request, and returns it as it was sent too.
func runArchives(t *testing.T, dir string, start func(*testing.T, *opsCase) func(*opsRequest) (text, sent string)) {
	names, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			checkError(t, err)
			text := txtar.Format(archive)
			c := readOpsCase(t, archive)
			ask, hash, token := start(t, c), "", ""
			var out []byte
			for _, a := range c.requests {
				a.request = []byte(strings.NewReplacer("$hash", hash, "$token", token).Replace(string(a.request)))
				answer, sent := ask(&a)
				if m := opsHash.FindStringSubmatch(sent); m != nil {
					hash = m[1]
				}
				if m := opsToken.FindStringSubmatch(sent); m != nil {
					token = m[1]
				}
				out = append(append(out, a.line+"\n"...), indentAnswer(answer)...)
			}
			for i, f := range archive.Files {
				if f.Name == "requests" {
					archive.Files[i].Data = out
				}
			}
			golden.File(t, name, text, txtar.Format(archive))
		})
	}
}

func indentAnswer(answer string) string {
	return regexp.MustCompile(`(?m)^.`).ReplaceAllString(answer, "  $0")
}

// askBoth answers requests by a function call and over HTTP.
func askBoth(t *testing.T, c *opsCase) func(*opsRequest) (text, sent string) {
	direct, wire, sockets := c.start(t), c.start(t), map[*api.Fixed]string{}
	return func(a *opsRequest) (string, string) {
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
		return c.render(t, a, []byte(answer), failure) + changed, answer
	}
}

// An opsCase is a parsed archive.
type opsCase struct {
	settings map[string]string
	files    []txtar.File
	writes   []txtar.File
	requests []opsRequest
	block    []byte // the first context block that was rendered
}

type opsRequest struct {
	line    string // of the archive
	name    string
	op      *api.Operation // nil for a request over HTTP
	method  string
	target  string
	fixed   *api.Fixed // of the listener; nil for none
	full    bool
	request []byte
}

var (
	opsSetting  = regexp.MustCompile(`(?m)^(now|timezone|max_items|max_chars|full_max_chars|injection|enabled|quiet|fields|read|visibility|pending|users|vectors|model|model_private|uses): (.*)$`)
	opsHash     = regexp.MustCompile(`"hash":"(.{64})"`)
	opsToken    = regexp.MustCompile(`"token":"(.{20})"`)
	opsUsual    = regexp.MustCompile(`,"index":\{("revision":1,"pending":0,)?"synced":true,"degraded":false\}|,"took_ms":0`)
	opsDigits   = regexp.MustCompile(`(:\d+\.\d{3})\d+`)
	opsWord     = regexp.MustCompile(`^"[\pL\pN_.,:;#~^/@+-]+"$`)
	requestBody = regexp.MustCompile(` [\[{].*`)
	opsTook     = regexp.MustCompile(`"took_ms":[0-9.e+-]+`)
)

func readOpsCase(t testing.TB, archive *txtar.Archive) *opsCase {
	t.Helper()
	guests := map[string]*api.Fixed{}
	c := &opsCase{settings: map[string]string{"now": "2026-02-05T12:00:00Z", "timezone": "UTC", "max_items": "50", "max_chars": "6000", "full_max_chars": "5000", "injection": "true", "enabled": "true", "pending": "0", "visibility": "public_ok"}}
	for _, m := range opsSetting.FindAllSubmatch(archive.Comment, -1) {
		c.settings[string(m[1])] = string(m[2])
	}
	for _, f := range archive.Files {
		if word, path, _ := strings.Cut(f.Name, ": "); word == "written" {
			c.writes = append(c.writes, txtar.File{Name: path, Data: f.Data})
		} else if _, err := api.LookUp(word); err == nil {
			t.Fatalf("%s: write this request and its answer as lines of the section requests", f.Name)
		} else if f.Name != "requests" {
			c.files = append(c.files, f)
		} else {
			for line := range strings.Lines(string(f.Data)) {
				if line[0] != ' ' && line != "\n" {
					c.requests = append(c.requests, readRequest(t, strings.TrimSuffix(line, "\n"), guests))
				}
			}
		}
	}
	return c
}

// readRequest parses a line of requests. A request over HTTP has headers behind >.
func readRequest(t testing.TB, line string, guests map[string]*api.Fixed) opsRequest {
	t.Helper()
	body := requestBody.FindString(line)
	headers := strings.Split(strings.TrimSuffix(line, body), " > ")
	a := opsRequest{line: line, name: headers[0], full: strings.HasSuffix(headers[0], "in full")}
	for _, h := range headers[1:] {
		a.request = append(a.request, "> "+h+"\n"...)
	}
	a.request = append(a.request, strings.TrimPrefix(body, " ")+"\n"...)
	word, _, _ := strings.Cut(a.name, ": ")
	word, by, _ := strings.Cut(word, " by ")
	op, err := api.LookUp(word)
	a.method, a.target, _ = strings.Cut(word, " ")
	a.op = op
	if err != nil && a.target == "" {
		t.Fatal(err)
	}
	if scope := strings.Split(by, " "); len(scope) > 2 && guests[by] == nil {
		guests[by] = guest(strings.Trim(scope[0], "-"), scope[1], strings.Trim(scope[2], "-")).Fixed
		guests[by].Operations = strings.Split(strings.Join(scope[3:], ""), ",")
		if len(scope) == 3 {
			guests[by].Operations = nil
		}
	}
	a.fixed = guests[by]
	return a
}

// render formats an answer or an error as the archives contain it.
func (c *opsCase) render(t *testing.T, a *opsRequest, direct []byte, failure error) string {
	t.Helper()
	if failure != nil {
		e := asError(failure)
		text := fmt.Sprintf("%s %d: %s\n", e.Code, e.Code.Status(), e.Message)
		if e.Hint != "" {
			text += "hint: " + e.Hint + "\n"
		}
		return text
	}
	fields := strings.Fields(c.settings["fields"])
	switch {
	case a.full:
		fields = nil
	case a.op.Name == "search" || a.op.Name == "recent":
		return opsHits(t, direct)
	case a.op.Name == "context":
		return c.renderContext(t, direct)
	}
	return renderAnswer(t, direct, fields)
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

// renderContext renders a context block and its metadata, after the first block only the
// lines that differ, if these are fewer.
func (c *opsCase) renderContext(t *testing.T, raw []byte) string {
	t.Helper()
	var a api.ContextAnswer
	checkError(t, json.Unmarshal(raw, &a))
	left, err := json.Marshal(a.LeftOut)
	checkError(t, err)
	block := fmt.Appendf(nil, "%s(%d items, %d chars, about %d tokens, left out %s, hints %q)\n", a.Text, a.Items, a.Chars, a.Tokens, left, a.Hints)
	text := golden.Changed(c.block, block)
	if c.block == nil {
		c.block = block
	}
	return string(text)
}

// renderAnswer prints the members of an answer that are not zero, all or those with the
// given names, in one line, and below them each element of a list of objects in a line of its
// own. A place is PATH:LINE or PATH:LINE-LINE. It omits hashes, a normal state of the index and
// further digits of fractions.
func renderAnswer(t *testing.T, raw []byte, names []string) string {
	t.Helper()
	raw = opsDigits.ReplaceAll(opsUsual.ReplaceAll(raw, nil), []byte("$1"))
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_, err := d.Token()
	checkError(t, err)
	var b strings.Builder
	renderObject(t, &b, d, "", names)
	return b.String()
}

// renderObject prints the rest of an object.
func renderObject(t *testing.T, b *strings.Builder, d *json.Decoder, indent string, names []string) {
	t.Helper()
	var line []string
	var below strings.Builder
	for d.More() {
		key, err := d.Token()
		checkError(t, err)
		var value json.RawMessage
		checkError(t, d.Decode(&value))
		name, text := key.(string), string(value)
		switch {
		case len(names) > 0 && !slices.Contains(names, name), name == "hash", text == "0", text == "false", text == `""`:
		case strings.HasPrefix(text, "[{"):
			list := json.NewDecoder(bytes.NewReader(value))
			list.Token()
			for list.More() {
				list.Token()
				below.WriteString(indent + "  " + name + ":")
				renderObject(t, &below, list, indent+"  ", nil)
			}
		case name == "line" && strings.HasPrefix(last(line), "path="):
			line[len(line)-1] = strings.TrimPrefix(last(line), "path=") + ":" + text
		case name == "end_line":
			if at := last(line); !strings.HasSuffix(at, ":"+text) && at != "line="+text {
				line[len(line)-1] += "-" + text
			}
		case opsWord.MatchString(text):
			line = append(line, name+"="+text[1:len(text)-1])
		default:
			line = append(line, name+"="+text)
		}
	}
	d.Token()
	if indent != "" {
		b.WriteString(" ")
	} else if line == nil && below.Len() == 0 {
		line = []string{"nothing"}
	}
	if line != nil || indent != "" {
		b.WriteString(strings.Join(line, " ") + "\n")
	}
	b.WriteString(below.String())
}

// last returns the last element of a list, or an empty string.
func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
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
