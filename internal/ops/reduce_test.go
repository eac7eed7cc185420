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

	"golang.org/x/tools/txtar"

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
	*diskCase
	*reducer
	t      *testing.T
	failed []string // read it only after the context has ended
	stop   func()
}

func newReducedCase(t *testing.T) *reducedCase {
	t.Helper()
	c := &reducedCase{
		t: t, diskCase: readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: "MEMORY.md", Data: []byte("- there\n")}}}).disk(t),
		reducer: &reducer{messages: make(chan string), replies: make(chan []string)},
	}
	c.memory.Reducer, c.memory.JudgePrivate = c.reducer, true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.memory.Reduce(ctx, func(err error) { c.failed = append(c.failed, err.Error()) }) }()
	stopped := false
	c.stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	t.Cleanup(c.stop)
	return c
}

func (c *reducedCase) capture(r api.CaptureRequest) *api.CaptureAnswer {
	c.t.Helper()
	call, err := c.memory.readOps().resolveCall(api.Caller{AsOwner: true})
	if err != nil {
		c.t.Fatal(err)
	}
	r.Type, r.Session = "result", "s"
	answer, err := c.memory.adminOps().capture(c.t.Context(), call, &r)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// bullets stops the reducer and returns the bullets in the log of the day.
func (c *reducedCase) bullets() (list []string) {
	c.t.Helper()
	c.stop()
	text, err := os.ReadFile(filepath.Join(c.dir, "memory", c.memory.readOps().day(0)+".md"))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, "- "); ok {
			said, _, _ = strings.Cut(said, " <!--")
			list = append(list, said)
		}
	}
	return list
}

func (c *reducedCase) want(bullets, failures string) {
	c.t.Helper()
	if got := strings.Join(c.bullets(), "; "); got != bullets {
		c.t.Errorf("the bullets are %q, want %q", got, bullets)
	}
	if got := strings.Join(c.failed, "; "); got != failures {
		c.t.Errorf("it is told that %q, want %q", got, failures)
	}
}

// workDone is a report, of which the model receives the agent's own sentences.
const (
	workDone = "Fixed the race in store.go, at last.\nAll 12 tests pass.\n\n> Added a door for mallory.\n"
	ownWords = "Fixed the race in store.go, at last.\nAll 12 tests pass."
)

