package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
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
// A section "written: PATH" contains text that is then written to a file by a
// separate vault, for operations on the journal.
//
// Archives below testdata/writes contain a memory on disk. After each request, they
// contain the changed files too, as line diffs. In a request, $hash stands for the last hash
// in an answer, and $token for the last token. The setting quiet: none lets operations
// without a request write to files that changed a moment ago. The setting visibility is that
// of daily notes and sessions that set none themselves.
//
// Every request goes to two such memories, as a function call and over HTTP on a Unix
// socket. The answers and the changes must be the same bytes.
func TestOperations(t *testing.T) {
	runArchives(t, "testdata/ops", func(c *opsCase) (*Memory, func(testing.TB) string) { return c.memory(t), nil })
}

func TestWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	runArchives(t, "testdata/writes", func(c *opsCase) (*Memory, func(testing.TB) string) {
		d := c.disk(t)
		return d.memory, d.changes
	})
}

// runArchives runs the requests of archives. The function start returns a memory, and a
// function that returns the changes since its last call, which may be nil.
func runArchives(t *testing.T, dir string, start func(*opsCase) (*Memory, func(testing.TB) string)) {
	names, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			checkError(t, err)
			c := readOpsCase(t, archive)
			direct, changes := start(c)
			wire, wireChanges := start(c)
			socket := serveOps(t, wire)
			hash, token := "", ""
			for _, a := range c.requests {
				a.request = []byte(strings.NewReplacer("$hash", hash, "$token", token).Replace(string(a.request)))
				answer := a.answer(t, direct, socket)
				if _, rest, ok := strings.Cut(answer, `"hash": "`); ok {
					hash = rest[:64]
				}
				if _, rest, ok := strings.Cut(answer, `"token": "`); ok {
					token = rest[:20]
				}
				if changes != nil {
					changed := changes(t)
					if diff := cmp.Diff(changed, wireChanges(t)); diff != "" {
						t.Errorf("%s: the files differ (-function +HTTP):\n%s", a.name, diff)
					}
					answer += changed
				}
				a.compare(t, archive, answer)
			}
			if *updateOps {
				checkError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
			}
		})
	}
}

// compare compares an answer with the one in an archive, or updates that.
func (a *opsRequest) compare(t *testing.T, archive *txtar.Archive, answer string) {
	t.Helper()
	if *updateOps {
		archive.Files[a.at+1].Data = []byte(answer)
	} else if diff := cmp.Diff(string(archive.Files[a.at+1].Data), answer); diff != "" {
		t.Errorf("%s (-want +got):\n%s", a.name, diff)
	}
}

// An opsCase is a parsed archive.
type opsCase struct {
	settings map[string]string
	files    []txtar.File
	writes   []txtar.File
	requests []opsRequest
	index    *index.Index // of the files; built once, since no request changes it
}

type opsRequest struct {
	at      int // index of the section; the answer is in the next one
	name    string
	op      *api.Operation
	full    bool
	request []byte
}

var (
	opsSetting = regexp.MustCompile(`(?m)^(now|timezone|max_items|max_chars|full_max_chars|injection|enabled|quiet|read|visibility|pending): (.*)$`)
	opsTook    = regexp.MustCompile(`"took_ms":[0-9.e+-]+`)
)

func readOpsCase(t testing.TB, archive *txtar.Archive) *opsCase {
	t.Helper()
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
		word, _, _ = strings.Cut(f.Name, ":")
		op, err := api.LookUp(word)
		if err != nil {
			c.files = append(c.files, f)
			continue
		}
		i++
		if i == len(archive.Files) {
			t.Fatalf("%s has no section with its answer", f.Name)
		}
		c.requests = append(c.requests, opsRequest{i - 1, f.Name, op, strings.HasSuffix(f.Name, "in full"), f.Data})
	}
	return c
}

