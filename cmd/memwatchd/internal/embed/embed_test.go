package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	bought = "We bought a new automobile in Berlin"
	server = "The staging server listens on port 8080"
	mira   = "Lunch with Mira was really nice today"
)

// TestOnce checks that each text is sent once, whatever happens to its file, and
// is found.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	w.save("old.md", public(bought, mira, "too short"))
	w.save("new.md", public(server))
	w.start().awaitDone()
	if diff := gocmp.Diff([]string{"- " + server, "- " + bought, "- " + mira}, w.sent()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := w.find("purchase of a car"); got != "- "+bought {
		t.Errorf("found %q", got)
	}
	w.sent()
	if s := w.Status(); s.Embedded != 3 || s.Rejected != 0 || s.Dimensions != 256 || s.LastError != "" {
		t.Errorf("%+v", s)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"restart", func() { w.restart(func(*Embedder) {}) }},
		{"touch", func() { w.save("new.md", public(server)) }},
		{"move", func() { w.save("new.md", ""); w.save("moved.md", public(server)) }},
		{"removal", func() { w.save("old.md", "") }},
		{"restoration", func() { w.save("old.md", public(bought, mira)) }},
		{"copy", func() { w.save("copy.md", public(mira)) }},
		{"another batch", func() { w.restart(func(e *Embedder) { e.Batch = 1 }) }},
		{"another prefix of queries", func() { w.restart(func(e *Embedder) { e.Model.QueryPrefix = "query: " }) }},
	} {
		step.do()
		w.awaitDone()
		if got := w.sent(); len(got) != 0 {
			t.Errorf("%s: sent %q", step.name, got)
		}
	}
	w.save("new.md", public(server, "A change adds one more entry"))
	w.awaitDone()
	if got := w.sent(); len(got) != 1 {
		t.Errorf("a new entry: sent %q", got)
	}
}

// TestPrivate checks that private texts, private queries and credentials are not
// sent.
func TestPrivate(t *testing.T) {
	w := newWorld(t)
	private := "- The word of my bank is a secret\n"
	credential := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	w.save("private.md", "---\nvisibility: private_only\n---\n\n"+private)
	w.save("mixed.md", public("Nobody knows that I am ill <!-- visibility=private_only -->", bought))
	w.save("credential.md", public("The token of the deployment is "+credential))
	w.start().awaitDone()
	if diff := gocmp.Diff([]string{"- " + bought}, w.sent()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	for _, p := range w.index.TextPartitions() {
		ready, pending := w.Count(p)
		if pending != 0 || ready != 0 && p.Visibility != memory.PublicOK {
			t.Errorf("%v: %d ready, %d pending", p, ready, pending)
		}
	}
	if _, err := w.Query(t.Context(), "where is it?", true); !errors.Is(err, index.ErrPrivateQuery) {
		t.Errorf("a private query: %v", err)
	}
	if _, err := w.Query(t.Context(), "what is "+credential, false); !errors.Is(err, index.ErrPrivateQuery) {
		t.Errorf("a query with a credential: %v", err)
	}
	if got := w.sent(); len(got) != 0 {
		t.Errorf("sent %q", got)
	}
	w.restart(func(e *Embedder) { e.Private = true })
	w.awaitDone()
	if _, err := w.Query(t.Context(), "where is it?", true); err != nil {
		t.Error(err)
	}
	got := strings.Join(w.sent(), "\n")
	if !strings.Contains(got, "my bank") || !strings.Contains(got, "I am ill") || strings.Contains(got, credential) {
		t.Errorf("sent %s", got)
	}
}

// TestFaults checks that every text has its vector in the end, whatever happens
// to the endpoint in between.
func TestFaults(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.Busy, llmtest.Failure, llmtest.Unauthorized, llmtest.WrongCount,
		llmtest.WrongIndex, llmtest.NotANumber, llmtest.Zero, llmtest.Cut, llmtest.Base64, llmtest.Shuffled, llmtest.Ollama} {
		w := newWorld(t)
		w.start().awaitDone()
		w.server.Set(fault)
		for i := range 20 {
			w.save(fmt.Sprintf("%d.md", i), public(fmt.Sprintf("the entry has the number %d", i), "and all of them have this"))
		}
		works := slices.Contains([]llmtest.Fault{llmtest.Base64, llmtest.Shuffled, llmtest.Ollama}, fault)
		if !works {
			w.await("a problem", func() bool { return w.Status().LastError != "" })
			if s := w.Status(); s.Embedded > 0 && fault != llmtest.WrongIndex || s.Rejected > 0 {
				t.Errorf("fault %d: %+v", fault, s)
			}
			w.server.Set(llmtest.None)
		}
		w.awaitDone()
		if s := w.Status(); s.Embedded != 21 || s.LastError != "" || s.Rejected != 0 {
			t.Errorf("fault %d: %+v", fault, s)
		}
		if got := w.find("entry of number 17"); got != "- the entry has the number 17" {
			t.Errorf("fault %d: found %q", fault, got)
		}
		if _, most := w.server.Requests(); most > 2 { // a query, too
			t.Errorf("fault %d: %d requests at a time", fault, most)
		}
	}
}

