package ops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestWriteBusy checks that an edit of a file that others keep saving returns
// Busy and loses none of their changes.
func TestWriteBusy(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a\n"})
	parse, saved := d.memory.Parse, "- a"
	d.memory.Parse = func(f vault.File) *memory.Document {
		saved += " more" // simulates a save between read and write
		checkError(t, os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), []byte(saved), 0o600))
		return parse(f)
	}
	_, err := do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: "- a", NewText: "- b"})
	if got := asError(err).Code; got != api.Busy {
		t.Errorf("the error is %v", err)
	}
	d.want(t, "MEMORY.md", saved)
}

// TestPartialFile checks that a caller cannot change a file of which it can read only a
// part, also its own text, and that the errors do not depend on the rest.
func TestPartialFile(t *testing.T) {
	const path, own = "2026-02-04/cli.md", "- [ ] buy milk <!-- written_by=acct:42 -->\n"
	const front = "---\nwritten_by: acct:42\n---\n"
	by := as("acct:42", "private")
	for _, hidden := range []string{"", "- secret <!-- visibility=private_only -->\n", "\n<private>\n\n- milk\n- tea\n\n</private>\n"} {
		d := newDisk(t, map[string]string{path: front + own + hidden})
		known, err := do[api.GetAnswer](t, d.memory, by, api.GetRequest{Path: path, From: 1})
		checkError(t, err)
		for name, err := range map[string]error{
			"edit":  errOf(do[api.EditAnswer](t, d.memory, by, api.EditRequest{Path: path, OldText: "buy milk", NewText: "buy tea"})),
			"write": errOf(do[api.EditAnswer](t, d.memory, by, api.WriteRequest{Path: path, Text: front + "- x <!-- written_by=acct:42 -->\n", Hash: known.Hash})),
			"todo":  errOf(do[api.TodoAnswer](t, d.memory, by, api.TodoRequest{Text: "buy milk", State: "done"})),
		} {
			switch {
			case hidden == "" && (err == nil || name != "edit"): // the others find that the file has changed
			case err == nil || asError(err).Code != api.Forbidden:
				t.Errorf("%s beside %q: %v", name, hidden, err)
			}
		}
		if hidden != "" {
			d.want(t, path, front+own+hidden)
		}
	}
}