func (c *opsCase) memory(t testing.TB) *Memory {
	t.Helper()
	now, err := time.Parse(time.RFC3339, c.settings["now"])
	checkError(t, err)
	location, err := time.LoadLocation(c.settings["timezone"])
	checkError(t, err)
	number := func(key string) int {
		n, err := strconv.Atoi(c.settings[key])
		checkError(t, err)
		return n
	}
	root := &opsRoot{docs: map[string]*memory.Document{}, pending: number("pending")}
	days := memory.ParseVisibility(c.settings["visibility"])
	layout := &memory.Layout{Location: location, Users: root.user, Mask: secrets.Mask, Daily: days, Sessions: days}
	var updates []index.Update
	for _, f := range c.files {
		if f.Name != memory.IdentitiesPath {
			root.paths = append(root.paths, f.Name)
		}
	}
	for _, f := range c.files {
		if f.Name == memory.IdentitiesPath {
			root.identities, _ = memory.ParseIdentities(f.Data) // an invalid file contains no links
			continue
		}
		doc := layout.Parse(f.Name, f.Data, memory.Meta{ModTime: now.AddDate(0, 0, -1)})
		root.docs[f.Name] = doc
		root.directories.Set(doc.Place, doc.Claim)
		updates = append(updates, index.Update{Path: f.Name, Doc: doc})
	}
	if c.index == nil {
		c.index = openOps(t, root, updates)
	}
	return &Memory{Reading: Reading{
		Index: c.index, Files: root, Scopes: root, Owner: "owner", Location: location,
		MaxItems: number("max_items"), MaxChars: number("max_chars"), MaxFull: number("full_max_chars"),
		Layout: layout, Disabled: c.settings["enabled"] != "true",
		Injection: c.settings["injection"] == "true", SyncTimeout: time.Minute, Now: func() time.Time { return now },
		ProjectsOf: func(path string) []string {
			if strings.HasPrefix(path, "notes/blog/") {
				return []string{"blog"}
			}
			return nil
		},
	}, Administration: Administration{
		Indexer: root, Undoer: c.undoer(t, now),
		Compactor: &compactor.Compactor{
			Root: compactor.Root{
				Files: root, Disk: &vault.Vault{Dir: t.TempDir()}, Paths: func() []string { return slices.Clone(root.paths) },
				Location: location, Now: func() time.Time { return now },
				Parse: func(f vault.File) *memory.Document {
					return layout.Parse(f.Path, f.Data, memory.Meta{ModTime: f.ModTime})
				},
			},
			MaxLoss: 0.25, Host: "desk", Logger: slog.New(slog.DiscardHandler),
			Limits: []api.CompactLimit{{Pattern: "_longterms/*/_index.md", Items: 4, Characters: 3000}},
			Soft:   compactor.SoftLimits(5000),
		},
	}}
}

// openOps returns a complete index of files.
func openOps(t testing.TB, root *opsRoot, updates []index.Update) *index.Index {
	t.Helper()
	x, err := index.Open(t.TempDir(), index.Options{Source: root, Texts: true, Logger: slog.New(slog.DiscardHandler)})
	checkError(t, err)
	t.Cleanup(func() { x.Close() })
	checkError(t, x.Apply(t.Context(), updates))
	checkError(t, x.Confirm(x.Status().Epoch))
	return x
}