// TestRetryAfter checks that no request is sent before the time that the endpoint
// names.
func TestRetryAfter(t *testing.T) {
	w := newWorld(t)
	w.start().awaitDone()
	w.server.RetryAfter = "3600"
	w.server.Set(llmtest.Busy)
	w.save("a.md", public(bought))
	w.await("a problem", func() bool { return w.Status().LastError != "" })
	w.mu.Lock()
	wait := time.Until(w.resume)
	w.mu.Unlock()
	if wait < 59*time.Minute {
		t.Errorf("waits %v", wait)
	}
	before, _ := w.server.Requests()
	w.save("b.md", public(server))
	time.Sleep(20 * time.Millisecond)
	if n, _ := w.server.Requests(); n != before {
		t.Errorf("%d requests", n-before)
	}
}

// TestRejectedText checks that a text that the model rejects does not keep others
// from being embedded, and is not sent forever.
func TestRejectedText(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusBadGateway, http.StatusGatewayTimeout, -1} {
		w := newWorld(t)
		w.server.RejectStatus = status
		w.server.Reject("poison")
		w.save("a.md", public(bought, "this entry is the poison here", server, mira))
		w.start()
		w.await(fmt.Sprint("the other vectors with the status ", status), func() bool {
			s := w.Status()
			return s.Embedded == 3 && s.Pending == 0 && s.Rejected == 1
		})
		w.server.Reset()
		w.save("b.md", public("A change adds one more entry"))
		w.awaitDone()
		if got := w.sent(); len(got) != 1 {
			t.Errorf("status %d: sent %q", status, got)
		}
	}
}

// TestModels checks that another model has vectors of its own, that the old ones
// answer queries meanwhile, and that the return to a model costs nothing.
func TestModels(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.save(fmt.Sprintf("%d.md", i), public(fmt.Sprintf("the entry has the number %d", i)))
	}
	w.save("z.md", public(bought))
	w.start().awaitDone()
	w.sent()
	w.server.Reject("number 3") // so that the new space stays incomplete
	w.restart(func(e *Embedder) { e.Model.Name, e.Batch = "n", 1 })
	w.await("half of the vectors", func() bool { return w.Status().Embedded > 5 })
	if s := w.answering(); s == nil || s.Name != "m" {
		t.Errorf("answers from %+v", s)
	}
	if got := w.find("purchase of a car"); got != "- "+bought {
		t.Errorf("found %q", got)
	}
	w.server.Reject("")
	w.awaitDone()
	w.await("the new space", func() bool { return w.answering().Name == "n" })
	if got := w.find("purchase of a car"); got != "- "+bought {
		t.Errorf("found %q", got)
	}
	w.sent()
	for _, name := range []string{"m", "n", "m"} {
		w.restart(func(e *Embedder) { e.Model.Name = name })
		w.awaitDone()
		if got := w.sent(); len(got) != 0 {
			t.Errorf("back to %s: sent %q", name, got)
		}
	}
	for _, change := range []func(*Embedder){
		func(e *Embedder) { e.Model.Dimensions = 64 },
		func(e *Embedder) { e.Model.TextPrefix = "text: " },
	} {
		w.restart(change)
		w.awaitDone()
		if got := w.sent(); len(got) != 31 {
			t.Errorf("sent %d texts", len(got))
		}
	}
	if entries, err := filepath.Glob(filepath.Join(w.Dir, "*", spaceFile)); err != nil || len(entries) != keptSpaces {
		t.Errorf("kept %v, %v", entries, err)
	}
}

