package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestContextCounts checks that the entries in a relevant block count as used
// unless the request disables that, and that omitted entries do not.
func TestContextCounts(t *testing.T) {
	m := readOpsCase(t, txtar.Parse([]byte("-- MEMORY.md --\n- a train <!-- id=a -->\n- a train that is late <!-- id=b -->\n"))).memory(t)
	var used []string
	m.Used = func(ids []string, _ time.Time) { used = append(used, ids...) }
	room := 85
	for _, c := range []struct {
		what string
		r    api.ContextRequest
		want []string
	}{
		{"relevant", api.ContextRequest{Query: "train", Format: "relevant"}, []string{"MEMORY.md#a", "MEMORY.md#b"}},
		{"relevant, with little room", api.ContextRequest{Query: "train", Format: "relevant", MaxChars: &room}, []string{"MEMORY.md#a"}},
		{"relevant, not counted", api.ContextRequest{Query: "train", Format: "relevant", Count: new(bool)}, nil},
		{"all of a file", api.ContextRequest{Format: "full"}, nil},
	} {
		used = nil
		call, err := m.readOps().resolveCall(api.Caller{AsOwner: true})
		if err != nil {
			t.Fatal(err)
		}
		if c.r.Count == nil {
			yes := true
			c.r.Count = &yes
		}
		c.r.Limit = 8
		answer, err := m.readOps().context(t.Context(), call, &c.r)
		if err != nil || answer.Text == "" {
			t.Fatalf("%s: %q, %v", c.what, answer.Text, err)
		}
		if diff := cmp.Diff(c.want, used); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

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
		if err != nil {
			t.Fatal(err)
		}
		r := api.ContextRequest{Query: "port", Format: "relevant", Limit: 8, Dir: dir, Count: new(bool)}
		answer, err := m.readOps().context(t.Context(), call, &r)
		if err != nil || strings.Count(answer.Text, "newer]") != c.want ||
			strings.Count(answer.Text, "[web/server.go is newer]") != c.want {
			t.Errorf("%+v: %q, %v", c.caller, answer.Text, err)
		}
	}
}
