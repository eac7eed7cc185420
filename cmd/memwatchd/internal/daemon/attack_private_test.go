package daemon

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
)

var (
	memoryCount = flag.Int("woods", 0, "how many random memories are attacked; 0 for the few that a quick run has time for")
	memorySeed  = flag.Uint64("wood-seed", 1, "the first random memory")
)

// A caller is a reader with the request fields that identify it.
type caller struct {
	name        string
	scopeFields object
	fixed       string // the socket with this scope fixed, on which no such fields are needed; empty for none
	reader      reader
}

// allCallers returns every reader, in every context.
func allCallers() []caller {
	linked := []string{"acct:42", "ext:telegram:1", "ext:slack:T1:U7"}
	var all []caller
	for _, who := range []struct {
		key, value string
		subjects   []string
	}{
		{"", "", nil}, {"subject", "", nil}, {"subject", rootOwner, []string{rootOwner}},
		{"subject", "acct:42", linked}, {"external_key", "telegram:1", linked}, {"external_key", "slack:T1:U7", linked},
		{"subject", "ext:telegram:1", []string{"ext:telegram:1"}}, {"external_key", "slack:U9", []string{"ext:slack:U9"}},
		{"subject", "acct_42", []string{"acct_42"}}, {"subject", "bob", []string{"bob"}}, {"subject", "alice", []string{"alice", "bob"}},
		{"subject", "x:y", []string{"x:y"}}, {"subject", "x_y", []string{"x_y"}}, {"subject", "c:d", []string{"c:d"}}, {"external_key", "", nil},
	} {
		for _, context := range []string{"private", "public", "unknown", ""} {
			a := caller{scopeFields: object{}, reader: reader{who.subjects, context == "private"}}
			if who.key != "" {
				a.scopeFields[who.key] = who.value
			}
			if context != "" {
				a.scopeFields["context"] = context
			}
			if who.key == "subject" && context != "" {
				a.fixed = "f" + fmt.Sprint(len(all))
			}
			a.name = who.key + " " + who.value + " " + context
			all = append(all, a)
		}
	}
	return all
}

// randomMemoryConfig sets the configuration under which every random memory is served.
func randomMemoryConfig(c *config.Config, base string) {
	c.Memory.Users = []string{"alice", "bob"}
	publicDays(c, base)
	for _, a := range allCallers() {
		if a.fixed == "" {
			continue
		}
		subject, _ := a.scopeFields["subject"].(string)
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{
			Path: filepath.Join(base, a.fixed), Subject: subject, Context: a.scopeFields["context"].(string),
		})
	}
}

type probe struct {
	operation string
	request   object
}

// misspell swaps, doubles or drops a letter of a text.
func (w *randomMemory) misspell(s string) string {
	letters := []rune(s)
	if len(letters) < 4 {
		return s
	}
	i := 1 + w.r.IntN(len(letters)-1)
	switch w.r.IntN(3) {
	case 0:
		letters[i-1], letters[i] = letters[i], letters[i-1]
	case 1:
		letters = slices.Insert(letters, i, letters[i])
	default:
		letters = slices.Delete(letters, i, i+1)
	}
	return string(letters)
}

