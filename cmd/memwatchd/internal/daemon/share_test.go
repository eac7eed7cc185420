package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
)

// newStore returns a fake cluster.
func newStore(t *testing.T) *weaviatetest.Server {
	t.Helper()
	s := weaviatetest.NewServer()
	t.Cleanup(s.Close)
	return s
}

// sharing returns the configuration of a machine that shares everything public.
func sharingAs(host string, store *weaviatetest.Server, more ...func(*config.Config)) func(*config.Config, string) {
	return func(c *config.Config, base string) {
		c.Memory.Owner = "alice"
		c.Share.Weaviate.URL, c.Share.Host, c.Share.Publish = store.URL, host, []string{"**"}
		c.Tuning.ShareQuery = 10 * time.Second
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{Path: filepath.Join(base, "public"), Mode: "0600",
			Subject: "alice", Context: "public"})
		for _, f := range more {
			f(c)
		}
	}
}

// scoped returns a request of the owner in private on the socket s.
func scoped(socket string, request object) object {
	if socket != "s" {
		return request
	}
	return mergeObjects(request, object{"subject": "alice", "context": "private"})
}

// decodeAs returns the answer to a request that must succeed.
func decodeAs[A any](t *testing.T, g *target, socket, operation string, request object) (a A) {
	t.Helper()
	if err := json.Unmarshal([]byte(g.mustSend(t, g.dial(socket), operation, scoped(socket, request))), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func hitsOf(a api.SearchAnswer) (list []string) {
	for _, h := range a.Hits {
		list = append(list, h.Path+" "+h.Text)
	}
	return list
}

func publicNote(lines ...string) string {
	return "---\nvisibility: public_ok\n---\n# Notes\n\n- " + strings.Join(lines, "\n- ") + "\n"
}

// TestShare checks that a machine finds the entries that another one published,
// with the same scores and times.
func TestShare(t *testing.T) {
	isolateHome(t)
	store, when := newStore(t), time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC)
	desk, laptop := shortDir(t), shortDir(t)
	writeTree(t, desk, map[string]string{
		"notes/bike.md": publicNote("The blue bike needs a chain #bike <!-- id=chain importance=0.7 -->",
			"The red bike is sold <!-- id=red -->", "蓝色的自行车 <!-- id=zh -->"),
		"notes/tea.md":                publicNote("Green tea <!-- id=tea -->"),
		"_longterms/alice/profile.md": "## Public summaries\n\n- **Bikes**: has two bikes <!-- visibility=public_ok evidence=notes/bike.md#red updated=2026-02-04T00:00:00Z -->\n",
	}, when)
	a := startTarget(t, desk, sharingAs("desk", store))
	if _, body := a.sendRequest(t, a.dial("s"), "share_push", scoped("s", object{})); !strings.Contains(body, "run `memwatchd share init`") {
		t.Errorf("before share init: %s", body)
	}
	pushed := decodeAs[api.SharePushAnswer](t, a, "s", "share_push", object{"step": "init"})
	if pushed.Published != 5 || pushed.Missing+pushed.Extra != 0 || pushed.State != "publishing" {
		t.Errorf("share init: %+v", pushed)
	}
	b := startTarget(t, laptop, sharingAs("laptop", store))
	for _, request := range []object{
		{"query": "bike", "mode": "overlap", "as_of": "2026-02-06", "explain": true},
		{"query": "bike chain blue", "mode": "overlap", "recency_bias": 0.9, "as_of": "2026-02-06"},
		{"query": "自行车", "mode": "overlap", "as_of": "2026-02-06"},
		{"query": "bike", "mode": "overlap", "tags": []string{"bike"}, "as_of": "2026-02-06"},
	} {
		want := decodeAs[api.SearchAnswer](t, a, "s", "search", request)
		got := decodeAs[api.SearchAnswer](t, b, "s", "search", request)
		if len(want.Hits) == 0 || len(got.Hits) != len(want.Hits) || got.Index.Shared != "included" {
			t.Fatalf("%v: %v at the other machine, want %v", request, hitsOf(got), hitsOf(want))
		}
		for i, h := range got.Hits {
			w := want.Hits[i]
			if h.ID != "desk:"+w.ID || math.Abs(h.Score-w.Score) > 1e-6 || h.Text != w.Text || h.Host != "desk" ||
				!h.Time.Equal(w.Time) || h.Line != w.Line || !h.Untrusted {
				t.Errorf("%v: hit %d is %+v, want %+v", request, i, h, w)
			}
		}
	}
	recent := object{"as_of": "2026-02-06", "hours": 48}
	want := hitsOf(decodeAs[api.SearchAnswer](t, a, "s", "recent", recent))
	got := hitsOf(decodeAs[api.SearchAnswer](t, b, "s", "recent", recent))
	for i := range want {
		want[i] = "desk:" + want[i]
	}
	slices.Sort(want) // all but one have the same time
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recent (-want +got):\n%s", diff)
	}
	entry := decodeAs[api.GetAnswer](t, b, "s", "get", object{"path": "desk:notes/bike.md#chain"})
	if entry.Text != "- The blue bike needs a chain #bike\n" || entry.Host != "desk" || !entry.Untrusted {
		t.Errorf("get: %+v", entry)
	}
	if status, body := b.sendRequest(t, b.dial("s"), "get", scoped("s", object{"path": "desk:notes/bike.md#none"})); status != 404 {
		t.Errorf("get of a missing entry: %s", body)
	}
	block := decodeAs[api.ContextAnswer](t, b, "s", "context", object{"format": "relevant", "query": "chain"})
	if !strings.Contains(block.Text, "desk:notes/bike.md:6 2026-02-05 [untrusted]") || block.Index.Shared != "included" {
		t.Errorf("context: %+v", block)
	}

	// A change is found, a removed entry is not, and an own copy is the only hit.
	writeTree(t, desk, map[string]string{"notes/tea.md": publicNote("Black tea <!-- id=black -->")}, when)
	decodeAs[api.SyncAnswer](t, a, "s", "sync", object{})
	waitUntil(t, "the change is published", func() bool {
		found := hitsOf(decodeAs[api.SearchAnswer](t, b, "s", "search", object{"query": "tea"}))
		return cmp.Equal(found, []string{"desk:notes/tea.md - Black tea"})
	})
	writeTree(t, laptop, map[string]string{"notes/tea.md": publicNote("Black tea <!-- id=black -->")}, when)
	found := hitsOf(decodeAs[api.SearchAnswer](t, b, "s", "search", object{"query": "tea"}))
	if !cmp.Equal(found, []string{"notes/tea.md - Black tea"}) {
		t.Errorf("an entry that both machines have: %q", found)
	}
	if n := decodeAs[api.ShareForgetAnswer](t, b, "s", "share_forget_host", object{"host": "desk"}); n.Removed < 5 {
		t.Errorf("%d entries of a machine removed", n.Removed)
	}
	if status, body := b.sendRequest(t, b.dial("s"), "share_forget_host", scoped("s", object{"host": "laptop"})); status != 400 {
		t.Errorf("forget-host of this machine: %s", body)
	}
}