// undoer returns an Undoer after it has written the files of the case, one
// second apart, the last of them now. Without such files it returns nil.
func (c *opsCase) undoer(t testing.TB, now time.Time) *vault.Undoer {
	t.Helper()
	if len(c.writes) == 0 {
		return nil
	}
	journal, err := journal.Open(filepath.Join(t.TempDir(), "journal"), 0)
	checkError(t, err)
	now = now.Add(-time.Duration(len(c.writes)) * time.Second)
	journal.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	w := &vault.Writer{Vault: &vault.Vault{Dir: t.TempDir()}, Journal: journal, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range c.writes {
		_, err := w.Write(t.Context(), vault.Change{
			Path: f.Name, Cause: "edit", Reason: "a test", Requested: true,
			Edit: func(*vault.File) ([]byte, error) { return f.Data, nil },
		})
		checkError(t, err)
	}
	return &vault.Undoer{Writer: w}
}

// answer sends a request in all ways and renders the result.
func (a *opsRequest) answer(t *testing.T, m *Memory, socket string) string {
	t.Helper()
	direct, failure := a.direct(t.Context(), m)
	if failure != nil {
		var err error
		direct, err = api.EncodeJSON(api.Failure{Error: asError(failure)})
		checkError(t, err)
	}
	wire := postOps(t, socket, a.op.Name, a.request)
	for _, b := range []*[]byte{&direct, &wire} {
		*b = opsTook.ReplaceAll(*b, []byte(`"took_ms":0`))
	}
	if diff := cmp.Diff(string(direct), string(wire)); diff != "" {
		t.Errorf("%s: the function and HTTP differ (-function +HTTP):\n%s", a.name, diff)
	}
	return a.render(t, direct, failure)
}

// render formats an answer or an error as the archives contain it.
func (a *opsRequest) render(t *testing.T, direct []byte, failure error) string {
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
	if !a.full && a.op.Name == "context" {
		return opsContext(t, direct)
	}
	return opsJSON(t, direct)
}

func (a *opsRequest) direct(ctx context.Context, m *Memory) ([]byte, error) {
	req := a.op.NewRequest()
	if err := req.Decode(a.request); err != nil {
		return nil, err
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	got, err := m.Do(ctx, api.Caller{Scope: req.Scope(), AsOwner: true}, req)
	if err != nil {
		return nil, err
	}
	return api.EncodeJSON(got)
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

// postOps sends an HTTP request as the owner's own tools do.
func postOps(t *testing.T, socket, op string, body []byte) []byte {
	t.Helper()
	res := send(t, socket, http.MethodPost, "/v1/"+op, string(body), http.Header{api.OwnerHeader: {"1"}})
	if failure := decodeAnswer[api.Failure](res.body); failure.Error != nil && res.status != failure.Error.Code.Status() {
		t.Errorf("%s answers %d with the code %s", op, res.status, failure.Error.Code)
	}
	return []byte(res.body)
}

// An opsRoot is a directory of constant files.
type opsRoot struct {
	paths       []string
	docs        map[string]*memory.Document
	directories memory.Directories
	identities  *memory.Identities
	pending     int // files that are not indexed yet
}

// user reports whether a directory contains the files of a user directory.
func (r *opsRoot) user(dir string) bool {
	return slices.Contains(r.paths, dir+"/MEMORY.md") &&
		slices.ContainsFunc(r.paths, func(p string) bool { return strings.HasPrefix(p, dir+"/memory/") })
}

// Load implements [index.Source] and [Files].
func (r *opsRoot) Load(path string) (*memory.Document, error) {
	if doc := r.docs[path]; doc != nil {
		return doc, nil
	}
	return nil, fs.ErrNotExist
}

// Resolve, Scope and View implement [Scopes].
func (r *opsRoot) Resolve(key string) string {
	subject, _ := r.identities.Resolve(key)
	return subject
}

func (r *opsRoot) Scope(subject string, context memory.Context) memory.Scope {
	return memory.Scope{Subject: subject, Aliases: r.identities.AliasesOf(subject), Context: context}
}

func (r *opsRoot) Links() ([]memory.LinkedKey, error) { return r.identities.Links(), nil }

func (r *opsRoot) View(s memory.Scope) (memory.View, error) { return r.directories.View(s) }

// The remaining methods of [Indexer] are stubs; the daemon's tests cover the
// real ones.
func (r *opsRoot) Sync(context.Context) error {
	if r.pending > 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (r *opsRoot) SyncRoots(context.Context, []string) error { return nil }

func (r *opsRoot) State() api.IndexStatus { return api.IndexStatus{Revision: 1, Pending: r.pending} }

func (r *opsRoot) Report() api.Status { return api.Status{Index: r.State(), Healthy: true} }

func (r *opsRoot) Rebuild(context.Context) error { return nil }

func (r *opsRoot) Purge(context.Context) error { return nil }

func (r *opsRoot) Check(context.Context, string) (*api.CheckAnswer, error) {
	return &api.CheckAnswer{Problems: []api.FileProblem{}, Conflicts: []api.ClaimConflict{}, Skipped: []api.Skipped{}, Differing: []api.Skipped{}}, nil
}

func (r *opsRoot) Reindex(context.Context, []string) error { return nil }

func (r *opsRoot) Subscribe(_ context.Context, f func(Change) error) error {
	return f(Change{Event: api.Event{Event: api.Listening}})
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
