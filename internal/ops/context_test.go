package ops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestContextNewerFiles checks that a match names a file of the project that was
// written after its day, and that only the owner learns of it.
func TestContextNewerFiles(t *testing.T) {
	m := readOpsCase(t, txtar.Parse([]byte("-- memory/2026-02-01.md --\n- The port is set in `web/server.go` and ../secret.txt\n"+
		"- The port of the test is in old.go\n"))).memory(t)
	dir := filepath.Join(t.TempDir(), "shop")
	for name, day := range map[string]string{"web/server.go": "2026-02-03", "old.go": "2026-01-02", "../secret.txt": "2026-02-03"} {
		path := filepath.Join(dir, name)
		written, err := time.Parse(time.DateOnly, day)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600),
			os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		caller api.Caller
		want   int
	}{{api.Caller{AsOwner: true}, 1}, {api.Caller{AsOwner: true, Model: true}, 0}, {api.Caller{}, 0}} {
		call, err := m.readOps().resolveCall(c.caller)
		checkError(t, err)
		r := api.ContextRequest{Query: "port", Format: "relevant", Limit: 8, Dir: dir, Count: new(bool)}
		answer, err := m.readOps().context(t.Context(), call, &r)
		if err != nil || strings.Count(answer.Text, "newer]") != c.want ||
			strings.Count(answer.Text, "[web/server.go is newer]") != c.want {
			t.Errorf("%+v: %q, %v", c.caller, answer.Text, err)
		}
	}
}

// TestReturnedEntriesAreUsed checks that returned entries count as used unless
// the request disables that, and that answers do not depend on the counts.
func TestReturnedEntriesAreUsed(t *testing.T) {
	c := readOpsCase(t, txtar.Parse([]byte(`
-- MEMORY.md --
- the wifi password <!-- id=wifi -->
- the door code <!-- id=door visibility=public_ok -->
- nothing else <!-- id=else -->
-- 2026-02-05/cli.md --
- the wifi is slow <!-- id=slow -->
`)))
	m := c.memory(t)
	var used []string
	m.Used = func(ids []string, now time.Time) {
		if !now.Equal(m.Now()) {
			t.Errorf("used at %s", now)
		}
		used = append(used, ids...)
	}
	for _, test := range []struct{ op, request, want string }{
		{"search", `{"subject":"owner","context":"private","query":"wifi"}`, "2026-02-05/cli.md#slow MEMORY.md#wifi"},
		{"search", `{"subject":"owner","context":"private","query":"wifi","limit":1}`, "MEMORY.md#wifi"},
		{"search", `{"subject":"owner","context":"private","query":"wifi","count":false}`, ""},
		{"search", `{"subject":"owner","context":"public","query":"door wifi"}`, "2026-02-05/cli.md#slow MEMORY.md#door"},
		{"search", `{"subject":"owner","context":"private","query":"absent"}`, ""},
		{"recent", `{"subject":"owner","context":"private","hours":100}`, "2026-02-05/cli.md#slow MEMORY.md#door MEMORY.md#else MEMORY.md#wifi"},
		{"get", `{"subject":"owner","context":"private","id":"MEMORY.md#wifi"}`, "MEMORY.md#wifi"},
		{"get", `{"subject":"owner","context":"private","id":"wifi"}`, "MEMORY.md#wifi"},
		{"get", `{"subject":"owner","context":"public","id":"MEMORY.md#wifi"}`, ""},
		{"get", `{"subject":"owner","context":"private","path":"MEMORY.md"}`, ""}, // reading the whole file does not count
		{"context", `{"subject":"owner","context":"private","format":"relevant","query":"wifi"}`, "2026-02-05/cli.md#slow MEMORY.md#wifi"},
		{"context", `{"subject":"owner","context":"private","format":"relevant","query":"wifi","max_chars":90}`, "MEMORY.md#wifi"}, // the other one has no room
		{"context", `{"subject":"owner","context":"private","format":"relevant","query":"wifi","count":false}`, ""},
		{"context", `{"subject":"owner","context":"private","format":"full"}`, ""},
	} {
		op := lookUp(t, test.op)
		ask := opsRequest{op: op, request: []byte(test.request)}
		used = nil
		first, _ := ask.direct(t.Context(), m)
		slices.Sort(used)
		if got := strings.Join(used, " "); got != test.want {
			t.Errorf("%s %s: %s is used, want %s", test.op, test.request, got, test.want)
		}
		for range 3 {
			again, _ := ask.direct(t.Context(), m)
			if diff := cmp.Diff(string(opsTook.ReplaceAll(first, nil)), string(opsTook.ReplaceAll(again, nil))); diff != "" {
				t.Fatalf("%s %s: the answer depends on what was asked before:\n%s", test.op, test.request, diff)
			}
		}
	}
}

// A failingIndexer returns fixed errors, and records until when calls wait.
type failingIndexer struct {
	Indexer
	err, rootsErr error
	until         []time.Time
}

func (f *failingIndexer) record(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	f.until = append(f.until, deadline)
}

func (f *failingIndexer) Sync(ctx context.Context) error {
	f.record(ctx)
	return f.err
}

func (f *failingIndexer) SyncRoots(ctx context.Context, _ []string) error {
	f.record(ctx)
	return f.rootsErr
}

// TestWaitForRoots checks that a call waits for the memory directory and for the
// folders together no longer than SyncTimeout, and for each of them even if the other
// cannot be read.
func TestWaitForRoots(t *testing.T) {
	vault := []*memory.Root{{Name: "vault", Owner: "owner"}}
	root := &opsRoot{directories: memory.Directories{Owner: "owner", Roots: vault}}
	for _, indexer := range []*failingIndexer{
		{Indexer: root},
		{Indexer: root, err: errors.New("unreadable")},
		{Indexer: root, rootsErr: errors.New("unreadable")},
	} {
		m := readOps{syncer: indexer, Reading: &Reading{Layout: &memory.Layout{Owner: "owner", Roots: vault}, Owner: "owner", Scopes: root,
			SyncTimeout: time.Minute}}
		c := Call{Scope: memory.Scope{Subject: "owner", Context: memory.Private}, start: time.Now()}
		checkError(t, m.syncIndex(t.Context(), &c))
		c, err := m.withRoots(t.Context(), c, nil)
		if want := indexer.err == nil && indexer.rootsErr == nil; err != nil || c.synced != want {
			t.Errorf("%v, %v: synced %v, %v", indexer.err, indexer.rootsErr, c.synced, err)
		}
		if len(indexer.until) != 2 || indexer.until[1].After(indexer.until[0]) {
			t.Errorf("%v, %v: waits until %v", indexer.err, indexer.rootsErr, indexer.until)
		}
	}
}
