package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestOverwritten checks that entries that another program overwrote with an old text
// are reported with the command that writes them again, but not while a conflict copy
// contains them.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	const copied = "memory/%s.sync-conflict-20260205-120000-ABCDEFG.md"
	l := startLive(t, t.TempDir(), "compactor: {host: another}\n")
	// problem returns the message about overwritten entries of a file.
	problem := func(path string) (message string) {
		var a api.CheckAnswer
		l.must("check", owner.with(fields{}), &a)
		for _, p := range a.Problems {
			if p.Code == "overwritten" && p.Path == path {
				message = p.Message
			}
		}
		return message
	}
	ids := regexp.MustCompile(`changes ([0-9a-z, ]+);`)
	again := func(message string) {
		t.Helper()
		for _, id := range strings.Split(ids.FindStringSubmatch(message)[1], ", ") {
			var a api.UndoAnswer
			l.must("undo", owner.with(fields{"id": id, "again": true}), &a)
			if a.Refused > 0 {
				t.Errorf("%s: %s", id, a.Undone[0].Refusal)
			}
		}
	}

	var item api.ItemAnswer
	l.must("item_put", owner.with(fields{"namespace": "fact", "key": "first", "value": "stays"}), &item)
	path := item.Item.Path
	old := l.read(path)
	for n := range 5 {
		l.must("item_put", owner.with(fields{"namespace": "fact", "key": fmt.Sprintf("key%d", n), "value": fmt.Sprintf("value %d", n)}), &item)
	}
	l.write(path, old+"- **typed**: meanwhile\n")
	l.until("the removed items are reported", func() bool { return problem(path) != "" })
	again(problem(path))
	for n := range 5 {
		if text := l.read(path); strings.Count(text, fmt.Sprintf("**key%d**: value %d", n, n)) != 1 || strings.Count(text, "**typed**") != 1 {
			t.Errorf("item %d is not written again: %s", n, text)
		}
	}
	if message := problem(path); message != "" {
		t.Errorf("after the items are written again: %s", message)
	}

	var note api.NoteAnswer
	l.must("note", owner.with(fields{"text": "in both"}), &note)
	old = l.read(note.Path)
	l.must("note", owner.with(fields{"text": "only in the copy"}), &note)
	name := fmt.Sprintf(copied, strings.TrimSuffix(strings.TrimPrefix(note.Path, "memory/"), ".md"))
	l.write(name, l.read(note.Path))
	l.write(note.Path, old+"\n## 11:59 PM\n\n- from another machine\n")
	l.until("the copy is found", func() bool { return l.count("copy") == 1 })
	if message := problem(note.Path); message != "" {
		t.Errorf("with a copy: %s", message)
	}
	if err := os.Remove(l.path(name)); err != nil {
		t.Fatal(err)
	}
	l.until("the entry of the removed copy is reported", func() bool { return problem(note.Path) != "" })
	again(problem(note.Path))
	if text := l.read(note.Path); strings.Count(text, "only in the copy") != 1 || strings.Count(text, "another machine") != 1 {
		t.Errorf("the note is not written again: %s", text)
	}
}
