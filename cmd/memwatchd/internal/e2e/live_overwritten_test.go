package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// overwritten returns the ids of the changes whose text is reported as removed, by path.
func (l *live) overwritten() map[string][]string {
	found := map[string][]string{}
	for _, p := range l.check().Problems {
		if p.Code == "overwritten" {
			ids, _, _ := strings.Cut(strings.SplitN(p.Message, "changes ", 2)[1], ";")
			found[p.Path] = strings.Split(ids, ", ")
		}
	}
	return found
}

// TestLiveCorrections checks that what people do to a line that memwatchd has just written is
// no loss, that text which another program removed by saving an older version is, and that reports
// can be dismissed and acted on.
func TestLiveCorrections(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "compactor: {host: another}\n")
	const old, ours = "## 9:00 AM\n\n- An old line\n", "We use Redis"
	replace := func(from, to string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, from) {
				t.Errorf("no %q in %q", from, text)
			}
			return strings.Replace(text, from, to, 1)
		}
	}
	line := func(text string) string { // that of the note, with its attributes
		at := strings.Index(text, ours)
		return text[at : at+strings.IndexByte(text[at:], '\n')]
	}
	replaceLine := func(to string) func(string) string {
		return func(text string) string { return strings.Replace(text, line(text), to, 1) }
	}
	edits := []struct {
		name   string
		edit   func(text string) string
		before string // replaces the file first
	}{
		{name: "one word", edit: replace("Redis", "Postgres")},
		{name: "all words", edit: replace(ours, "Nobody queues here")},
		{name: "the whole line", edit: replaceLine("Nobody queues here")},
		{name: "an item of a list", edit: replace(ours, "- "+ours)},
		{name: "a marked word", edit: replace(ours, "We *use* **Redis**")},
		{name: "a longer sentence", edit: replace(ours, ours+" and shall not change that")},
		{name: "another section", edit: func(text string) string {
			return line(text) + "\n\n" + strings.Replace(text, line(text), "", 1)
		}},
		{name: "joined", edit: func(text string) string {
			return strings.Replace(strings.Replace(text, line(text), "", 1), "An old line", "An old line. "+ours, 1)
		}},
		{name: "indented", edit: func(text string) string {
			return strings.Replace(text, line(text), "- The queue\n    - "+line(text), 1)
		}},
		{name: "wrapped", edit: replace(ours, "We use\nRedis")},
		{name: "split", edit: replaceLine("- We use Kafka\n- and no other queue")},
		{name: "deleted below its heading", edit: replaceLine("")},
		{name: "conflict resolved", before: "<<<<<<< HEAD\n" + ours + "\n=======\nWe use Kafka\n>>>>>>> x\n",
			edit: func(string) string { return old + "\n" + ours + "\nWe use Kafka\n" }},
		{name: "struck", edit: replace(ours, "~~"+ours+"~~")},
		{name: "ticked", edit: replace(ours, "- [x] "+ours)},
	}
	losses := []struct {
		name string
		edit func(text string) string
	}{
		{"old version", func(string) string { return old }},
		{"old version with a line", func(string) string { return old + "\n## 11:59 AM\nWe use Kafka\n" }},
		{"old version with a line at its end", func(string) string { return old + "- We use Kafka\n" }},
		{"emptied", func(string) string { return "" }},
	}
	day := func(i int) string { return fmt.Sprintf("2026-01-%02d", i+1) }
	path := func(i int) string { return "memory/" + day(i) + ".md" }
	unique := func(i int, text string) string { // no other file has the text
		return strings.ReplaceAll(text, "Redis", fmt.Sprintf("Redis%c", 'a'+i))
	}
	for i := range len(edits) + len(losses) {
		l.write(path(i), old)
	}
	l.write("memory/2026-02-01.md", old) // a moved line
	l.write("notes.md", "- Other\n")
	l.start()
	for i := range len(edits) + len(losses) {
		l.must("note", owner.with(fields{"text": unique(i, ours), "day": day(i), "time": "11:10"}), new(any))
	}
	l.must("note", owner.with(fields{"text": "We moved the lamp", "day": "2026-02-01"}), new(any))
	for _, text := range []string{"first", "second"} {
		l.must("note", owner.with(fields{"text": "The " + text + " of two", "day": "2026-02-02"}), new(any))
		l.must("note", owner.with(fields{"text": "The " + text + " of a file", "day": "2026-02-03"}), new(any))
		l.must("todo_add", owner.with(fields{"text": "call the " + text + " bank"}), new(any))
	}
	l.must("item_put", owner.with(fields{"namespace": "fact", "key": "city", "value": "Porto"}), new(any))
	l.must("item_put", owner.with(fields{"namespace": "project", "key": "desk8", "value": "lemur of the desk"}), new(any))
	rewrite := func(path string, edit func(string) string) { l.write(path, edit(l.read(path))) }
	rewriteDay := func(i int, edit func(string) string) {
		l.write(path(i), unique(i, edit(strings.ReplaceAll(l.read(path(i)), unique(i, "Redis"), "Redis"))))
	}
	for i, c := range edits {
		if c.before != "" {
			l.write(path(i), unique(i, old+"\n"+c.before))
			l.sync()
		}
		rewriteDay(i, c.edit)
	}
	rewrite("notes.md", func(text string) string { return text + "- We moved the lamp\n" })
	rewrite("memory/2026-02-01.md", func(string) string { return old })
	rewrite("memory/2026-02-02.md", replace("The first of two", ""))
	rewrite("_longterms/owner/fact.md", replace("Porto", "Lisbon"))
	tasks := ""
	for path, text := range l.tree() {
		if strings.Contains(text, "second bank") {
			tasks = path
		}
	}
	rewrite(tasks, replace("call the second bank", "ring Peter"))
	l.sync()

	want := []string{"_longterms/owner/project.md", "memory/2026-02-03.md"}
	for i, c := range losses {
		rewriteDay(len(edits)+i, c.edit)
		want = append(want, path(len(edits)+i))
	}
	rewrite("_longterms/owner/project.md", replace("desk8**: lemur of the desk", "tab8**: lemur of the tab"))
	testkit.Must(t, os.Remove(l.path("memory/2026-02-03.md")))
	slices.Sort(want)
	got := func() (paths []string) {
		for path := range l.overwritten() {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		return paths
	}
	l.until("the losses are reported", func() bool { return len(got()) >= len(want) })
	if got := got(); !slices.Equal(got, want) {
		for i, c := range edits {
			if slices.Contains(got, path(i)) {
				t.Errorf("%s is reported: %s", c.name, l.read(path(i)))
			}
		}
		for i, c := range losses {
			if !slices.Contains(got, path(len(edits)+i)) {
				t.Errorf("%s is not reported", c.name)
			}
		}
		t.Errorf("reported: %q, want %q", got, want)
	}

	// A removed file is written again, once.
	again := func(id string) (a api.UndoAnswer) {
		l.must("undo", owner.with(fields{"id": id, "again": true, "dry_run": false}), &a)
		return a
	}
	ids := l.overwritten()["memory/2026-02-03.md"]
	if len(ids) != 2 {
		t.Fatalf("changes of the removed file: %q", ids)
	}
	l.write("memory/2026-02-03.md", "# 2026-02-03\n\n## 1:00 PM\nBy another program\n")
	for range 2 {
		for _, id := range ids {
			again(id)
		}
	}
	text := l.read("memory/2026-02-03.md")
	for _, part := range []string{"The first of a file", "The second of a file", "By another program"} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%q is not once in %q", part, text)
		}
	}
	l.until("written text is not reported", func() bool { return l.overwritten()["memory/2026-02-03.md"] == nil })

	// A text that a person writes again, anywhere, is not reported.
	testkit.Must(t, os.MkdirAll(filepath.Dir(l.path("garden/a.md")), 0o700))
	l.write("garden/a.md", "> lemur of\n> the desk: **desk8** lemur of the desk\n")
	l.until("text of another file is not reported", func() bool { return l.overwritten()["_longterms/owner/project.md"] == nil })

	// The others are dismissed, for good.
	var all []string
	for _, ids := range l.overwritten() {
		all = append(all, ids...)
	}
	if err := l.ask("check", owner.with(fields{"dismiss": []string{"0zzzzzzz"}}), new(any)); err == nil || !strings.Contains(err.Error(), "is reported") {
		t.Errorf("dismiss a change that is not reported: %v", err)
	}
	l.must("check", owner.with(fields{"dismiss": all}), new(any))
	testkit.Must(t, l.stop())
	l.start()
	l.must("note", owner.with(fields{"text": "Later", "day": "2026-03-01"}), new(any))
	l.write("memory/2026-03-01.md", "")
	l.until("a later loss is reported", func() bool { return len(l.overwritten()) > 0 })
	if got := got(); !slices.Equal(got, []string{"memory/2026-03-01.md"}) {
		t.Errorf("after a restart, reported: %q", got)
	}
}