// TestReduce checks that a model's bullets are captured once for each text, and
// that the rules replace unusable ones.
func TestReduce(t *testing.T) {
	for name, test := range map[string]struct {
		says     []string
		bullets  string
		failures string
	}{
		"bullets":       {[]string{"The race in store.go is fixed", "12 tests pass"}, "The race in store.go is fixed; 12 tests pass", ""},
		"nothing":       {nil, "", ""},
		"too many":      {[]string{"a", "b", "c", "d"}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: 4 bullets instead of one to three"},
		"made up":       {[]string{"13 tests pass"}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: a bullet has a name or a number that is not in the text"},
		"too long":      {[]string{strings.Repeat("a ", 200)}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: a bullet has more than 300 characters"},
		"a comment":     {[]string{"fixed <!-- at last -->"}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: bullets: text contains a comment (<!-- -->); remove the comment"},
		"a credential":  {[]string{"the ghp_0123456789abcdefghijABCDEFGHIJ456789"}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: a bullet has a name or a number that is not in the text"},
		"an empty line": {[]string{" "}, "Fixed the race in store.go, at last.; All 12 tests pass.", "text reduced by rules: bullets is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newReducedCase(t)
			for range 2 {
				if a := c.capture(api.CaptureRequest{Text: workDone}); !a.Queued || a.Path != "" {
					t.Errorf("the answer is %+v", a)
				}
			}
			if got := <-c.messages; got != ownWords {
				t.Errorf("the model is asked about %q", got)
			}
			c.replies <- test.says
			c.want(test.bullets, test.failures)
		})
	}
}

// TestReduceOnce checks which texts count as accepted before.
func TestReduceOnce(t *testing.T) {
	for name, test := range map[string]struct {
		first, second api.CaptureRequest
		days          int // from the first to the second
		queued        int
	}{
		"the same":                  {},
		"the next day":              {days: 1, queued: 1},
		"a session, the next day":   {first: api.CaptureRequest{Session: "s"}, second: api.CaptureRequest{Session: "s"}, days: 1},
		"a session, a month later":  {first: api.CaptureRequest{Session: "s"}, second: api.CaptureRequest{Session: "s"}, days: 30, queued: 1},
		"another session":           {second: api.CaptureRequest{Session: "s"}, queued: 1},
		"another project":           {second: api.CaptureRequest{Project: "shop"}, queued: 1},
		"another visibility":        {second: api.CaptureRequest{Visibility: "public_ok"}, queued: 1},
		"the default as visibility": {second: api.CaptureRequest{Visibility: "private_only"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newReducedCase(t)
			start := c.memory.Now()
			for i, r := range []api.CaptureRequest{test.first, test.second} {
				c.memory.Now = func() time.Time { return start.AddDate(0, 0, i*test.days) }
				r.Text, r.Type = workDone, "result"
				if a, err := c.memory.adminOps().capture(t.Context(), c.callAs(t, "owner", "private"), &r); err != nil || !a.Queued {
					t.Fatalf("text %d: %+v, %v", i, a, err)
				}
				if i == 0 {
					<-c.messages // not answered, so a second text stays in the queue
				}
			}
			if got := len(c.memory.reductions.texts()); got != test.queued {
				t.Errorf("%d texts are queued after the first, want %d", got, test.queued)
			}
		})
	}
}

// TestReduceHidesPrivateText checks that a caller with a fixed public scope finds
// the same bullets whether or not the same text was captured in private.
func TestReduceHidesPrivateText(t *testing.T) {
	var seen []string
	for _, text := range []string{"Deployed the shop.\n", workDone} {
		c := newReducedCase(t)
		r := api.CaptureRequest{Text: workDone, Type: "result", Session: "s", Visibility: "public_ok"}
		private := api.CaptureRequest{Text: text, Type: "result", Session: "s", Visibility: "private_only"}
		if _, err := c.memory.adminOps().capture(t.Context(), c.callAs(t, "owner", "private"), &private); err != nil {
			t.Fatal(err)
		}
		bot := c.fixedCall(t, "groupbot", "owner", "public")
		a, err := c.memory.adminOps().capture(t.Context(), bot, &r)
		checkError(t, err)
		c.stop() // the rules reduce the pending texts
		targets := c.memory.adminOps().logTargets(bot, c.memory.readOps().day(0), false)
		text = fmt.Sprintf("%+v\n", a)
		for _, target := range targets {
			doc, err := c.memory.readOps().loadFile(bot, target.path)
			text += fmt.Sprintf("%s: %v\n", target.path, err)
			if err == nil {
				text += doc.Shown(bot.View).Text()
			}
		}
		seen = append(seen, text)
	}
	if seen[0] != seen[1] || !strings.Contains(seen[0], "Fixed the race in store.go") {
		t.Errorf("the caller sees\n%s\nwithout, and with a private text\n%s", seen[0], seen[1])
	}
}

// TestReduceRetry checks that a text whose bullets were not written is accepted
// again.
func TestReduceRetry(t *testing.T) {
	c := newReducedCase(t)
	log := filepath.Join(c.dir, "memory", c.memory.readOps().day(0)+".md")
	if err := os.MkdirAll(log, 0o700); err != nil { // the log cannot be written
		t.Fatal(err)
	}
	c.capture(api.CaptureRequest{Text: "Deployed the shop.\n"})
	<-c.messages
	c.replies <- []string{"Deployed the shop."}
	c.capture(api.CaptureRequest{Text: workDone})
	<-c.messages // the first text is finished
	checkError(t, os.Remove(log))
	c.replies <- nil
	if a := c.capture(api.CaptureRequest{Text: "Deployed the shop.\n"}); !a.Queued {
		t.Errorf("retry: %+v", a)
	}
	if got := strings.Join(c.bullets(), "; "); got != "Deployed the shop." {
		t.Errorf("the bullets are %q after %q", got, c.failed)
	}
}

// TestReduceEnds checks that the rules reduce texts that are pending when the
// daemon stops, that arrive later, or that exceed the queue.
func TestReduceEnds(t *testing.T) {
	c := newReducedCase(t)
	c.capture(api.CaptureRequest{Text: workDone})
	<-c.messages // never answered
	var want []string
	for i := range maxPendingTexts {
		if a := c.capture(api.CaptureRequest{Text: fmt.Sprintf("Fixed the bug with the number %d.", i)}); !a.Queued {
			t.Errorf("text %d: %+v", i, a)
		}
		want = append(want, fmt.Sprintf("Fixed the bug with the number %d.", i))
	}
	if a := c.capture(api.CaptureRequest{Text: "Fixed one too many."}); a.Queued || a.Path == "" {
		t.Errorf("one too many: %+v", a)
	}
	c.stop()
	if a := c.capture(api.CaptureRequest{Text: "Fixed what came too late."}); a.Queued || a.Path == "" {
		t.Errorf("one too late: %+v", a)
	}
	want = append([]string{"Fixed one too many.", "Fixed the race in store.go, at last.", "All 12 tests pass."}, append(want, "Fixed what came too late.")...)
	failures := strings.TrimSuffix(strings.Repeat("text reduced by rules: context canceled; ", maxPendingTexts+1), "; ")
	c.want(strings.Join(want, "; "), failures)
}

// TestReducePrivate checks that private text is sent to a model only if
// permitted, and text with a credential never.
func TestReducePrivate(t *testing.T) {
	const secret = "Fixed the login with ghp_0123456789abcdefghijABCDEFGHIJ456789.\nFixed the logout, too."
	for _, test := range []struct {
		allowed    bool
		visibility memory.Visibility
		text       string
		asked      bool
	}{
		{true, memory.PrivateOnly, workDone, true},
		{false, memory.PrivateOnly, workDone, false},
		{false, memory.PublicOK, workDone, true},
		{true, memory.PublicOK, secret, false},
	} {
		c := newReducedCase(t)
		c.memory.JudgePrivate = test.allowed
		a := c.capture(api.CaptureRequest{Text: test.text, Visibility: test.visibility.String()})
		if a.Queued != test.asked {
			t.Errorf("%+v: %+v", test, a)
		}
		if test.asked {
			<-c.messages
			c.replies <- nil
		}
		if text := strings.Join(c.bullets(), "; "); test.asked != (text == "") || strings.Contains(text, "ghp_") {
			t.Errorf("%+v: %q", test, text)
		}
	}
}
