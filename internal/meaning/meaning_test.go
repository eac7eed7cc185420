package meaning

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		{"another prefix of queries", func() { w.restart(func(e *Embedder) { e.QueryPrefix = "query: " }) }},
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
	w.save("marked.md", public("Nobody knows that I am ill <!-- visibility=private_only -->", "and that I moved to Berlin"))
	w.save("bought.md", public(bought))
	w.save("credential.md", public("The token of the deployment is "+credential))
	w.start().awaitDone()
	if diff := gocmp.Diff([]string{"- " + bought}, w.sent()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	for p := range w.index.CountTexts() {
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
		llmtest.WrongIndex, llmtest.NotANumber, llmtest.Zero, llmtest.Cut, llmtest.Shuffled, llmtest.Ollama} {
		w := newWorld(t)
		w.start().awaitDone()
		w.server.Set(fault)
		for i := range 20 {
			w.save(fmt.Sprintf("%d.md", i), public(fmt.Sprintf("the entry has the number %d", i), "and all of them have this"))
		}
		works := slices.Contains([]llmtest.Fault{llmtest.Shuffled, llmtest.Ollama}, fault)
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
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusBadGateway, -1} {
		w := newWorld(t)
		w.server.RejectStatus = status
		w.server.Reject("poison")
		w.save("a.md", public(bought, "this entry is the poison here", server, mira))
		w.start()
		refused := status > 0 && status < 500
		w.await(fmt.Sprint("the other vectors with the status ", status), func() bool {
			s := w.Status()
			return s.Embedded == 3 && (s.Rejected == 1) == refused && s.LastError != ""
		})
		w.server.Reset()
		w.save("b.md", public("A change adds one more entry"))
		w.await("the vector of another text", func() bool { return w.Status().Embedded == 4 })
		if got := w.sent(); refused && len(got) != 1 {
			t.Errorf("status %d: sent %q", status, got)
		}
	}
}

// TestModels checks that the vectors of another model are removed, and that words answer
// queries until its first response.
func TestModels(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought, server, mira))
	w.start().awaitDone()
	w.sent()
	for _, change := range []func(*Embedder){
		func(e *Embedder) { e.Client.Model = "n" },
		func(e *Embedder) { e.TextPrefix = "text: " },
	} {
		w.server.Set(llmtest.Failure)
		w.restart(change)
		if _, err := w.Query(t.Context(), "purchase of a car", false); err == nil {
			t.Error("a query has a result before the first response")
		}
		w.queries.mu.Lock()
		w.queries.resume = time.Time{} // without the pause
		w.queries.mu.Unlock()
		if n := w.vectors(); n != 0 {
			t.Errorf("%d vectors of the model before", n)
		}
		w.server.Set(llmtest.None)
		w.await("all vectors", func() bool { return w.vectors() == 3 })
		if got := w.find("purchase of a car"); got != "- "+bought {
			t.Errorf("found %q", got)
		}
	}
	if found, err := filepath.Glob(filepath.Join(w.Dir, "*")); err != nil || len(found) != 3 {
		t.Errorf("files: %v, %v", found, err)
	}
}

// TestOtherDimensions checks that texts are embedded again if a model of the same name
// returns vectors with other dimensions, to a text or a query.
func TestOtherDimensions(t *testing.T) {
	for _, by := range []string{"text", "query"} {
		w := newWorld(t)
		w.save("a.md", public(bought, server))
		w.start().awaitDone()
		w.server.Dimensions.Store(64)
		w.sent()
		if by == "text" {
			w.save("b.md", public(mira))
		} else if _, err := w.Query(t.Context(), "purchase of a car", false); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"text": 3, "query": 2}[by]
		w.await("new vectors", func() bool { s := w.Status(); return s.Dimensions == 64 && w.vectors() == want && s.Pending == 0 })
		if got := w.find("purchase of a car"); got != "- "+bought {
			t.Errorf("%s: found %q", by, got)
		}
	}
}

// TestPurge checks that no vector of a removed text remains.
func TestPurge(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought, server, mira))
	w.start().awaitDone()
	w.save("a.md", public(server))
	if n := w.vectors(); n != 3 {
		t.Errorf("%d vectors, although the texts may return", n)
	}
	if err := w.Rescan(); err != nil || w.vectors() != 3 {
		t.Errorf("%d vectors, %v", w.vectors(), err)
	}
	if err := w.Purge(); err != nil || w.vectors() != 1 {
		t.Errorf("%d vectors, %v", w.vectors(), err)
	}
	filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		info, _ := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
}

// TestGone checks that the vector of a text that went while it was sent is not stored,
// and that a text that went before is not sent.
func TestGone(t *testing.T) {
	w := newWorld(t)
	w.server.Delay(300 * time.Millisecond)
	w.save("a.md", public(bought))
	w.start()
	w.await("a request", func() bool { n, _ := w.server.Requests(); return n > 0 })
	w.save("b.md", public(mira))
	w.save("b.md", strings.Replace(public(mira), "public_ok", "private_only", 1))
	w.save("a.md", public(server))
	w.awaitDone()
	if diff := gocmp.Diff([]string{"- " + bought, "- " + server}, w.sent()); diff != "" || w.vectors() != 1 {
		t.Errorf("%d vectors, sent (-want +got):\n%s", w.vectors(), diff)
	}
}

// TestStop checks that an embedder ends while a request hangs, and the next one sends its
// text.
func TestStop(t *testing.T) {
	w := newWorld(t)
	w.server.Set(llmtest.Hang)
	w.save("a.md", public(bought))
	w.start()
	w.await("a request", func() bool { n, _ := w.server.Requests(); return n > 0 })
	w.stop()
	w.server.Set(llmtest.None)
	w.restart(func(*Embedder) {})
	w.awaitDone()
}

// TestQuery checks the limits of queries: time, requests and memory.
func TestQuery(t *testing.T) {
	w := newWorld(t)
	w.save("a.md", public(bought))
	w.QueryTimeout = 20 * time.Millisecond
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
	w.server.Set(llmtest.None)
	w.queries.resume = time.Time{}
	for i := range maxQueries + 10 {
		w.await("a vector", func() bool { _, err := w.Query(t.Context(), fmt.Sprint("query ", i), false); return err == nil })
	}
	if n := len(w.queries.kept); n > maxQueries {
		t.Errorf("%d queries in memory", n)
	}
}
