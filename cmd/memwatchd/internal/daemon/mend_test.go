package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// TestMendIndex checks that if the index differs from a file and its stamp
// does not show it, Check finds the difference and Reindex corrects it.
func TestMendIndex(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a.md": "- one\n- two\n", "b.md": "- three\n"} {
		testkit.Must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	g := startTarget(t, root, nil)
	d := g.daemon
	file, err := d.vault.Read("a.md")
	if err != nil {
		t.Fatal(err)
	}
	wrong := d.pipeline.layout.Parse("a.md", []byte("- other\n"), memory.Meta{})
	lies := []index.Update{
		{Path: "a.md", Doc: wrong, Stamp: file.Stamp, Hash: sha256.Sum256(file.Data)},
		{Path: "c.md", Doc: d.pipeline.layout.Parse("c.md", []byte("- gone\n"), memory.Meta{})},
	}
	testkit.Must(t, d.index.Apply(t.Context(), lies))
	client := g.dial("s")
	check := func(fix bool) (a api.CheckAnswer) {
		t.Helper()
		status, body := g.sendRequest(t, client, "check", object{"fix": fix, "subject": "owner", "context": "private"})
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return a
	}
	if a := check(false); len(a.Differing) != 2 || len(a.Repaired) != 0 {
		t.Fatalf("a check finds %+v", a)
	}
	if a := check(true); len(a.Differing) != 0 || len(a.Repaired) != 2 || len(a.Refused) != 0 {
		t.Errorf("a check that mends answers %+v", a)
	}
	if a := check(false); len(a.Differing) != 0 {
		t.Errorf("after that, a check finds %+v", a)
	}
	if info, ok := d.index.File("a.md"); !ok || info.Entries != 2 {
		t.Errorf("a.md is indexed with %d entries", info.Entries)
	}
}
