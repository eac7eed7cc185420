package ops

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

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
