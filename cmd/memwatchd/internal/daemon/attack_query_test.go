package daemon

import (
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestQueriesOfDeath checks that no single request occupies a processor or
// memory for long.
func TestQueriesOfDeath(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	files := map[string]string{
		// One entry, and a path that globs can match in many ways.
		"notes/" + strings.Repeat("a", 200) + ".md": strings.Repeat("tea coffee the x1 ", 20000) + " <!-- visibility=public_ok -->\n",
	}
	for i := range 400 {
		var b strings.Builder
		fmt.Fprintf(&b, "## Tasks\n\n")
		for j := range 20 {
			fmt.Fprintf(&b, "- [ ] tea coffee the same #tag #t%d word%d of %d\n", j, i*20+j, i)
		}
		files[fmt.Sprintf("2026-02-%02d/s%d.md", 1+i%28, i)] = b.String()
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	g := startTarget(t, root, nil)
	c := g.dial("s")
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	list := func(n int, format string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i%40)
		}
		return out
	}
	const limit = 4 * time.Minute // other tests and a slow machine slow this one down
	size := 1
	if testing.Short() {
		size = 20
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, request := range map[string]object{
		"a large query":          {"query": many(60000/size, "w%d tea ")},
		"one long word":          {"query": strings.Repeat("x", 500000/size)},
		"many quotes":            {"query": strings.Repeat(`"`, 500000/size)},
		"many equal phrases":     {"query": strings.Repeat(`"tea coffee" `, 40000/size)},
		"many phrases":           {"query": many(31, `"tea coffee" "same %d" `)},
		"a long phrase":          {"query": `"` + strings.Repeat("tea coffee the ", 30000/size) + `"`},
		"phrases of stop words":  {"query": `"the" "of" "the x1"`, "limit": 100, "explain": true},
		"only an exclusion":      {"exclude": "nothing", "limit": 100, "offset": 100000},
		"many exclusions":        {"query": "tea", "exclude": many(60, "word%d ")},
		"many characters":        {"query": strings.Repeat("茶水", 100000/size)},
		"equal tags":             {"query": "tea", "tags": list(100, "tag")},
		"many tags":              {"tags": list(100, "t%d"), "any_tag": true},
		"equal sections":         {"query": "tea", "sections": list(100, "Tasks")},
		"equal kinds":            {"query": "tea", "kinds": strings.Split(strings.TrimSuffix(strings.Repeat("session,", 100), ","), ",")},
		"a glob with choices":    {"query": "tea", "path": "notes/" + strings.Repeat("{a,a}", 8) + "x"},
		"a glob with stars":      {"query": "tea", "path": strings.Repeat("*a", 60) + "*x"},
		"a glob of directories":  {"query": "tea", "path": strings.Repeat("**/", 1000) + "x"},
		"nested choices":         {"query": "tea", "path": strings.Repeat("{a,", 200) + "b" + strings.Repeat("}", 200)},
		"a glob of classes":      {"query": "tea", "path": strings.Repeat("[a-z]", 800)},
		"a deep page":            {"query": "tea coffee the", "offset": 100000, "limit": 100, "explain": true},
		"everything, explained":  {"query": "tea coffee the same of tag", "limit": 100, "explain": true, "mode": "overlap", "all": true},
		"the far future":         {"query": "tea", "as_of": "9999-12-31T23:59:59Z", "since": "0001-01-01", "until": "9999-12-31", "mode": "overlap"},
		"combining characters":   {"query": "a" + strings.Repeat("\u0301", 300000/size)},
		"what becomes much more": {"query": strings.Repeat("\ufdfa", 100000/size)},
	} {
		start := time.Now()
		status, body := g.sendRequest(t, c, "search", request)
		if took := time.Since(start); took > limit {
			t.Errorf("%s takes %v", name, took)
		} else {
			t.Logf("%s: %d after %v", name, status, took)
		}
		if status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	for name, choices := range map[string]string{"choices without end": strings.Repeat("{a,a,a}", 40), "nested without end": strings.Repeat("{{a,a},{a,a}}", 40), "a glob without end": strings.Repeat("a", 5000)} {
		if status, body := g.sendRequest(t, c, "search", object{"query": "tea", "path": "notes/" + choices}); status != http.StatusBadRequest {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 100<<20 {
		t.Errorf("%d MiB are kept of questions that were answered", kept>>20)
	}
}
