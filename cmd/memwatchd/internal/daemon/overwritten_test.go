package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestOverwritten checks that entries that another program removed soon after they were
// written are reported with the command that writes them again: without the history, after a
// restart, and once no conflict copy contains them. Entries that were edited are not reported.
func TestOverwritten(t *testing.T) {
	without := func(c *config.Config, _ string) { c.Compactor.Host, c.History.Enabled = "another", false }
	g := startTarget(t, t.TempDir(), without)
	c := g.dial("s")
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(g.root, path))
		testkit.Must(t, err)
		return string(text)
	}
	write := func(path, text string) {
		testkit.Must(t, os.WriteFile(filepath.Join(g.root, path), []byte(text), 0o600))
		g.mustSend(t, c, "sync", object{})
	}
	put := func(n int) string {
		var item api.ItemAnswer
		testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, c, "item_put", mergeObjects(ownerInPrivate, object{"namespace": "fact",
			"key": fmt.Sprintf("key%d", n), "value": fmt.Sprintf("the meeting number %d is in the small room", n)}))), &item))
		return item.Item.Path
	}
	problem := func(path string) (message string) {
		g.daemon.pipeline.overwritten.problems(func(of, _, text string) {
			if of == path {
				message = text
			}
		})
		return message
	}
	ids := regexp.MustCompile(`changes ([0-9a-z, ]+);`)
	again := func(path string) {
		t.Helper()
		waitUntil(t, "the removed entries are reported", func() bool { return problem(path) != "" })
		for _, id := range strings.Split(ids.FindStringSubmatch(problem(path))[1], ", ") {
			if answer := g.mustSend(t, c, "undo", mergeObjects(ownerInPrivate, object{"id": id, "again": true})); strings.Contains(answer, "refusal") {
				t.Error(answer)
			}
		}
		if message := problem(path); message != "" {
			t.Errorf("after the entries are written again: %s", message)
		}
	}

	path := put(0)
	old := read(path)
	for n := 1; n < 5; n++ {
		put(n)
	}
	write(path, old+"- **typed**: meanwhile\n")
	again(path)
	for n := 1; n < 5; n++ {
		if text := read(path); strings.Count(text, fmt.Sprintf("number %d", n)) != 1 || strings.Count(text, "typed") != 1 {
			t.Errorf("item %d is not written again: %s", n, text)
		}
	}

	put(5)
	put(6)
	write(path, strings.Replace(read(path), "meeting number 5", "meting number five", 1)) // edited
	write(path, regexp.MustCompile(`.*number 6.*\n`).ReplaceAllString(read(path), ""))
	testkit.Must(t, g.stop())
	g.startDaemon(without)
	again(path)
	if text := read(path); strings.Contains(text, "number 5") || !strings.Contains(text, "number 6") {
		t.Errorf("not only the removed item is written again: %s", text)
	}

	var note api.NoteAnswer
	send := func(text string) {
		testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, c, "note", mergeObjects(ownerInPrivate, object{"text": text}))), &note))
	}
	send("in both")
	old = read(note.Path)
	send("only in the copy")
	copied := strings.TrimSuffix(note.Path, ".md") + ".sync-conflict-20260205-120000-ABCDEFG.md"
	write(copied, read(note.Path))
	write(note.Path, old+"\n## 11:59 PM\n\n- from another machine\n")
	g.daemon.pipeline.overwritten.find(note.Path, nil)
	if message := problem(note.Path); message != "" {
		t.Errorf("with a copy: %s", message)
	}
	testkit.Must(t, os.Remove(filepath.Join(g.root, copied)))
	again(note.Path)
	if text := read(note.Path); strings.Count(text, "only in the copy") != 1 || strings.Count(text, "another machine") != 1 {
		t.Errorf("the note is not written again: %s", text)
	}
}
