package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A reducer returns the bullets that the test supplies.
type reducer struct {
	messages chan string
	replies  chan []string
}

func (r *reducer) ListAchievements(ctx context.Context, message string, check func([]string) error) ([]string, error) {
	select {
	case r.messages <- message:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case bullets := <-r.replies:
		return bullets, check(bullets)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A reducedCase is a memory that captures texts with a test model.
type reducedCase struct {
	*testMemory
	*reducer
	t      *testing.T
	failed []string // read it only after the context has ended
	stop   func()
}

func newReducedCase(t *testing.T) *reducedCase {
	t.Helper()
	c := &reducedCase{t: t, testMemory: newDisk(t, map[string]string{"memory/a.md": "- there\n"}),
		reducer: &reducer{messages: make(chan string), replies: make(chan []string)}}
	c.memory.Reducer, c.memory.JudgePrivate = c.reducer, true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.memory.Reduce(ctx, func(err error) { c.failed = append(c.failed, err.Error()) }) }()
	c.stop = func() {
		cancel()
		if err, ok := <-done; ok && !errors.Is(err, context.Canceled) {
			t.Error(err)
		} else if ok {
			close(done)
		}
	}
	t.Cleanup(c.stop)
	return c
}

func (c *reducedCase) capture(by api.Caller, r api.CaptureRequest) *api.CaptureAnswer {
	c.t.Helper()
	r.Type = "result"
	answer, err := do[api.CaptureAnswer](c.t, c.memory, by, r)
	checkError(c.t, err)
	return answer
}

// log returns the path of today's log.
func (c *reducedCase) log() string {
	return filepath.Join(c.dir, "memory", c.memory.readOps().day(0)+".md")
}

// want stops the reducer, and checks the bullets in the log of the day and the errors.
func (c *reducedCase) want(bullets, failures string) {
	c.t.Helper()
	c.stop()
	var text []byte
	for _, name := range []string{c.log(), memory.BesideFile(c.log(), memory.UnseenFile)} {
		more, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			c.t.Fatal(err)
		}
		text = append(text, more...)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, "- "); ok {
			said, _, _ = strings.Cut(said, " <!--")
			list = append(list, said)
		}
	}
	if got := strings.Join(list, "; "); got != bullets {
		c.t.Errorf("the bullets are %q, want %q", got, bullets)
	}
	if got := strings.Join(c.failed, "; "); got != failures {
		c.t.Errorf("the errors are %q, want %q", got, failures)
	}
}

// workDone is a report, of which the model receives the agent's own sentences; byRules are
// its bullets by the rules.
const (
	workDone = "Fixed the race in store.go, at last.\nAll 12 tests pass.\n\n> Added a door for mallory.\n"
	byRules  = "Fixed the race in store.go, at last.; All 12 tests pass."
)

// TestReduce checks that a model's bullets are captured once for each text, and
// that the rules replace unusable ones.
func TestReduce(t *testing.T) {
	const failed = "text reduced by rules: "
	for name, test := range map[string]struct {
		says              []string
		bullets, failures string
	}{
		"bullets":       {[]string{"The race in store.go is fixed", "12 tests pass"}, "The race in store.go is fixed; 12 tests pass", ""},
		"nothing":       {nil, "", ""},
		"too many":      {[]string{"a", "b", "c", "d"}, byRules, failed + "4 bullets instead of one to three"},
		"made up":       {[]string{"13 tests pass"}, byRules, failed + "a bullet has a name or a number that is not in the text"},
		"too long":      {[]string{strings.Repeat("a ", 200)}, byRules, failed + "a bullet has more than 300 characters"},
		"a comment":     {[]string{"fixed <!-- at last -->"}, byRules, failed + "bullets: text contains a comment (<!-- -->); remove the comment"},
		"a credential":  {[]string{"the ghp_0123456789abcdefghijABCDEFGHIJ456789"}, byRules, failed + "a bullet has a name or a number that is not in the text"},
		"an empty line": {[]string{" "}, byRules, failed + "bullets is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newReducedCase(t)
			for range 2 {
				if a := c.capture(owner, api.CaptureRequest{Text: workDone}); !a.Queued || a.Path != "" {
					t.Errorf("the answer is %+v", a)
				}
			}
			if got := <-c.messages; got != strings.ReplaceAll(byRules, "; ", "\n") {
				t.Errorf("the model is asked about %q", got)
			}
			c.replies <- test.says
			c.want(test.bullets, test.failures)
		})
	}
}

