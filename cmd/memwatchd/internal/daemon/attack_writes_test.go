package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestNonInterferenceOfWrites checks that after any write, the answers and the
// files that the caller reads are byte for byte the same as with other text in place of
// the text hidden from the caller. Not a byte of the hidden text changes.
func TestNonInterferenceOfWrites(t *testing.T) {
	quick := 15 * time.Second
	if testing.Short() {
		quick = 3 * time.Second
	}
	end := time.Now().Add(quick)
	n, tally := uint64(0), &writeCounts{}
	// On a busy machine, there are few changes in that time.
	more := func() bool { return time.Now().Before(end) || !testing.Short() && tally.changed < 20 && n < 100 }
	for ; *memoryCount == 0 && more() && !t.Failed() || n < uint64(*memoryCount); n++ {
		t.Run(fmt.Sprint("wood ", *memorySeed+n), func(t *testing.T) { attackMemoryWrites(t, *memorySeed+n, tally) })
	}
	t.Logf("%d memories: %d requests, %d files changed, %d refused for what is hidden", n, tally.requested, tally.changed, tally.hidden)
	if *memoryCount == 0 && !testing.Short() && tally.changed < 20 {
		t.Errorf("only %d changes were made", tally.changed)
	}
	if tally.hidden*3 > tally.changed+10 {
		t.Errorf("%d of %d changes were not made because of what is hidden", tally.hidden, tally.changed)
	}
}

// A writeCounts counts the attempts of a test.
type writeCounts struct{ requested, changed, hidden int }

// writesConfig sets the configuration under which writes are compared. It turns
// off automatic writes, which other tests cover.
func writesConfig(c *config.Config, base string) {
	randomMemoryConfig(c, base)
	c.Write.Enabled = false
}

// attackMemoryWrites lets some callers write to a memory, and to the part of it
// that they may see.
func attackMemoryWrites(t *testing.T, seed uint64, tally *writeCounts) {
	w := newRandomMemory(seed)
	when := w.today.Add(-50 * time.Hour).Truncate(time.Second)
	var writers []caller
	for _, a := range allCallers() {
		if a.reader.private || w.chance(5) {
			writers = append(writers, a)
		}
	}
	w.r.Shuffle(len(writers), func(i, j int) { writers[i], writers[j] = writers[j], writers[i] })
	for _, a := range writers[:2] {
		everything, some := w.visibleFiles(nil), w.visibleFiles(&a.reader)
		for _, f := range w.files { // that a file has hidden text is no secret
			if text, ok := some[f.path]; ok && text != everything[f.path] {
				some[f.path] = strings.TrimRight(text, "\n") + "\n\n- other <!-- visibility=private_only -->\n"
			}
		}
		plant := func(files map[string]string) *target {
			root := filepath.Join(t.TempDir(), "m")
			w.writeFiles(t, root, files, when)
			return startTarget(t, root, writesConfig)
		}
		whole, part := plant(everything), plant(some)
		w.compareWrites(t, whole, part, a, everything, some, tally)
		whole.stop()
		part.stop()
	}
}

var writtenTimes = regexp.MustCompile(`"(took_ms|time|updated_at)":("[^"]*"|[0-9.e-]+)`)

