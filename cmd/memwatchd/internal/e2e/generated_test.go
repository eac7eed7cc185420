package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// current checks that a generated page matches the sources; with -update it
// writes the page. It compares only the commands in console blocks, because
// [TestPagesAsTyped] checks their output.
func current(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(repository, name)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	old, err := parsePage(name, text)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	old.each("console", func(_, text string) {
		for _, step := range stepsOf(text) {
			shown[step.line] = step.output
		}
	})
	fresh, err := parsePage(name, []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	want = string(fresh.replaced("console", func(text string) string {
		var out strings.Builder
		for _, step := range stepsOf(text) {
			out.WriteString(step.typed() + shown[step.line])
		}
		return out.String()
	}))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is stale; run go test ./cmd/memwatchd/internal/e2e -run TestPages -update (-want +got):\n%s", name, diff)
	}
}

// cell returns s escaped for a table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s) }
