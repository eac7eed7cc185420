package vault

import (
	"container/list"
	"errors"
	"runtime/debug"
	"sync"
	"time"
)

// answerTime is how long the disk may take for one step. If the server of a
// network file system is away, or a disk is dying, whoever asks waits for ever,
// and cannot be called back.
const answerTime = 5 * time.Second

// errNoAnswer: the disk has taken longer than that.
var errNoAnswer = errors.New("it does not answer")

// steps are what the disk has been asked for and has not answered, the one that
// has taken longest first. As long as that is too long, nobody else is sent
// waiting: those that wait already are all that there will be.
type steps struct {
	mu   sync.Mutex
	list list.List // of the times at which they began
}

// A step is one of them.
type step = *list.Element

func (s *steps) begin() (step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuckLocked() {
		return nil, errNoAnswer
	}
	return s.list.PushBack(time.Now()), nil
}

// again begins a step of what has been begun, even if others are stuck.
func (s *steps) again() step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.PushBack(time.Now())
}

// next ends a step and begins another.
func (s *steps) next(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Value = time.Now()
	s.list.MoveToBack(e)
}

func (s *steps) end(e step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Remove(e)
}

func (s *steps) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuckLocked()
}

func (s *steps) stuckLocked() bool {
	first := s.list.Front()
	return first != nil && time.Since(first.Value.(time.Time)) >= answerTime
}

// patiently takes one step, and does not wait for it longer than that may take.
// The error is then an [ErrRoot]: nothing is known of any file.
func patiently[T any](v *Vault, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	e, err := v.steps.begin()
	if err != nil {
		return none, rootError(v.Dir, err)
	}
	done := make(chan result, 1)
	go func() {
		defer v.steps.end(e)
		value, err := do()
		done <- result{value, err}
	}()
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		return none, rootError(v.Dir, errNoAnswer)
	}
}

// What is wrong with a program that wishes for a change: it is refused, and
// everything else goes on.
var (
	errPanic   = errors.New("there is a mistake in memwatchd, which its log describes; please report it")
	errMeddled = errors.New("there is a mistake in memwatchd: the change altered what it was given; please report it")
)

// ask asks a change what the file is to be; old is nil if there is none. Nobody
// but the writer is there to notice a mistake in it: the file is read and
// changed on a goroutine of its own, where a panic would end the daemon, and do
// so again whenever it meets the same file.
func (w *Writer) ask(c *Change, old *source) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.logger().Error("panic in a change", "path", c.Path, "cause", c.Cause, "err", v, "stack", string(debug.Stack()))
			data, err = nil, errPanic
		}
	}()
	w.Vault.steps.end(w.step) // however long it thinks, the disk is not to blame
	defer func() { w.step = w.Vault.steps.again() }()
	if old == nil {
		return c.Edit(nil)
	}
	data, err = c.Edit(&old.File)
	if hashOf(old.Data) != old.hash {
		return nil, errMeddled
	}
	return data, err
}
