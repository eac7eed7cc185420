package meaning

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
	"github.com/memwatchd/memwatchd/internal/state"
)

// newUsage returns a world that is not started, with a file of some texts.
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
	t.Cleanup(w.Close)
	return w
}

// TestCountFailures checks that the limit of a day holds for all texts that the
// endpoint receives, whatever it answers, that a refused request costs nothing, and
// that the characters are saved.
func TestCountFailures(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.None, llmtest.Failure, llmtest.Unauthorized, llmtest.WrongCount, llmtest.Cut,
		llmtest.Busy} {
		w := newUsage(t)
		w.DailyCharacters = 3000
		w.server.Set(fault)
		for range 30 {
			if b, _ := w.takeBatch(); len(b) > 0 {
				w.embedBatch(t.Context(), b)
			}
		}
		received := 0
		for _, text := range w.sent() {
			received += utf8.RuneCountInString(text)
		}
		n := w.Status().CharactersToday
		switch {
		case fault == llmtest.Busy && n != 0:
			t.Errorf("busy: %d characters are counted", n)
		case fault != llmtest.Busy && (n != received || n > w.DailyCharacters || n == 0):
			t.Errorf("fault %d: %d characters received, %d counted", fault, received, n)
		}
		var saved usage
		if err := state.Load(w.usageFile(), 0, &saved); err != nil || saved.Characters != n {
			t.Errorf("saved %v, %v", saved, err)
		}
	}
	w := newUsage(t)
	w.Client.Endpoint = "http://127.0.0.1:1/v1"
	b, _ := w.takeBatch()
	w.embedBatch(t.Context(), b)
	if s := w.Status(); s.CharactersToday != 0 || s.LastError == "" {
		t.Errorf("refused: %+v", s)
	}
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