// TestSharePrivacy checks that no request contains text that is not published,
// that the requests about public text do not depend on private text, and that
// neither do the answers of another machine in public.
func TestSharePrivacy(t *testing.T) {
	isolateHome(t)
	when := time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC)
	public := map[string]string{"notes/bike.md": publicNote("The blue bike <!-- id=blue -->", "The red bike <!-- id=red -->")}
	never := map[string]string{
		"notes/block.md":                       publicNote("Text\n\n<private>\n- bike CANARYBLOCK\n</private>"),
		"notes/key.md":                         publicNote("bike CANARYKEY ghp_0123456789abcdefghijABCDEFGHIJ456789"),
		"notes/heading.md":                     "---\nvisibility: public_ok\n---\n# CANARYHEADING\n\n- bike <!-- visibility=private_only -->\n",
		"_longterms/alice/_archive/2026-01.md": publicNote("bike CANARYARCHIVE"),
		"notes/generated.md":                   publicNote("Text") + "\n<!-- memwatchd:generated -->\n- bike CANARYGENERATED\n<!-- /memwatchd:generated -->\n",
		"users.md":                             "---\nvisibility: public_ok\nsubject_id: owner\n---\n- bike CANARYOWNER\n",
	}
	private := map[string]string{"notes/private.md": "- the bike CANARYPRIVATE of mine\n", "MEMORY.md": "- bike CANARYMEMORY\n"}
	answers := func(withPrivate, sharePrivate bool) (list []string) {
		store, root := newStore(t), shortDir(t)
		shares := func(c *config.Config) { c.Share.Private = sharePrivate }
		writeTree(t, root, public, when)
		writeTree(t, root, never, when)
		if withPrivate {
			writeTree(t, root, private, when)
		}
		a := startTarget(t, root, sharingAs("desk", store, shares))
		decodeAs[api.SharePushAnswer](t, a, "s", "share_push", object{"step": "init"})
		for _, r := range store.Requests() {
			for _, name := range []string{"BLOCK", "KEY", "ARCHIVE", "GENERATED", "OWNER"} {
				if strings.Contains(r.Body, "CANARY"+name) || strings.Contains(strings.ToLower(r.Body), "canary"+strings.ToLower(name)) {
					t.Errorf("request contains text that is never published: %s", r.Body)
				}
			}
			if !sharePrivate && strings.Contains(strings.ToLower(r.Body), "canary") {
				t.Errorf("request contains private text: %s", r.Body)
			}
		}
		b := startTarget(t, shortDir(t), sharingAs("laptop", store, shares))
		for _, request := range []object{
			{"query": "bike"}, {"query": "bike", "mode": "overlap", "explain": true},
			{"query": "canaryprivate"}, {"query": "mine bike", "explain": true},
		} {
			request["as_of"] = "2026-02-06"
			answer := decodeAs[api.SearchAnswer](t, b, "public", "search", request)
			answer.TookMS = 0
			text, _ := json.Marshal(answer)
			list = append(list, string(text))
		}
		_, body := b.sendRequest(t, b.dial("public"), "get", scoped("public", object{"path": "desk:notes/private.md#x"}))
		list = append(list, body)
		found := decodeAs[api.SearchAnswer](t, b, "s", "search", object{"query": "canaryprivate"})
		if (found.Total > 0) != (withPrivate && sharePrivate) {
			t.Errorf("private entries %t, shared %t: the owner finds %v", withPrivate, sharePrivate, hitsOf(found))
		}
		if status, body := b.sendRequest(t, b.dial("public"), "share_status", scoped("public", object{"plan": true})); status == 200 {
			t.Errorf("a public listener shows the plan: %s", body)
		}
		return list
	}
	for _, sharePrivate := range []bool{false, true} {
		if diff := cmp.Diff(answers(false, sharePrivate), answers(true, sharePrivate)); diff != "" {
			t.Errorf("answers in public depend on private entries (-without +with):\n%s", diff)
		}
	}
}