// newProbes returns requests about everything in a memory, more than most readers
// may see, and about things not in it.
func (w *randomMemory) newProbes(ids []string) []probe {
	var all []probe
	add := func(operation string, request object) { all = append(all, probe{operation, request}) }
	now := w.today.Format(time.RFC3339)
	words := append([]string{"tea", "coffee", "green", "deploy", "certificate", "same words", "喝茶", "茶", "snake", "http", "run", "привет", "7", "the", "cafe", "zorbtag", "cli", "memory", "longterms acct"}, w.secrets...)
	days := []string{"", w.day(0), w.day(2), w.day(20), w.day(-400), w.day(1) + "T01:00:00Z"}
	for range 22 {
		var query []string
		for range 1 + w.r.IntN(5) {
			query = append(query, words[w.r.IntN(len(words))])
		}
		q := object{"query": strings.Join(query, " "), "as_of": now, "limit": 1 + w.r.IntN(30), "explain": w.chance(60)}
		set := func(percent int, key string, value any) {
			if w.chance(percent) {
				q[key] = value
			}
		}
		if w.chance(40) {
			q["mode"] = "overlap"
			set(15, "all", true)
			set(20, "recency_bias", float64(w.r.IntN(11))/10)
		} else {
			set(50, "mode", w.pickOne("hybrid", "semantic", "relevance"))
		}
		set(10, "query", w.pickOne("zor*", "zorbli*", "密*", "dep* snake", "cert*", "runn*"))
		set(25, "query", w.misspell(words[w.r.IntN(len(words))])+" "+w.misspell(query[0]))
		set(8, "query", "")
		if w.chance(15) {
			q["query"] = `"` + words[w.r.IntN(len(words))] + `" ` + query[0]
			set(50, "phrase", "required")
		}
		set(40, "group", "file")
		set(15, "exclude", words[w.r.IntN(len(words))])
		set(20, "offset", w.r.IntN(6))
		if w.chance(15) {
			q["kinds"] = []string{w.pickOne("session", "daily", "longterm", "items", "note", "archive", "identity")}
		} else {
			set(30, "include_archived", true)
		}
		set(12, "types", []string{w.pickOne("fact", "crumb", "decision"), "request"})
		if w.chance(12) {
			q["tags"] = []string{w.pickOne("tea", "zorbtag", "home", "project:x"), w.pickOne("tea", "file")}
			set(50, "any_tag", true)
		}
		set(10, "sections", []string{w.pickOne("Tasks", "key facts", "Alpha")})
		set(15, "path", w.pickOne("memory", "_longterms/**", "*/*.md", w.paths[w.r.IntN(len(w.paths))], "alice", "**/s1.md"))
		set(12, "since", days[w.r.IntN(len(days))])
		set(12, "until", days[w.r.IntN(len(days))])
		set(12, "state", w.pickOne("open", "done"))
		set(10, "session", w.pickOne("s1", "s2", "cli"))
		set(8, "contact", w.pickOne("c1", "c2"))
		add("search", q)
	}
	for i, path := range w.paths {
		add("get", object{"path": path})
		if i%3 == 0 {
			add("get", object{"path": path, "from": 1 + w.r.IntN(9), "lines": w.r.IntN(4)})
			add("related", object{"path": path, "limit": 1 + w.r.IntN(20)})
		}
	}
	for _, id := range append([]string{"k1", "k2", "k3", "k4", "none", "^x", "a"}, ids...) {
		add("get", object{"id": id})
		add("related", object{"id": id})
	}
	for _, id := range ids[:min(len(ids), 10)] {
		add("get", object{"path": id})
	}
	for _, hours := range []float64{24, 100, 876000} {
		add("recent", object{"hours": hours, "as_of": now, "limit": 100})
		add("recent", object{"hours": hours, "as_of": now, "limit": 3, "tags": []string{w.pickOne("tea", "zorbtag")}})
	}
	add("load", object{})
	add("load", object{"session": "s1"})
	add("load", object{"session": w.pickOne("s1", "s2", "cli"), "day": w.day(1), "days": 30})
	add("context", object{})
	add("context", object{"max_items": 2, "days": 30, "session": "s2"})
	add("context", object{"project": w.pickOne("x", "y"), "days": 30})
	add("context", object{"format": "relevant", "project": "x", "query": strings.Join(words[:3], " ")})
	add("item_list", object{"said_in": w.pickOne("public", "private")})
	add("context", object{"format": "items", "namespaces": []string{"fact", w.pickOne("profile", "preference")}})
	for _, state := range []string{"open", "done", "all"} {
		add("todos", object{"state": state})
	}
	add("todos", object{"state": "all", "days": 3})
	add("todos", object{"section": "Tasks"})
	add("sync", object{})
	add("get", object{"path": w.paths[0], "id": "x"})
	add("get", object{"path": w.paths[0], "from": 100000})
	add("get", object{"pth": w.paths[0]})
	add("search", object{"query": "tea", "path": "[", "as_of": now})
	add("serch", object{})
	return all
}

var tookField = regexp.MustCompile(`"took_ms":[0-9.e-]+`)

// sendProbes sends all probes over a socket and returns the answers, without the
// times they took.
func (w *randomMemory) sendProbes(t *testing.T, g *target, c *http.Client, says object, probes []probe) []string {
	answers := make([]string, len(probes))
	for i, p := range probes {
		request := maps.Clone(p.request)
		maps.Copy(request, says)
		status, body := g.sendRequest(t, c, p.operation, request)
		for strings.Contains(body, `"state":"timeout"`) { // the vector of the query is there soon
			status, body = g.sendRequest(t, c, p.operation, request)
		}
		answers[i] = fmt.Sprint(status, " ", tookField.ReplaceAllString(body, `"took_ms":0`))
	}
	return answers
}

// listIDs lists the ids of all entries, as their owners see them.
func (w *randomMemory) listIDs(g *target, c *http.Client) []string {
	var ids []string
	for _, subject := range []string{rootOwner, "acct:42", "acct_42", "bob", "alice", "x:y"} {
		var answer struct{ Hits []struct{ ID string } }
		body := g.mustSend(g.t, c, "recent", object{"subject": subject, "context": "private", "hours": 876000, "limit": 100})
		testkit.Must(g.t, json.Unmarshal([]byte(body), &answer))
		for _, h := range answer.Hits {
			ids = append(ids, h.ID)
		}
	}
	w.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:min(len(ids), 40)]
}

