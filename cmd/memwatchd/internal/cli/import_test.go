package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestKeepInvalid keeps lines, also where another user has put a link to a file of the
// caller.
func TestKeepInvalid(t *testing.T) {
	dir := t.TempDir()
	own, file := filepath.Join(dir, "own"), filepath.Join(dir, "a.jsonl")
	for range 2 {
		testkit.Must(t, keepInvalid(file, []byte("bad\n")))
	}
	if err := keepInvalid(file, []byte("worse\n")); err == nil {
		t.Error("other lines are replaced")
	}
	if got, err := os.ReadFile(file + ".invalid"); err != nil || string(got) != "bad\n" {
		t.Errorf("the file contains %q, %v", got, err)
	}
	linked := filepath.Join(dir, "b.jsonl")
	if err := os.Symlink(own, linked+".invalid"); err != nil {
		t.Skip(err)
	}
	if err := keepInvalid(linked, []byte("bad\n")); err == nil {
		t.Error("a link is followed")
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("the target of a link was written")
	}
}

// TestBatch checks that each line is sent once, in requests below the limit, which are
// told the number of earlier lines.
func TestBatch(t *testing.T) {
	op, err := api.LookUp("item_import")
	testkit.Must(t, err)
	var all strings.Builder
	b := &batch{req: op.NewRequest(), param: "lines"}
	b.send = func(_ context.Context, before int) error {
		lines, _ := b.req.GivenValue("lines")
		if n := strings.Count(all.String(), "\n"); n != before || len(lines) > maxImportBatch {
			t.Errorf("%d bytes after %d lines, want %d", len(lines), before, n)
		}
		all.WriteString(lines)
		return nil
	}
	want := ""
	for _, n := range []int{1, maxImportBatch / 2, maxImportBatch / 2, 0, maxImportBatch, 3} {
		line := strings.Repeat("x", max(n-3, 0)) + "\n"
		want += line
		testkit.Must(t, b.add(t.Context(), line))
	}
	testkit.Must(t, b.flush(t.Context()))
	if all.String() != want || b.sent != 6 {
		t.Errorf("%d bytes were sent, want %d", all.Len(), len(want))
	}
}
