package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
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