// TestSwappedModel checks that vectors of a model that took the name of another
// one are not mixed with the vectors of the latter once the probe is compared.
func TestSwappedModel(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought, server, mira))
	w.start().awaitDone()
	w.sent()
	w.server.Set(llmtest.Swapped)
	w.probeNow()
	w.await("the texts again", func() bool { return len(w.server.Texts()) >= 4 })
	w.awaitDone()
	w.await("the new space", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.spaces) == 2 && w.previous == nil })
	if got := w.find("purchase of a car"); got != "- "+bought {
		t.Errorf("found %q", got)
	}
	w.sent()
	w.server.Set(llmtest.None)
	w.restart(func(*Embedder) {})
	w.awaitDone()
	if got := w.sent(); len(got) != 0 {
		t.Errorf("back to the first model: sent %q", got)
	}
}

// TestSwappedMeanwhile checks that texts that are sent long after the last comparison
// get no vectors of a model that took the name of the present one.
func TestSwappedMeanwhile(t *testing.T) {
	w := newUsage(t)
	w.server.Set(llmtest.Swapped)
	w.embedBatch(w.take(true))
	if n := w.current.store.Len(); n > 0 || w.Status().LastError != errSwapped.Error() || len(w.probing) == 0 {
		t.Errorf("%d vectors of another model, %+v", n, w.Status())
	}
	w.server.Set(llmtest.None)
	for range 2 { // with and without the probe
		w.mu.Lock()
		w.size = 3
		w.mu.Unlock()
		w.embedBatch(w.take(true))
	}
	if n := w.current.store.Len(); n != 6 {
		t.Errorf("%d vectors", n)
	}
	if n := strings.Count(strings.Join(w.server.Texts(), "\n"), probe); n != 2 {
		t.Errorf("%d probes", n)
	}
}

// TestDailyCharacters checks that the limit holds over a restart, and that the rest
// is sent on the next day.
func TestDailyCharacters(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2026, 2, 4, 23, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	w.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	w.DailyCharacters = len(bought) + 10
	w.save("a.md", public(bought, server, mira))
	w.start()
	w.await("one vector", func() bool { return w.Status().Embedded == 1 })
	w.restart(func(*Embedder) {})
	w.await("the probe", func() bool { return w.Status().Dimensions > 0 })
	time.Sleep(20 * time.Millisecond)
	if s := w.Status(); s.Pending != 2 || s.CharactersToday > w.DailyCharacters || s.CharactersToday == 0 {
		t.Errorf("%+v", s)
	}
	mu.Lock()
	now = now.Add(2 * time.Hour)
	mu.Unlock()
	w.save("b.md", public("A change adds one more entry")) // wakes the worker
	w.await("the next vectors", func() bool { return w.Status().Embedded >= 2 })
}

// TestPurge checks that no vector of a removed text remains in any space.
func TestPurge(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought, server, mira))
	w.start().awaitDone()
	w.restart(func(e *Embedder) { e.Model.Name = "n" })
	w.awaitDone()
	w.save("a.md", public(server))
	if err := w.Purge(); err != nil {
		t.Fatal(err)
	}
	for _, s := range w.spaces {
		if n := s.store.Len(); n != 1 {
			t.Errorf("%d vectors of %s", n, s.Name)
		}
	}
	sizes := map[int64]bool{}
	filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		info, _ := os.Stat(path)
		if err == nil && filepath.Ext(path) == ".bytes" {
			sizes[info.Size()] = true
		}
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if len(sizes) != 1 {
		t.Errorf("files of %v bytes", sizes)
	}
}

// TestGone checks that a request is cancelled when its texts are gone, and that the
// vector of a text that went meanwhile is not stored.
func TestGone(t *testing.T) {
	w := newWorld(t)
	w.start().awaitDone()
	w.server.Set(llmtest.Hang)
	w.save("a.md", public(bought))
	inFlight := func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.batches) > 0 }
	w.await("a request", inFlight)
	w.save("a.md", "")
	w.await("its end", func() bool { return !inFlight() })
	w.await("no texts", func() bool { return w.Status().Pending == 0 })
	w.server.Set(llmtest.None)
	w.server.Delay(2 * time.Second)
	w.save("a.md", public(bought, server))
	w.await("a request", inFlight)
	w.save("a.md", public(server))
	w.awaitDone()
	if n := w.current.store.Len(); n != 1 {
		t.Errorf("%d vectors", n)
	}
}

