package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
)

// transferWords are the words of the memory. No name of a file contains one of
// them.
var transferWords = strings.Fields("harbor lantern meadow violin copper glacier orchard thunder saddle walnut parcel ribbon " +
	"marble kettle anchor basket candle feather hammer island jacket ladder mirror needle oyster pepper quarry rocket sailor " +
	"tunnel 喝茶 计划 nested spaces")

// transferFiles returns a memory with every kind of file and of block.
func transferFiles(random *rand.Rand) map[string]string {
	words := transferWords[:32]
	sentence := func() string {
		list := make([]string, 3+random.IntN(8))
		for i := range list {
			list[i] = words[random.IntN(len(words))]
		}
		return strings.Join(list, " ")
	}
	block := func() string {
		switch random.IntN(8) {
		case 0:
			return "- [ ] " + sentence()
		case 1:
			return "- [x] " + sentence() + "\n  - nested " + sentence()
		case 2:
			return sentence() + "\n" + sentence() + ": #" + words[random.IntN(20)]
		case 3:
			return sentence() + ":\n\n```go\n" + sentence() + "  // two  spaces\n```"
		case 4:
			return "| a | b |\n|---|---|\n| " + sentence() + " | " + sentence() + " |"
		case 5:
			return "> " + sentence() + "\n> " + sentence()
		case 6:
			return fmt.Sprintf("- **%s**: %s <!-- type=decision importance=0.%d evidence=MEMORY.md -->", words[random.IntN(20)], sentence(), 1+random.IntN(9))
		}
		return "- " + sentence()
	}
	files := map[string]string{}
	add := func(path, front string) {
		text := front + "# " + sentence() + "\n"
		for range 2 + random.IntN(3) {
			text += "\n## " + sentence() + "\n"
			for range 1 + random.IntN(5) {
				text += "\n" + block() + "\n"
			}
		}
		files[path] = text
	}
	for i := range 12 {
		day := fmt.Sprintf("2026-01-%02d", i+1)
		add("memory/"+day+".md", "")
		add(fmt.Sprintf("memory/%s/s%d.md", day, i), fmt.Sprintf("---\nsession_id: s%d\ntags: [%s]\nupdated_at: %sT08:00:00Z\n---\n\n", i, words[i], day))
		add(fmt.Sprintf("notes/n%d.md", i), "---\nupdated_at: "+day+"T09:00:00Z\n---\n\n")
	}
	add("MEMORY.md", "---\nupdated_at: 2026-01-20T08:00:00Z\n---\n\n")
	files["_longterms/owner/project.md"] = "---\nsubject_id: owner\n---\n\n## Summaries\n\n- **harbor**: lantern by May <!-- evidence=memory/2026-01-01.md updated=2026-01-20T08:00:00Z -->\n"
	return files
}

func transferQuestions(random *rand.Rand) (list []fields) {
	for range 60 {
		var query []string
		for range 1 + random.IntN(3) {
			query = append(query, transferWords[random.IntN(len(transferWords))])
		}
		q := fields{"query": strings.Join(query, " "), "limit": 100, "count": false, "sync": false}
		switch random.IntN(6) {
		case 0:
			q["types"] = []string{"decision", "crumb"}
		case 1:
			q["state"] = "open"
		case 2:
			q["since"], q["until"] = "2026-01-04", "2026-01-09"
		}
		list = append(list, q)
	}
	return list
}

// run runs a command of the program and returns its output.
func (l *live) run(args ...string) string {
	l.t.Helper()
	cmd := exec.Command("memwatchd", append([]string{"--config", l.config}, args...)...)
	cmd.Env = l.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("memwatchd %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestTransferRoundTrip exports a memory, imports it into an empty one, and compares
// the answers of both to 60 generated questions. Markdown keeps everything, also the
// order of hits. JSON lines keep the entries.
func TestTransferRoundTrip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	files := transferFiles(random)
	l := newLive(t, t.TempDir(), "")
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(l.path(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		l.write(path, text)
	}
	l.start()
	dir := t.TempDir()
	l.run("export", "--format", "md", "--output", filepath.Join(dir, "md"))
	l.run("export", "--output", filepath.Join(dir, "jsonl"))
	for path, text := range files {
		got, err := os.ReadFile(filepath.Join(dir, "md", path))
		if err != nil || string(got) != text {
			t.Errorf("%s is not exported: %v", path, err)
		}
	}
	copied := startLive(t, filepath.Join(dir, "md"), "")
	imported := startLive(t, t.TempDir(), "")
	lines := []string{"import", "jsonl", filepath.Join(dir, "jsonl", "short_term.jsonl"), filepath.Join(dir, "jsonl", "long_term.jsonl")}
	imported.run(lines...)
	imported.sync()
	before := treeOf(t, imported.root)
	if out := imported.run(lines...); !strings.HasPrefix(out, "0 files created, 0 rewritten, 38 unchanged\n") {
		t.Errorf("the second import: %s", out)
	}
	if diff := cmp.Diff(before, treeOf(t, imported.root)); diff != "" {
		t.Errorf("the second import changed files (-before +after):\n%s", diff)
	}
	full, empty := 0, 0
	for _, q := range transferQuestions(random) {
		want, same, other := l.searchAll(q), copied.searchAll(q), imported.searchAll(q)
		if diff := cmp.Diff(places(want), places(same)); diff != "" || want.Total != same.Total {
			t.Errorf("%v: Markdown answers otherwise (-want +got):\n%s", q, diff)
		}
		if diff := cmp.Diff(contents(want), contents(other)); diff != "" || want.Total != other.Total {
			t.Errorf("%v: JSON lines answer otherwise, %d and %d (-want +got):\n%s", q, want.Total, other.Total, diff)
		}
		if len(want.Hits) > 0 {
			full++
		} else {
			empty++
		}
	}
	t.Logf("%d questions with hits, %d without", full, empty)
	if full < 30 {
		t.Errorf("only %d questions have hits", full)
	}
	imported.run("undo", "--since", "1h", "--write")
	if left := treeOf(t, imported.root); len(left) > 0 {
		t.Errorf("undo left %v", left)
	}
}

func (l *live) searchAll(question fields) *api.SearchAnswer {
	l.t.Helper()
	all := l.search(owner, "", question)
	for next := all.Next; next > 0; {
		page := l.search(owner, "", question.with(fields{"offset": next}))
		all.Hits, next = append(all.Hits, page.Hits...), page.Next
	}
	return all
}

// places returns the hits with their places, in order.
func places(a *api.SearchAnswer) (list []string) {
	for _, h := range a.Hits {
		list = append(list, fmt.Sprintf("%s:%d %s", h.ID, h.Line, h.Text))
	}
	return list
}

// contents returns the content of hits, sorted.
func contents(a *api.SearchAnswer) (list []string) {
	for _, h := range a.Hits {
		list = append(list, contentOf(h))
	}
	slices.Sort(list)
	return list
}

// contentOf returns a hit without its place and visibility.
func contentOf(h api.Hit) string {
	return fmt.Sprintf("%s | %s | %s %v %s %v %v", h.Text, h.Section, h.Type, h.Tags, h.Task, h.Importance, h.Time)
}

// treeOf returns the Markdown files below a directory.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