// TestShareOfDirectories checks that the entries of a directory are shared with the
// subject that can read them on the machine, and with no other after a change of
// its claim.
func TestShareOfDirectories(t *testing.T) {
	isolateHome(t)
	store, root, when := newStore(t), shortDir(t), time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC)
	claim := func(subject string) map[string]string {
		return map[string]string{"_longterms/acct_42/fact.md": "---\nsubject_id: \"" + subject + "\"\nvisibility: public_ok\n---\n- Text\n"}
	}
	writeTree(t, root, map[string]string{"_longterms/acct_42/_index.md": publicNote("The quince is ripe")}, when)
	writeTree(t, root, claim("acct:42"), when)
	a := startTarget(t, root, sharingAs("desk", store))
	decodeAs[api.SharePushAnswer](t, a, "s", "share_push", object{"step": "init"})
	b := startTarget(t, shortDir(t), sharingAs("laptop", store))
	finds := func(subject string) bool {
		var answer api.SearchAnswer
		text := b.mustSend(t, b.dial("s"), "search", object{"query": "quince", "subject": subject, "context": "private"})
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		return len(answer.Hits) > 0
	}
	if !finds("acct:42") || finds("acct:7") || finds("alice") {
		t.Errorf("found by acct:42 %t, acct:7 %t, alice %t", finds("acct:42"), finds("acct:7"), finds("alice"))
	}
	writeTree(t, root, claim("acct:7"), when)
	waitUntil(t, "the former subject does not find the entry", func() bool { return !finds("acct:42") })
	if finds("acct:7") {
		t.Error("a subject finds the entry that it cannot read on the machine")
	}
}

// TestShareAway checks that answers are local, and report that, while the store does
// not answer, and that changes reach it afterwards.
func TestShareAway(t *testing.T) {
	isolateHome(t)
	store, root := newStore(t), shortDir(t)
	writeTree(t, root, map[string]string{"a.md": publicNote("bike one")}, time.Now())
	g := startTarget(t, root, sharingAs("desk", store, func(c *config.Config) {
		c.Tuning.ShareQuery, c.Tuning.ShareTimeout = 50*time.Millisecond, 5*time.Second
	}))
	decodeAs[api.SharePushAnswer](t, g, "s", "share_push", object{"step": "init"})
	store.SetFault(weaviatetest.Hang)
	states := map[string]bool{}
	for range 6 {
		answer := decodeAs[api.SearchAnswer](t, g, "s", "search", object{"query": "bike"})
		if len(answer.Hits) != 1 {
			t.Errorf("local hits: %v", hitsOf(answer))
		}
		states[answer.Index.Shared] = true
	}
	if !states["timeout"] || !states["unavailable"] || states["included"] {
		t.Errorf("states of answers: %v", states)
	}
	writeTree(t, root, map[string]string{"b.md": publicNote("bike two")}, time.Now())
	waitUntil(t, "the change is in the outbox", func() bool {
		s := decodeAs[api.ShareStatusAnswer](t, g, "s", "share_status", object{})
		return s.Spooled == 1 && s.State == "waiting" && s.LastError != ""
	})
	store.SetFault(nil)
	waitUntil(t, "the change is published", func() bool {
		s := decodeAs[api.ShareStatusAnswer](t, g, "s", "share_status", object{})
		return s.Spooled == 0 && s.Published == 2 && s.State == "publishing"
	})
	if s := decodeAs[api.SearchAnswer](t, g, "s", "search", object{"query": "bike"}); s.Index.Shared == "unavailable" {
		t.Error("the store is not asked after it answers again")
	}
}

