package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
	"github.com/memwatchd/memwatchd/internal/share"
)

// newStore returns a fake cluster.
func newStore(t *testing.T) *weaviatetest.Server {
	t.Helper()
	s := weaviatetest.NewServer()
	t.Cleanup(s.Close)
	return s
}

// sharingAs returns the configuration of a machine that shares everything public.
func sharingAs(host string, store *weaviatetest.Server, more ...func(*config.Config)) func(*config.Config, string) {
	return func(c *config.Config, base string) {
		c.Memory.Owner = "alice"
		c.Share.Weaviate.URL, c.Memory.Host, c.Share.Publish = store.URL, host, []string{"**"}
		c.Tuning.ShareQuery = 10 * time.Second
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{Path: filepath.Join(base, "public"),
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
	testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, g.dial(socket), operation, scoped(socket, request))), &a))
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

// TestSharePrivacy checks that no request contains text that is not published,
// that the requests about public text do not depend on private text, and that
// neither do the answers of another machine in public.
func TestSharePrivacy(t *testing.T) {
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
		testkit.Must(t, json.Unmarshal([]byte(text), &answer))
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

// TestForgetWithoutStore checks that the outbox, which is written while the store does not
// answer, contains no text of a forgotten entry once forget has answered, although its
// next regular write is not due.
func TestForgetWithoutStore(t *testing.T) {
	store, root := newStore(t), shortDir(t)
	store.SetFault(weaviatetest.Fail(http.StatusServiceUnavailable, 0))
	writeTree(t, root, map[string]string{"a.md": publicNote("The quince CANARY", "The medlar")}, time.Now())
	g := &target{t: t, root: root, base: shortDir(t), beforeRun: func(d *daemon) {
		var calls atomic.Int64
		start := time.Now()
		d.share.Now = func() time.Time { // every write of the outbox is slow
			return start.Add(time.Duration(calls.Add(1)) * time.Second)
		}
	}}
	g.startDaemon(sharingAs("desk", store))
	g.waitComplete()
	outbox := func() (all string) {
		names, err := filepath.Glob(filepath.Join(g.base, "state/share/*"))
		testkit.Must(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if !errors.Is(err, fs.ErrNotExist) { // a temporary file
				testkit.Must(t, err)
			}
			all += string(text)
		}
		return all
	}
	waitUntil(t, "the outbox contains the entries", func() bool {
		return strings.Contains(outbox(), "CANARY") && strings.Contains(outbox(), "medlar")
	})
	list := decodeAs[api.ForgetAnswer](t, g, "s", "forget", object{"match": "quince"})
	done := decodeAs[api.ForgetAnswer](t, g, "s", "forget", object{"token": list.Token, "ids": []string{list.Entries[0].ID}})
	if text := outbox(); strings.Contains(text, "CANARY") {
		t.Errorf("after %+v the outbox contains: %s", done, text)
	}
	waitUntil(t, "the outbox contains the other entry", func() bool { return strings.Contains(outbox(), "medlar") })
	if text := outbox(); strings.Contains(text, "CANARY") {
		t.Errorf("the outbox contains the forgotten entry again: %s", text)
	}
}

// TestPushAwaitsScan checks that no step of sharing begins before every file has been
// seen.
func TestPushAwaitsScan(t *testing.T) {
	d := &daemon{scanned: make(chan struct{})}
	p := &share.Publisher{Ready: d.awaitKnown} // without a store, which a step would call
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []string{"push", "init"} {
		if _, err := p.Push(ctx, step); !errors.Is(err, context.Canceled) {
			t.Errorf("%s before the first scan ends: %v", step, err)
		}
	}
}

// TestFoldersAreNotShared checks that the words of a search of folders only are not
// sent.
func TestFoldersAreNotShared(t *testing.T) {
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
