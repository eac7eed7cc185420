package watcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A modelFile is a file of a barrierModel, and what the sink knows of it.
type modelFile struct {
	version    int // increased by every change of the content, and by removals
	missing    bool
	open       bool // for writing
	unreadable bool

	delivered int  // the newest complete version that the sink has
	indexed   bool // that version was not a removal
	seen      int  // the newest version that the sink has, complete or not
	returned  int  // number of deliveries in a row that the sink has returned

	foundOpen time.Time // by the last such check
}

// A barrierModel runs a debouncer with files that change at random, and a sink
// that reads them as the daemon's does.
type barrierModel struct {
	in chan []hint

	mu        sync.Mutex
	random    *rand.Rand
	files     map[string]*modelFile
	waiting   int // number of barriers that have not completed
	completed int // number of versions that barriers have waited for
	log       []string
}

func (m *barrierModel) logf(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%s ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

func (m *barrierModel) lastLog() string { return strings.Join(m.log[max(0, len(m.log)-30):], "\n") }

// pause sleeps for at most the given time.
func (m *barrierModel) pause(most time.Duration) {
	time.Sleep(time.Duration(m.number(int(most))))
}

// number returns a random number below n.
func (m *barrierModel) number(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

func (m *barrierModel) state(path string) pathState {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch f := m.files[path]; {
	case f.missing:
		return pathGone
	case f.open && !f.unreadable:
		f.foundOpen = time.Now()
		return pathWriting
	}
	return pathReady
}

func (m *barrierModel) deliver(_ context.Context, b batch) (retry []string, err error) {
	for _, path := range b.paths {
		m.pause(20 * ms)
		if m.read(path, b.reason) {
			retry = append(retry, path)
		}
		m.pause(20 * ms)
	}
	if m.number(20) == 0 {
		return nil, errors.New("disk full")
	}
	return retry, nil
}

// read reads a file and reports whether it must be delivered again.
func (m *barrierModel) read(path string, why Reason) (again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[path]
	m.logf("delivery of %s, %v: %+v", path, why, *f)
	f.returned++
	switch {
	case f.missing && f.indexed && why != Gone, !f.missing && f.unreadable, why != Overdue && m.random.IntN(30) == 0:
		return true
	case !f.missing && f.open:
		if why == Overdue {
			f.seen = f.version
		}
		return true
	}
	f.delivered, f.seen, f.indexed, f.returned = f.version, f.version, !f.missing, 0
	return false
}

// step changes a file and sends the event that the system would send.
func (m *barrierModel) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := string("ab"[m.random.IntN(2)])
	f, event := m.files[path], true
	switch n := m.random.IntN(8); {
	case f.missing:
		f.missing, f.unreadable = false, false
		f.version++
	case n == 0:
		f.missing, f.open = true, false
		f.version++
	case n == 1:
		f.unreadable = !f.unreadable
	case n <= 3 && f.open:
		f.open, event = false, false // no event reports that a file was closed
	case n <= 3:
		f.open, event = true, false
	case n == 4: // replaced by renaming
		f.version++
		f.open, f.unreadable = false, false
	default:
		f.version++
	}
	m.logf("%s is now %+v, event %t", path, *f, event)
	if event {
		why := Event
		if !f.open && m.random.IntN(3) == 0 {
			why = Scan // the event was lost
		}
		m.in <- []hint{{path: path, reason: why}}
	}
}

// sync sends a barrier. When it completes, the sink must have the files that were
// complete when it was sent, in that version or a later one, except for those
// that are incomplete now, that were found open in between, or that the sink has
// returned too often.
func (m *barrierModel) sync(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sent, want := time.Now(), map[string]int{}
	for path, f := range m.files {
		if !f.open && !f.unreadable {
			want[path] = f.version
		}
	}
	m.logf("barrier")
	m.waiting++
	m.in <- []hint{{barrier: &barrier{done: func(err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.waiting--
		m.logf("completed, sent at %s: %v", sent.Format("05.000"), err)
		for path, version := range want {
			f := m.files[path]
			if err != nil || f.open || f.unreadable || f.missing && f.version > version ||
				!f.foundOpen.Before(sent) || f.returned >= awaitedTries {
				continue
			}
			m.completed++
			if f.delivered < version {
				t.Errorf("the sink does not have version %d of %s: %+v\n%s", version, path, *f, m.lastLog())
			}
		}
		if took := time.Since(sent); took > 2*time.Second {
			t.Errorf("a barrier took %s\n%s", took, m.lastLog())
		}
	}}}}
}

// TestBarrierLaw checks that when a barrier completes, the sink has every file
// that was complete when the barrier was sent, for random changes of files that
// are opened and closed without events, removed, replaced and unreadable. Every
// barrier completes, and a file that stays open is delivered too.
func TestBarrierLaw(t *testing.T) {
	completed := 0
	for seed := range 300 {
		synctest.Test(t, func(t *testing.T) {
			m := &barrierModel{random: rand.New(rand.NewPCG(uint64(seed), 1)), in: make(chan []hint, 1000)}
			m.files = map[string]*modelFile{"a": {missing: true}, "b": {missing: true}}
			d := &debouncer{debounce: 30 * ms, maxWait: 200 * ms, deletionDelay: 100 * ms,
				checkState: m.state, deliver: m.deliver}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { d.run(ctx, m.in); close(done) }()
			for range 60 {
				m.pause(time.Duration(1+40*m.number(3)) * ms)
				m.step()
				if m.number(2) == 0 {
					m.pause(10 * ms)
					m.sync(t)
				}
			}
			time.Sleep(time.Hour)
			m.mu.Lock()
			for path, f := range m.files {
				if !f.unreadable && (f.seen < f.version || !f.open && f.delivered < f.version) {
					t.Errorf("after an hour the sink does not have %s: %+v\n%s", path, *f, m.lastLog())
				}
			}
			if m.waiting > 0 {
				t.Errorf("%d barriers have not completed", m.waiting)
			}
			completed += m.completed
			m.mu.Unlock()
			cancel()
			<-done
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if completed < 5000 {
		t.Errorf("barriers waited for %d versions only", completed)
	}
}