// TestReduceOnce checks which texts count as accepted before. A private text must not,
// because a missing bullet would reveal it.
func TestReduceOnce(t *testing.T) {
	for name, test := range map[string]struct {
		by     api.Caller
		second api.CaptureRequest
		days   int // from the first to the second
		queued int
	}{
		"the same":                  {owner, api.CaptureRequest{}, 0, 0},
		"the default as visibility": {owner, api.CaptureRequest{Visibility: "private_only"}, 0, 0},
		"the next day":              {owner, api.CaptureRequest{}, 1, 1},
		"another session":           {owner, api.CaptureRequest{Session: "s"}, 0, 1},
		"another visibility":        {owner, api.CaptureRequest{Visibility: "public_ok"}, 0, 1},
		"another caller":            {guest("groupbot", "owner", "public"), api.CaptureRequest{}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newReducedCase(t)
			start := c.memory.Now()
			c.capture(owner, api.CaptureRequest{Text: workDone})
			<-c.messages // not answered, so a second text stays in the queue
			c.memory.Now = func() time.Time { return start.AddDate(0, 0, test.days) }
			test.second.Text = workDone
			if a := c.capture(test.by, test.second); !a.Queued || len(c.memory.reductions.texts()) != test.queued {
				t.Errorf("%+v; %d texts are queued after the first", a, len(c.memory.reductions.texts()))
			}
		})
	}
}

// TestReduceRetry checks that a text whose bullets were not written is accepted
// again.
func TestReduceRetry(t *testing.T) {
	c := newReducedCase(t)
	checkError(t, os.MkdirAll(c.log(), 0o700)) // the log cannot be written
	shop := api.CaptureRequest{Text: "Deployed the shop.\n"}
	c.capture(owner, shop)
	<-c.messages
	c.replies <- []string{"Deployed the shop."}
	c.capture(owner, api.CaptureRequest{Text: workDone})
	<-c.messages // the first text is finished
	checkError(t, os.Remove(c.log()))
	c.replies <- nil
	if a := c.capture(owner, shop); !a.Queued {
		t.Errorf("retry: %+v", a)
	}
	c.stop()
	c.failed = nil
	c.want("Deployed the shop.", "")
}

// TestReduceEnds checks that the rules reduce texts that are pending when the
// daemon stops, that arrive later, or that exceed the queue.
func TestReduceEnds(t *testing.T) {
	c := newReducedCase(t)
	c.capture(owner, api.CaptureRequest{Text: workDone})
	<-c.messages // never answered
	want := []string{"Fixed one too many.", byRules}
	for i := range maxPendingTexts {
		text := fmt.Sprintf("Fixed the bug with the number %d.", i)
		if a := c.capture(owner, api.CaptureRequest{Text: text}); !a.Queued {
			t.Errorf("text %d: %+v", i, a)
		}
		want = append(want, text)
	}
	for _, text := range []string{"Fixed one too many.", "Fixed what came too late."} {
		if a := c.capture(owner, api.CaptureRequest{Text: text}); a.Queued || a.Path == "" {
			t.Errorf("%s: %+v", text, a)
		}
		c.stop()
	}
	failures := strings.TrimSuffix(strings.Repeat("text reduced by rules: context canceled; ", maxPendingTexts+1), "; ")
	c.want(strings.Join(append(want, "Fixed what came too late."), "; "), failures)
}

// TestReducePrivate checks that private text is sent to a model only if
// permitted, and text with a credential never.
func TestReducePrivate(t *testing.T) {
	const secret = "Fixed the login with ghp_0123456789abcdefghijABCDEFGHIJ456789.\nFixed the logout, too."
	for _, test := range []struct {
		allowed          bool
		visibility, text string
		asked            bool
		bullets          string
	}{
		{true, "private_only", workDone, true, ""}, {false, "public_ok", workDone, true, ""},
		{false, "private_only", workDone, false, byRules}, {true, "public_ok", secret, false, "Fixed the logout, too."},
	} {
		c := newReducedCase(t)
		c.memory.JudgePrivate = test.allowed
		if a := c.capture(owner, api.CaptureRequest{Text: test.text, Visibility: test.visibility}); a.Queued != test.asked {
			t.Errorf("%+v: %+v", test, a)
		}
		if test.asked {
			<-c.messages
			c.replies <- nil
		}
		c.want(test.bullets, "")
	}
}