// TestNonInterference checks that every byte of every answer is the same as if
// the text that the caller may not read had never been written.
func TestNonInterference(t *testing.T) {
	quick := 20 * time.Second
	if testing.Short() {
		quick = 4 * time.Second
	}
	end := time.Now().Add(quick)
	n, answers := uint64(0), atomic.Int64{}
	// On a busy machine, there are few answers in that time.
	more := func() bool { return time.Now().Before(end) || !testing.Short() && answers.Load() < 1000 && n < 100 }
	for ; *memoryCount == 0 && more() && !t.Failed() || n < uint64(*memoryCount); n++ {
		t.Run(fmt.Sprint("wood ", *memorySeed+n), func(t *testing.T) { attackMemory(t, *memorySeed+n, &answers) })
	}
	t.Logf("%d memories, %d pairs of answers", n, answers.Load())
	if !testing.Short() && answers.Load() < 1000 {
		t.Errorf("only %d pairs of answers were compared", answers.Load())
	}
}

// attackMemory compares, for some callers, a memory with the part that they may
// see.
func attackMemory(t *testing.T, seed uint64, answers *atomic.Int64) {
	w := newRandomMemory(seed)
	when := w.today.Add(-50 * time.Hour).Truncate(time.Second)
	everything := w.visibleFiles(nil)
	root := filepath.Join(t.TempDir(), "m")
	writeTree(t, root, everything, when)
	endpoint := llmtest.NewServer(t)
	start := func(t *testing.T, root string) *target {
		g := startTarget(t, root, func(c *config.Config, base string) {
			randomMemoryConfig(c, base)
			c.Embed.Endpoint, c.Embed.Model, c.Embed.Private, c.Tuning.EmbedQuery = endpoint.URL, "m", true, time.Minute
		})
		waitUntil(t, "all texts have vectors", func() bool {
			texts := 0
			for _, n := range g.daemon.index.CountTexts() {
				texts += n
			}
			s := g.daemon.Report().Embed
			return s != nil && s.Embedded == texts && s.Pending == 0
		})
		return g
	}
	whole := start(t, root)
	open := whole.dial("s")
	probes := w.newProbes(w.listIDs(whole, open))
	// Askers who may see the same text share one daemon.
	groups := map[string][]caller{}
	for _, a := range allCallers() {
		seen := fmt.Sprint(w.visibleFiles(&a.reader)) // maps are printed in the order of their keys
		groups[seen] = append(groups[seen], a)
	}
	keys := slices.Sorted(maps.Keys(groups))
	w.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	most, each := 6, 4 // groups, and callers of each
	if testing.Short() {
		most, each = 2, 2
	}
	for _, key := range keys[:min(len(keys), most)] {
		group := groups[key]
		w.r.Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		t.Run(strings.TrimSpace(group[0].name), func(t *testing.T) {
			t.Parallel()
			some := w.visibleFiles(&group[0].reader)
			root := filepath.Join(t.TempDir(), "m")
			writeTree(t, root, some, when)
			part := start(t, root)
			for _, a := range group[:min(len(group), each)] {
				w.compareAnswers(t, whole, part, a, probes, everything, some)
				answers.Add(int64(len(probes)))
			}
		})
	}
}

// compareAnswers sends all probes to the whole memory and to the part that the caller
// may see, and compares the answers.
func (w *randomMemory) compareAnswers(t *testing.T, whole, part *target, a caller, probes []probe, everything, some map[string]string) {
	t.Helper()
	compare := func(how string, got, want []string, inbox bool) {
		t.Helper()
		for i, p := range probes {
			if got[i] == want[i] || inbox && !isReadOnly(p.operation) {
				continue
			}
			t.Errorf("%s, %s: %s %v (-as if the rest did not exist +as it is)\n%s", a.name, how, p.operation, p.request, cmp.Diff(formatAnswer(want[i]), formatAnswer(got[i])))
			if path, ok := p.request["path"].(string); ok && everything[path] != some[path] {
				t.Logf("%s:\n%s\n--- as seen:\n%s", path, everything[path], some[path])
			}
			return
		}
	}
	var said []string
	if !slices.Equal(a.reader.subjects, []string{rootOwner}) || !a.reader.private { // the root owner's answers include the state of the whole memory
		said = w.sendProbes(t, whole, whole.dial("s"), a.scopeFields, probes)
		compare("asked", said, w.sendProbes(t, part, part.dial("s"), a.scopeFields, probes), false)
	}
	if a.fixed == "" {
		return
	}
	heard := w.sendProbes(t, whole, whole.dial(a.fixed), nil, probes)
	compare("over a listener of its own", heard, w.sendProbes(t, part, part.dial(a.fixed), nil, probes), false)
	if said != nil {
		compare("over a listener of its own and over the owner's", heard, said, true) // a guest writes to its inbox
	}
}

// isReadOnly reports whether an operation only reads.
func isReadOnly(name string) bool {
	op, err := api.LookUp(name)
	return err != nil || op.ReadOnly
}

// formatAnswer formats an answer on many lines.
func formatAnswer(answer string) string {
	status, body, _ := strings.Cut(answer, " ")
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return answer
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return answer
	}
	return status + "\n" + string(b)
}

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
		writeTree(t, main, everything, when)
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
		writeTree(t, other, everything, when)
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
