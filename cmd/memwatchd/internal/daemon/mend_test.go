package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// TestMendIndex checks that if the index differs from a file and its stamp
// does not show it, Check finds the difference and Reindex corrects it.
func TestMendIndex(t *testing.T) {
	g := serveTree(t, map[string]string{"a.md": "- one\n- two\n", "b.md": "- three\n"}, nil)
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
	for _, want := range []struct {
		fix                 bool
		differing, repaired int
	}{{false, 2, 0}, {true, 0, 2}, {false, 0, 0}} {
		var a api.CheckAnswer
		testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, g.dial("s"), "check", mergeObjects(ownerInPrivate, object{"fix": want.fix}))), &a))
		if len(a.Differing) != want.differing || len(a.Repaired) != want.repaired || len(a.Refused) != 0 {
			t.Errorf("%+v: %+v", want, a)
		}
	}
	if info, ok := d.index.File("a.md"); !ok || info.Entries != 2 {
		t.Errorf("a.md is indexed with %d entries", info.Entries)
	}
}
