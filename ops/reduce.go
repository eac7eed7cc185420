package ops

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/transcript"
)

// What an agent says when it has done something is too long for a log. It is
// reduced to one to three bullets: by rules at once, or by a model. A model takes
// its time, so whoever asks is answered before, and the bullets are written when
// they are there; by rules, if the model is of no use, or the daemon ends first.

// A Reducer is somebody, such as a model, who says in one to three sentences what
// was achieved by the message of an agent; in none if it was nothing. What check
// says no to is an error. Errors are sentences for a person.
type Reducer interface {
	Bullets(ctx context.Context, message string, check func(bullets []string) error) ([]string, error)
}

const (
	maxReduced = 64 << 10 // bytes of a text that is reduced
	maxBullet  = 300      // characters of a bullet that it is reduced to
	maxWaiting = 16       // texts that wait for a model: the next ones are reduced by rules
	maxKnown   = 256      // texts of which it is known that they have been taken

	// lateWrite is how long writing a text's bullets may take when the daemon is
	// to end.
	lateWrite = 2 * time.Second
)

// A reduction is a text that waits for a model.
type reduction struct {
	call    Call
	request api.CaptureRequest
}

// reductions are those that wait, and the texts that have been taken: a model
// says the same in other words each time, which nobody would know again.
type reductions struct {
	mu      sync.Mutex
	waiting []reduction
	woken   chan struct{}       // is closed when there is another one; nil if nobody waits for that
	known   [][sha256.Size]byte // the newest last
	ended   bool                // nobody takes any more out
}

// add takes a text, unless too many wait. One that was taken before is not taken
// again, and is not refused.
func (q *reductions) add(r reduction) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", r.call.Scope.Subject, r.request.Session, r.request.Type, r.request.Text))
	switch {
	case slices.Contains(q.known, sum):
		return true
	case q.ended, len(q.waiting) == maxWaiting:
		return false
	case len(q.known) == maxKnown:
		q.known = slices.Delete(q.known, 0, 1)
	}
	q.known = append(q.known, sum)
	q.waiting = append(q.waiting, r)
	if q.woken != nil {
		close(q.woken)
		q.woken = nil
	}
	return true
}

// next is the text that waits longest, or when there may be one.
func (q *reductions) next() (r reduction, ok bool, more <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		r = q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		return r, true, nil
	}
	if q.woken == nil {
		q.woken = make(chan struct{})
	}
	return r, false, q.woken
}

// end is told when nobody will call next any more, and says no if there is
// something left.
func (q *reductions) end() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = len(q.waiting) == 0
	return q.ended
}

// Reduce has texts reduced that wait for a model, until the context ends; what
// waits then is reduced by rules. Failures are told to failed, which may be
// called with what is not lost as well as with what is.
func (m *Memory) Reduce(ctx context.Context, failed func(error)) error {
	return m.capturing().run(ctx, failed)
}

func (m capturing) run(ctx context.Context, failed func(error)) error {
	for {
		r, ok, more := m.reductions.next()
		switch {
		case ok:
			m.reduce(ctx, r, failed)
		case ctx.Err() != nil:
			if m.reductions.end() {
				return ctx.Err()
			}
		default:
			select {
			case <-ctx.Done():
			case <-more:
			}
		}
	}
}

// reduce writes what a model makes of a text.
func (m capturing) reduce(ctx context.Context, r reduction, failed func(error)) {
	bullets, err := m.Reducer.Bullets(ctx, r.request.Text, func(bullets []string) error {
		return m.checkBullets(r.request.Text, bullets)
	})
	if err != nil {
		failed(fmt.Errorf("a text is reduced by rules: %w", err))
		bullets = m.bulletsOf(r.request.Text)
	}
	if len(bullets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateWrite)
	defer cancel()
	r.request.Bullets = bullets
	if err = m.look(&r.call); err == nil { // it may read other things than it could then
		_, err = m.captureBullets(ctx, r.call, &r.request)
	}
	if err != nil {
		failed(fmt.Errorf("what a text was reduced to is lost: %w", err))
	}
}

// captureText reduces a text, or has it reduced later.
func (m capturing) captureText(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	switch {
	case len(r.Bullets) > 0:
		return nil, api.Errorf(api.Invalid, "text and bullets exclude each other")
	case len(r.Text) > maxReduced:
		return nil, api.Errorf(api.TooLarge, "text has more than %d bytes", maxReduced).WithHint("give the end of it")
	}
	if err := m.captureOrigin(r); err != nil {
		return nil, err
	}
	if m.mayReduce(r) && m.reductions.add(reduction{c, *r}) {
		return &api.CaptureAnswer{Lines: []int{}, Queued: true}, nil
	}
	asked := *r
	if asked.Bullets = m.bulletsOf(r.Text); len(asked.Bullets) == 0 {
		return &api.CaptureAnswer{Lines: []int{}, Note: "the text tells of nothing that was achieved"}, nil
	}
	return m.captureBullets(ctx, c, &asked)
}

// mayReduce reports whether a model may be told a text: not what is private,
// unless that was allowed; what has a credential in it never.
func (m capturing) mayReduce(r *api.CaptureRequest) bool {
	return m.Reducer != nil && (visible(r.Visibility) == memory.PublicOK.String() || m.JudgePrivate) && m.secretIn(r.Text) == ""
}

// bulletsOf are what a text is reduced to by rules: what in it can be a bullet,
// and has no credential in it.
func (m capturing) bulletsOf(text string) (bullets []string) {
	bullets = transcript.Achieved(text, maxBullets, func(line string) bool { return m.checkBullet(memory.CleanLine(line)) == nil })
	for i := range bullets {
		bullets[i] = memory.CleanLine(bullets[i])
	}
	return bullets
}

// checkBullets says why sentences are not what a text comes to.
func (m capturing) checkBullets(text string, bullets []string) error {
	if len(bullets) > maxBullets {
		return fmt.Errorf("there are %d bullets, not one to three", len(bullets))
	}
	for _, b := range bullets {
		if len(memory.Lost(b, text)) > 0 {
			return errors.New("a bullet has a name or a number that the text has not")
		}
		if err := m.checkBullet(b); err != nil {
			return err
		}
	}
	return nil
}

// checkBullet says why a line cannot be a bullet.
func (m capturing) checkBullet(line string) error {
	if utf8.RuneCountInString(line) > maxBullet {
		return fmt.Errorf("a bullet has more than %d characters", maxBullet)
	}
	line, err := m.logText("bullets", unmarked(line))
	if err != nil {
		return err
	}
	return m.finishBlock(&logBlock{text: "- " + line, attributes: map[string]string{}}, "memory/log.md", m.now())
}
