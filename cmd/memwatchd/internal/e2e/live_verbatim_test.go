package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
)

var verbatimSeed = flag.Uint64("verbatim-seed", 2026, "seed of the generated notes")

// generateNote returns a text with lists, code, tables, Chinese and long lines.
func generateNote(random *rand.Rand) string {
	words := strings.Fields("the proxy renews its certificate every night `x := 1` **bold** #tag 证书 每晚 更新。 " +
		"https://example.com/a?b=c [[link]] C++ a_b *c* <b> & \\ 100% ~x | > 👩‍💻 é ^up $HOME {a}")
	line := func(most int) string {
		var list []string
		for range 1 + random.IntN(most) {
			list = append(list, words[random.IntN(len(words))])
		}
		return strings.Join(list, " ")
	}
	block := func() string {
		switch random.IntN(10) {
		case 0:
			return "```go\nfunc f() {\n\treturn \"" + line(3) + "\"\n}\n\n\n// " + line(5) + "\n```"
		case 1:
			return "- " + line(8) + "\n- " + line(8) + "\n  - " + line(4) + "\n    more\n- " + line(2)
		case 2:
			return "1. " + line(8) + "\n2. " + line(8) + "\n\n   " + line(3)
		case 3:
			return fmt.Sprintf("| a | b |\n|---|---|\n| %d | %s |\n| 证书 | `y` |", random.IntN(100), "text")
		case 4:
			return "> " + line(9) + "\n> - " + line(9)
		case 5:
			return line(400)
		case 6:
			return "## " + line(4) + "\n" + line(4)
		case 7:
			return "    " + line(5) + "\n    " + line(5)
		case 8:
			return "~~~\n" + line(5) + "\n  indented\n~~~"
		}
		return line(12) + "\n" + line(12)
	}
	var blocks []string
	for range 1 + random.IntN(4) {
		blocks = append(blocks, block())
	}
	return strings.Join(blocks, "\n\n")
}

// TestNotesVerbatim checks with generated texts that what note, capture and remember
// save is one entry, comes back byte for byte, and is undone byte for byte.
func TestNotesVerbatim(t *testing.T) {
	t.Parallel()
	t.Logf("-verbatim-seed %d", *verbatimSeed)
	random := rand.New(rand.NewPCG(*verbatimSeed, 1))
	const count = 120
	var l *live
	owner := fields{"subject": "owner", "context": "private"}
	undone := 0
	for i := range count {
		if i%50 == 0 { // in longer files, each request takes longer
			if l != nil {
				l.stop()
			}
			l = startLive(t, t.TempDir(), quick)
			l.write("MEMORY.md", "# Memory\n\n## Key Facts\n\n- a fact\n")
			l.sync()
		}
		text := memory.TrimText(generateNote(random))
		op, request := "note", fields{"text": text, "topic": "Generated"}
		switch i % 4 {
		case 1:
			op, request = "capture", fields{"bullets": []string{text}}
			if !strings.Contains(text, "\n") { // without the marker of a bullet
				op, request = "note", fields{"text": text}
			}
		case 2:
			op, request = "remember", fields{"text": text, "explicit": true}
		case 3:
			op, request = "remember", fields{"title": fmt.Sprintf("Fact %d", i), "text": text, "explicit": true}
		}
		path := "memory/" + testkit.DaysAgo(0) + ".md"
		if op == "remember" {
			path = "MEMORY.md"
		}
		before, _ := os.ReadFile(l.path(path)) // the first note creates the log
		var place struct {
			Path  string
			Line  int
			Lines []int
		}
		if err := l.ask(op, request.with(owner), &place); err != nil {
			t.Fatalf("%s %d: %v\n%s", op, i, err, text)
		}
		if len(place.Lines) > 0 {
			place.Line = place.Lines[0]
		}
		after, err := os.ReadFile(l.path(place.Path))
		if err != nil || place.Path != path {
			t.Fatal(place.Path, path, err)
		}
		layout := new(memory.Layout)
		old, doc := layout.Parse(path, before, memory.Meta{}), layout.Parse(path, after, memory.Meta{})
		if len(doc.Entries) != len(old.Entries)+1 {
			t.Fatalf("%s %d: %d entries become %d\n%s", op, i, len(old.Entries), len(doc.Entries), text)
		}
		id := ""
		for _, e := range doc.Entries {
			if e.Line == place.Line {
				id = path + "#" + e.ID
			}
		}
		var got api.GetAnswer
		l.must("get", fields{"id": id, "plain": true}.with(owner), &got)
		want := text + "\n"
		if i%4 == 3 && !strings.Contains(text, "\n") {
			want = fmt.Sprintf("**Fact %d**: %s", i, want)
		}
		if got.Text != want {
			t.Fatalf("%s %d: got\n%q, want\n%q", op, i, got.Text, want)
		}
		if i%5 > 0 {
			continue
		}
		var journal api.JournalAnswer
		l.must("journal", fields{"limit": 1}.with(owner), &journal)
		l.must("undo", fields{"id": journal.Writes[0].ID}.with(owner), &api.UndoAnswer{})
		if is, _ := os.ReadFile(l.path(path)); !bytes.Equal(is, before) {
			t.Fatalf("%s %d: undone, the file is\n%s\nand was\n%s", op, i, is, before)
		}
		undone++
	}
	t.Logf("%d texts came back, %d were undone", count, undone)
}