// TestNothingShared checks that without configuration there are no requests, files
// or goroutines.
func TestNothingShared(t *testing.T) {
	isolateHome(t)
	root := shortDir(t)
	writeTree(t, root, map[string]string{"a.md": publicNote("bike")}, time.Now())
	g := startTarget(t, root, func(c *config.Config, _ string) {
		c.Memory.Owner, c.Share.Publish, c.Share.Host = "alice", []string{"**"}, "desk"
	})
	if g.daemon.share != nil {
		t.Error("there is a publisher")
	}
	answer := g.mustSend(t, g.dial("s"), "search", object{"query": "bike"})
	status := g.mustSend(t, g.dial("s"), "status", scoped("s", object{}))
	if strings.Contains(answer, `"shared"`) || strings.Contains(status, `"share"`) {
		t.Errorf("answers mention a store: %s %s", answer, status)
	}
	if code, body := g.sendRequest(t, g.dial("s"), "share_status", scoped("s", object{})); code != 503 || !strings.Contains(body, "share.weaviate.url") {
		t.Errorf("share_status: %d %s", code, body)
	}
	fs.WalkDir(os.DirFS(g.base), ".", func(path string, _ fs.DirEntry, _ error) error {
		if strings.Contains(path, "share") || strings.HasSuffix(path, ".jsonl") {
			t.Errorf("file %s", path)
		}
		return nil
	})
	var stacks [1 << 20]byte
	if text := string(stacks[:runtime.Stack(stacks[:], true)]); strings.Contains(text, "memwatchd/share.") {
		t.Errorf("goroutines:\n%s", text)
	}
}

// TestPushAwaitsScan checks that no step of sharing begins before every file has been
// seen.
func TestPushAwaitsScan(t *testing.T) {
	d := &daemon{scanned: make(chan struct{})}
	s := &sharing{await: d.awaitKnown} // without a publisher, which a step would call
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []string{"push", "init"} {
		if _, err := s.Push(ctx, step); !errors.Is(err, context.Canceled) {
			t.Errorf("%s before the first scan ends: %v", step, err)
		}
	}
}

// TestFoldersAreNotShared checks that the words of a search of folders only are not
// sent.
func TestFoldersAreNotShared(t *testing.T) {
	isolateHome(t)
	main, dir := shortDir(t), shortDir(t)
	writeTree(t, main, map[string]string{"a.md": publicNote("a bike")}, time.Now())
	writeTree(t, dir, map[string]string{"b.md": "A bike.\n"}, time.Now())
	g := startTarget(t, main, func(c *config.Config, base string) {
		sharingAs("desk", newStore(t))(c, base)
		withFolders(config.Root{Name: "vault", Path: dir, Owner: "alice"})(c, base)
	})
	for _, c := range []struct {
		request object
		asks    bool
	}{
		{object{"roots": []string{"vault"}}, false}, {object{"path": "vault:"}, false}, {object{"path": "vault:b.md"}, false},
		{object{}, true}, {object{"roots": []string{"memory", "vault"}}, true}, {object{"path": "laptop:a.md"}, true},
	} {
		s := decodeAs[api.SearchAnswer](t, g, "s", "search", mergeObjects(object{"query": "bike"}, c.request))
		if asks := s.Index.Shared != ""; asks != c.asks {
			t.Errorf("%v: %q", c.request, s.Index.Shared)
		}
	}
	// Outside a private context, the name of the folder means nothing.
	s := decodeAs[api.SearchAnswer](t, g, "public", "search", object{"query": "bike", "path": "vault:b.md"})
	if s.Index.Shared == "" {
		t.Error("the name of a folder is known in public")
	}
}
