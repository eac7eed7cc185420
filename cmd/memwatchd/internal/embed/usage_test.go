package embed

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
	"github.com/memwatchd/memwatchd/internal/llm"
)

// newUsage returns a world that is not started, with a space and a file of some texts.
func newUsage(t *testing.T) *world {
	w := newWorld(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("the entry has the number %d %s", i, strings.Repeat("some more words ", 10)))
	}
	w.save("a.md", public(lines...))
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if _, err := w.useSpace(llmtest.Vector("m", probe)); err != nil {
		t.Fatal(err)
	}
	return w
}

// take returns the next batch, which must exist if want is true.
func (w *world) take(want bool) *batch {
	w.t.Helper()
	b, _ := w.takeBatch(w.t.Context(), w.current)
	if (b != nil) != want {
		w.t.Fatalf("batch %v, want one: %v", b, want)
	}
	return b
}

// TestCountFailures checks that the limit of a day holds for all texts that the
// endpoint receives, whatever it answers, and that a refused request costs nothing.
func TestCountFailures(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.None, llmtest.Failure, llmtest.Unauthorized, llmtest.WrongCount, llmtest.Cut,
		llmtest.Busy} {
		w := newUsage(t)
		w.DailyCharacters = 3000
		w.server.Set(fault)
		for range 30 {
			b, _ := w.takeBatch(t.Context(), w.current)
			if b == nil {
				break
			}
			w.embedBatch(b)
		}
		received := 0
		for _, text := range w.sent() {
			received += utf8.RuneCountInString(text)
		}
		switch n := w.Status().CharactersToday; {
		case fault == llmtest.Busy && n != 0:
			t.Errorf("busy: %d characters are counted", n)
		case fault != llmtest.Busy && (n != received || n > w.DailyCharacters || n == 0):
			t.Errorf("fault %d: %d characters received, %d counted", fault, received, n)
		}
	}
	w := newUsage(t)
	w.current.client = &llm.Client{Endpoint: "http://127.0.0.1:1/v1", Model: "m"}
	w.embedBatch(w.take(true))
	if s := w.Status(); s.CharactersToday != 0 || s.LastError == "" {
		t.Errorf("refused: %+v", s)
	}
}

// TestCountBlamed checks that both requests for a text that the model rejects count.
func TestCountBlamed(t *testing.T) {
	w := newUsage(t)
	w.server.Reject("number 39")
	w.save("a.md", public("the entry has the number 39"))
	w.compareTexts(w.current)
	w.embedBatch(w.take(true))
	if s := w.Status(); s.Rejected != 1 || s.CharactersToday != 2*len("- the entry has the number 39") {
		t.Errorf("%+v", s)
	}
}

// TestCountInFlight checks that two batches at a time share the characters of a day,
// and that characters are saved before they are sent.
func TestCountInFlight(t *testing.T) {
	w := newUsage(t)
	w.DailyCharacters = 2000
	first, second := w.take(true), w.take(true)
	w.take(false)
	if n := first.characters + second.characters; n > w.DailyCharacters {
		t.Errorf("batches of %d characters", n)
	}
	w.server.Set(llmtest.Hang)
	ctx, cancel := context.WithCancel(t.Context())
	first.ctx = ctx
	done := make(chan bool)
	go func() { w.embedBatch(first); close(done) }()
	w.await("a request", func() bool { n, _ := w.server.Requests(); return n > 0 })
	data, err := os.ReadFile(w.usageFile())
	if err != nil || !strings.Contains(string(data), fmt.Sprintf(`"characters":%d}`, first.characters)) {
		t.Errorf("saved %s, %v", data, err)
	}
	cancel()
	<-done
	w.server.Set(llmtest.None)
	w.embedBatch(second)
	if n := w.Status().CharactersToday; n != first.characters+second.characters {
		t.Errorf("%d characters", n)
	}
}

// TestSaveUsage checks that the embedder answers while it waits for the disk.
func TestSaveUsage(t *testing.T) {
	w := newUsage(t)
	b := w.take(true)
	w.saving.Lock()
	done := make(chan bool)
	go func() { w.embedBatch(b); close(done) }()
	w.await("the count", func() bool { return w.Status().CharactersToday > 0 })
	answered := make(chan bool)
	go func() { w.answering(); close(answered) }()
	select {
	case <-answered:
	case <-time.After(20 * time.Second):
		t.Error("a search waits for the disk")
	}
	if n, _ := w.server.Requests(); n > 0 {
		t.Error("texts are sent before they are counted")
	}
	w.saving.Unlock()
	<-done
}

// TestTooLong checks that a text that is longer than the characters of a day does not
// keep others from being sent.
func TestTooLong(t *testing.T) {
	w := newWorld(t)
	w.DailyCharacters = 100
	w.save("a.md", public(server))
	w.save("b.md", public(strings.Repeat("some more words ", 10)))
	w.start().awaitDone()
	if s := w.Status(); s.Embedded != 1 || s.Rejected != 1 {
		t.Errorf("%+v", s)
	}
}