// TestGoneWhileFilled checks that a text that becomes private while other files of its
// batch are read is not sent.
func TestGoneWhileFilled(t *testing.T) {
	for _, batch := range []int{1, 8} {
		w := newWorld(t)
		w.Batch = batch
		w.save("b.md", public(bought, mira))
		w.save("a.md", public(server, "The backup of the server runs on Sunday"))
		blocked := map[int]string{1: "a.md", 8: "b.md"}[batch]
		block, entered := make(chan bool), make(chan bool)
		var once sync.Once
		load := w.Load
		w.Load = func(path string) (*memory.Document, error) {
			doc, err := load(path)
			if path == blocked {
				once.Do(func() { close(entered); <-block })
			}
			return doc, err
		}
		w.start()
		<-entered
		w.save("a.md", strings.Replace(public(server), "public_ok", "private_only", 1))
		if err := w.Purge(); err != nil {
			t.Fatal(err)
		}
		close(block)
		w.awaitDone()
		if diff := gocmp.Diff([]string{"- " + bought, "- " + mira}, w.sent()); diff != "" {
			t.Errorf("batches of %d: sent (-want +got):\n%s", batch, diff)
		}
		w.mu.Lock()
		if len(w.batches) > 0 || w.queue.Len() > 0 {
			t.Errorf("%d batches and %d files are left", len(w.batches), w.queue.Len())
		}
		w.mu.Unlock()
	}
}

// TestStop checks that an embedder ends while a request hangs.
func TestStop(t *testing.T) {
	w := newWorld(t)
	w.start().awaitDone()
	w.server.Set(llmtest.Hang)
	w.save("a.md", public(bought))
	w.await("a request", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.batches) > 0 })
	w.stop()
}

// TestQuery checks the limits of queries: time, requests and memory.
func TestQuery(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought))
	w.QueryTimeout = 20 * time.Millisecond
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Query(t.Context(), "a car", false); err != errNotReady {
		t.Errorf("before the probe: %v", err)
	}
	w.Close()
	w.start().awaitDone()
	w.server.Delay(100 * time.Millisecond)
	if _, err := w.Query(t.Context(), "a car", false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: %v", err)
	}
	w.await("the vector", func() bool { _, err := w.Query(t.Context(), "a car", false); return err == nil })
	w.server.Delay(0)
	w.server.Set(llmtest.Failure)
	if _, err := w.Query(t.Context(), "a car", false); err != nil {
		t.Errorf("known: %v", err)
	}
	before, _ := w.server.Requests()
	for i := range 5 {
		w.await("a failure", func() bool {
			_, err := w.Query(t.Context(), fmt.Sprint("other ", i), false)
			return err != nil && !errors.Is(err, context.DeadlineExceeded)
		})
	}
	if n, _ := w.server.Requests(); n-before > maxRequests {
		t.Errorf("%d requests after a failure", n-before)
	}
	for i := range maxQueries + 10 {
		w.queries.requestVector(&pendingQuery{done: make(chan struct{})}, queryKey{byte(i), byte(i >> 8)}, &space{client: w.current.client, store: w.current.store}, "x", 0)
		if i == 0 {
			w.server.Set(llmtest.None)
		}
	}
	if n := len(w.queries.kept); n != maxQueries || w.queries.order.Len() != n {
		t.Errorf("%d queries in memory", n)
	}
}

// TestPartitionName checks that each partition has a name of its own.
func TestPartitionName(t *testing.T) {
	for _, p := range []memory.Partition{{}, {Owner: "a"}, {Owner: "a", Visibility: memory.PublicOK},
		{Owner: "?x/", Visibility: memory.PublicOK, Excerpt: true}} {
		if got := partitionOf(partitionName(p)); got != p {
			t.Errorf("%v becomes %v", p, got)
		}
	}
	if cmp.Compare(partitionName(memory.Partition{Owner: "a"}), partitionName(memory.Partition{Owner: "a", Visibility: memory.PublicOK})) == 0 {
		t.Error("private and public have one name")
	}
}
