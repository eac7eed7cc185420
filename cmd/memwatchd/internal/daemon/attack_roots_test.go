package daemon

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// TestNonInterferenceOfRoots checks that every byte of every answer to a caller to
// whom no folder belongs, or who may not read its private text, is the same as if
// there were no folders.
func TestNonInterferenceOfRoots(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	compared := 0
	for n := range max(uint64(*memoryCount), 2) {
		w := newRandomMemory(*memorySeed + n)
		when := w.today.Add(-50 * time.Hour).Truncate(time.Second)
		everything := w.visibleFiles(nil)
		main, dir := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "v")
		w.writeFiles(t, main, everything, when)
		// The same words, ids, tags, tasks and claims of directories, all of it private.
		private := maps.Clone(everything)
		for path, text := range private {
			private[path] = strings.ReplaceAll(text, "public_ok", "private_only")
		}
		writeTree(t, dir, private, when)
		whole := startTarget(t, main, func(c *config.Config, base string) {
			randomMemoryConfig(c, base)
			withFolders(config.Root{Name: "vault", Path: dir, Owner: "carol"}, config.Root{Name: "gone", Path: dir + "-gone", Owner: "carol"})(c, base)
		})
		other := filepath.Join(t.TempDir(), "m")
		w.writeFiles(t, other, everything, when)
		part := startTarget(t, other, randomMemoryConfig)
		ids := w.listIDs(part, part.dial("s"))
		probes := w.newProbes(ids)
		var more []probe
		for _, p := range probes {
			for _, key := range []string{"path", "id"} {
				if text, ok := p.request[key].(string); ok && w.chance(50) {
					more = append(more, probe{p.operation, mergeObjects(p.request, object{key: "vault:" + text})})
				}
			}
			if p.operation == "search" {
				q := maps.Clone(p.request)
				q["roots"] = [][]string{{"vault"}, {"memory"}, {"memory", "vault"}, {"gone"}, {"nowhere"}}[w.r.IntN(5)]
				more = append(more, probe{"search", q})
			}
		}
		for _, roots := range [][]string{{"vault"}, {"memory", "vault"}, {"gone"}} {
			more = append(more, probe{"files", object{"roots": roots}}, probe{"files", object{"path": "vault:memory", "totals": true}},
				probe{"context", object{"format": "relevant", "query": "tea coffee", "roots": roots}},
				probe{"complete", object{"what": "path", "prefix": "vault:"}}, probe{"export", object{"path": "vault:memory"}})
		}
		for _, path := range []string{"vault:new.md", "vault:MEMORY.md", "gone:a/b.md", "nowhere:x.md"} {
			more = append(more, probe{"write", object{"path": path, "text": "- x\n"}}, probe{"write", object{"path": path, "text": "- x\n", "hash": "00"}},
				probe{"edit", object{"path": path, "old_text": "e", "new_text": "f"}}, probe{"todo", object{"id": path + "#x", "state": "done"}})
		}
		probes = append(probes, more...)
		callers := append(allCallers(), caller{"carol in public", object{"subject": "carol", "context": "public"}, "", reader{[]string{"carol"}, false}},
			caller{"carol", object{"subject": "carol"}, "", reader{[]string{"carol"}, false}})
		w.r.Shuffle(len(callers)-2, func(i, j int) { callers[i], callers[j] = callers[j], callers[i] })
		for _, a := range callers[len(callers)-10:] {
			w.compareAnswers(t, whole, part, a, probes, everything, everything)
			compared += len(probes)
		}
		// The subject of the folder reads all of it in private.
		body := whole.mustSend(t, whole.dial("s"), "files", object{"subject": "carol", "context": "private", "roots": []string{"vault"}})
		if !strings.Contains(body, "vault:") {
			t.Errorf("carol reads nothing: %s", body)
		}
		whole.stop()
		part.stop()
	}
	t.Logf("%d pairs of answers", compared)
}