// compareWrites requests the same changes of both daemons.
func (w *randomMemory) compareWrites(t *testing.T, whole, part *target, a caller, everything, some map[string]string, tally *writeCounts) {
	t.Helper()
	c, d := whole.dial("s"), part.dial("s")
	ask := func(operation string, request object) string {
		t.Helper()
		maps.Copy(request, a.scopeFields)
		tally.requested++
		path, _ := request["path"].(string)
		status, body := part.sendRequest(t, d, operation, request)
		status2, body2 := whole.sendRequest(t, c, operation, request)
		want := fmt.Sprint(status, " ", writtenTimes.ReplaceAllString(body, `"$1":0`))
		got := fmt.Sprint(status2, " ", writtenTimes.ReplaceAllString(body2, `"$1":0`))
		if operation == "write" && strings.Contains(got, "choose a path that you can read") &&
			hasUnseenFiles(path, everything, some) {
			tally.hidden++ // the directory has another owner
			t.SkipNow()    // several files may differ from here on
		}
		if want != got {
			t.Errorf("%s: %s %v (-as if the rest did not exist +as it is)\n%s\n%s\n--- as seen:\n%s", a.name, operation, request, cmp.Diff(formatAnswer(want), formatAnswer(got)), everything[path], some[path])
			t.FailNow()
		}
		if strings.Contains(want, `"changed":true`) {
			tally.changed++
		}
		return body
	}
	var paths []string
	for range 5 {
		paths = append(paths, slices.Sorted(maps.Keys(some))...)
	}
	paths = append(paths, w.paths...)
	for range 4 {
		paths = append(paths, w.pickOne("", "memory/")+w.day(w.r.IntN(3))+"/new"+fmt.Sprint(w.r.IntN(3))+".md",
			"_longterms/"+w.pickOne("acct_42", "bob", "x_y", "c_d", "owner")+"/"+w.pickOne("new.md", "fact.md", "_index.md"),
			w.pickOne("alice", "bob", "notes", "new")+"/"+w.pickOne("MEMORY.md", "memory/new.md", "new.md"))
	}
	// With other text, the shown part of a file may end with fewer blank lines.
	alike := func(path string) bool {
		request := mergeObjects(object{"path": path}, a.scopeFields)
		_, was := part.sendRequest(t, d, "get", request)
		_, is := whole.sendRequest(t, c, "get", request)
		return was == is
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !alike(path) })
	maps.DeleteFunc(some, func(path, _ string) bool { return !slices.Contains(paths, path) })
	for range 60 {
		path := paths[w.r.IntN(len(paths))]
		if _, taken := everything[path]; taken && some[path] == "" && w.chance(80) {
			continue
		}
		var known struct{ Text, Hash string }
		body := ask("get", object{"path": path})
		testkit.Must(t, json.Unmarshal([]byte(body), &known))
		switch n := w.r.IntN(10); {
		case n == 0:
			if _, taken := everything[path]; taken && some[path] == "" {
				break // a write to a hidden file's path fails: the daemon reveals that much
			}
			ask("write", object{"path": path, "text": w.editText(known.Text), "hash": w.pickOne("", known.Hash)})
		case n < 3 && known.Hash != "":
			ask("write", object{"path": path, "text": w.editText(known.Text), "hash": known.Hash})
		case n < 4:
			ask("edit", object{"path": path, "old_text": w.pickOne("tea", "zorb1", "visibility", "<private>", "# "), "new_text": w.pickOne("x", "", "y\n")})
		case n < 8:
			lines := strings.SplitAfter(known.Text, "\n")
			from := w.r.IntN(len(lines))
			to := min(len(lines), from+1+w.r.IntN(3))
			ask("edit", object{"path": path, "old_text": strings.Join(lines[from:to], ""), "new_text": w.pickOne("", strings.Join(lines[from:to], "")+w.randomLine(), w.randomLine()+strings.Join(lines[from:to], ""), w.randomLine())})
		default:
			ask("todos", object{"state": "all"})
			ask("todo", object{"text": w.pickOne("same words", "喝茶", "water the plants"), "state": w.pickOne("open", "done"), "dry_run": w.chance(20)})
		}
	}
	for path := range some {
		ask("get", object{"path": path})
	}
	ask("todos", object{"state": "all"})
	ask("recent", object{"hours": 876000, "limit": 100, "as_of": w.today.Format(time.RFC3339), "tags": []string{"tea"}})
	for _, f := range w.files {
		before, path := everything[f.path], f.path
		data, err := os.ReadFile(filepath.Join(whole.root, path))
		if err != nil {
			t.Fatal(err)
		}
		if string(data) == before {
			continue
		}
		if _, readable := some[path]; !readable {
			t.Errorf("%s: %s, which cannot be read, has become\n%s", a.name, path, data)
		}
		if line := firstMissingLine(f.hiddenLines(a.reader), string(data)); line != "" {
			t.Errorf("%s: %s has lost %q:\n%s\n--- as seen:\n%s\n--- now:\n%s", a.name, path, line, before, some[path], data)
		}
	}
}

// hasUnseenFiles reports whether the directory of a file, which may have an owner, has
// files that a caller does not see.
func hasUnseenFiles(file string, everything, some map[string]string) bool {
	parts := strings.Split(file, "/")
	dir := parts[0] + "/"
	if len(parts) > 2 && parts[0] == "_longterms" {
		dir += parts[1] + "/"
	}
	for path := range everything {
		if _, seen := some[path]; !seen && strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// hiddenLines lists the non-blank lines that a reader does not see of a file it sees
// in part. It omits the task counter, which is updated by any reader's changes.
func (f *testFile) hiddenLines(a reader) (list []string) {
	public, private := a.canRead(f)
	if !public || private {
		return nil
	}
	if !f.public {
		for _, line := range f.front {
			if !strings.HasPrefix(line, "tasks: ") {
				list = append(list, line)
			}
		}
	}
	for _, p := range f.chunks {
		if p.private {
			list = append(list, strings.Split(p.text, "\n")...)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// firstMissingLine returns the first of lines that is missing from text behind the
// lines before it, or "".
func firstMissingLine(lines []string, text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if len(lines) > 0 && strings.TrimRight(line, "\r") == lines[0] {
			lines = lines[1:]
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// randomLine returns a line to write to a file.
func (w *randomMemory) randomLine() string {
	return w.pickOne("- [ ] water the plants\n", "- [x] same words\n", "## New heading\n", "\n", "words of mine\n\n", "- item <!-- id=n1 -->\n",
		"- item <!-- visibility=private_only -->\n", "- item <!-- visibility=public_ok -->\n", "<private>\n", "</private>\n", "<!-- \n", "-->\n", "---\n", "```\n",
		"text <!-- memwatchd:generated -->\n", "<!-- /memwatchd:generated -->\n", "- a\n  - [ ] nested\n", "subject_id: acct:42\n", "visibility: public_ok\n", "summary: mine\n",
		"    code\n", "> quote\n", "|a|b|\n|-|-|\n|1|2|\n", "***\n", "===\n", "[a]: /b\n", "<div>\n", "Long-term Memory (filtered)\n- k: v\n")
}

// editText returns a new text for a file.
func (w *randomMemory) editText(known string) string {
	lines := strings.SplitAfter(known, "\n")
	for range w.r.IntN(3) {
		i := w.r.IntN(len(lines))
		lines = slices.Delete(lines, i, min(i+1+w.r.IntN(4), len(lines)))
		if len(lines) == 0 {
			lines = []string{""}
		}
	}
	for range 1 + w.r.IntN(3) {
		lines = slices.Insert(lines, w.r.IntN(len(lines)+1), w.randomLine())
	}
	text := strings.Join(lines, "")
	if w.chance(10) {
		text = "---\n" + w.pickOne("summary: s", "subject_id: bob", "subject_id: acct:42", "visibility: private_only", "visibility: public_ok") + "\n---\n" + text
	}
	return text
}
