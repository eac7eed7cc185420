package index

import (
	"os"
	"testing"
)

// A model is a small daemon: one index, one directory whose owner is known
// through the file C, and one file N in it. Its state is comparable, so that
// every state is visited once. Each method named step… is one atomic step of a
// goroutine.
type model struct {
	cover completeness

	disk              bool // N is saved
	tableN, tableC    bool // the table in use matches the files on disk
	pendN, pendC      bool // marked and not delivered
	sure, claim       bool // the owners are declared known; C has been read
	request, done     int8 // numbers of scans
	scan              int8 // 0 idle, 1 walked, 2 marked
	scanFor           int8 // request that the scan answers
	saw               bool // the scan has seen N
	blind             bool // the scan could not read the directory
	unread, clear     bool // a scan missed the directory; the barrier that clears this state is pending
	clearN, clearC    bool // deliveries that this barrier waits for
	failures, blinded int8 // remaining
	lost              bool // Options.OnIncomplete was called

	completer caller
	epoch     uint64 // as read by the completer

	client   caller
	degraded bool // as read by the client
	view     bool // the view includes the directory
	found    bool
	missed   bool
}

// A caller is a goroutine that waits for a barrier among other things.
type caller struct {
	pc           int8
	request      int8 // scan that its barrier waits for
	waitN, waitC bool
}

// A flaw is a deliberate mistake in the model. It shows that the test detects
// the mistake.
type flaw string

const (
	none               flaw = ""
	epochIgnored       flaw = "the epoch is not compared"
	epochReadLate      flaw = "the epoch is read after the scan was asked for"
	confirmBeforeKnown flaw = "the index is confirmed before the owners are known"
	viewBeforeDegraded flaw = "the view is taken before the state is read"
	unreadForgotten    flaw = "a missed directory counts as read when the next scan ends"
	unreadIgnored      flaw = "a missed directory is not reported"
	unreadConfirmed    flaw = "the index is confirmed while something is unread"
	lossIgnored        flaw = "an opened index stays complete"
)

// TestCoverageModel runs all interleavings of a client that saves and searches,
// the watcher, the completer of the daemon, failures of the store and scans that cannot read a directory. No answer that is reported as
// complete may miss the save.
func TestCoverageModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute with the race detector")
	}
	for _, f := range []flaw{
		none, epochIgnored, epochReadLate, confirmBeforeKnown, viewBeforeDegraded,
		unreadForgotten, unreadIgnored, unreadConfirmed, lossIgnored,
	} {
		t.Run(string(f), func(t *testing.T) {
			states, covered, missed := explore(f)
			t.Logf("%d states, %d complete answers, %d of them miss the save", states, covered, missed)
			if covered == 0 || f == none && states < 1000 {
				t.Error("the model is too small to say anything")
			}
			if (missed > 0) != (f != none) {
				t.Errorf("%d complete answers miss the save", missed)
			}
		})
	}
}

func explore(f flaw) (states, covered, missed int) {
	first := model{request: 1, failures: 2, blinded: 1}
	if f != none || os.Getenv("FAULTS") == "" {
		first.failures = 1 // one failure suffices for every flaw
	}
	first.cover.markOpened()
	first.epoch = first.cover.epoch
	seen := map[model]bool{first: true}
	for todo := []model{first}; len(todo) > 0; {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		states++
		if m.client.pc == clientDone {
			if !m.degraded {
				covered++
				if m.missed {
					missed++
				}
				if missed > 0 && f != none {
					return states, covered, missed
				}
			}
			continue // the answer is final
		}
		for _, next := range m.steps(f) {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return states, covered, missed
}

// steps returns the states that are reachable by one step of one goroutine.
func (m model) steps(f flaw) (list []model) {
	add := func(step func(*model) bool) {
		next := m
		if step(&next) {
			list = append(list, next)
		}
	}
	add(func(n *model) bool { return n.stepClient(f, false) })
	add(func(n *model) bool { return n.stepClient(f, true) })
	add(func(n *model) bool { return n.stepCompleter(f) })
	add(func(n *model) bool { return n.stepScan(f, false) })
	add(func(n *model) bool { return n.stepScan(f, true) })
	add((*model).stepDeliverN)
	add((*model).stepDeliverC)
	add(func(n *model) bool { return n.stepFail(f) })
	return list
}

// wait advances a caller through Watcher.Sync by one of three steps, the first
// of which is pc.
func (m *model) wait(c *caller, pc int8) bool {
	switch c.pc {
	case pc: // catchUp
		c.request = m.request
	case pc + 1: // the barrier follows the marks of those scans
		if m.done < c.request {
			return false
		}
		c.waitN, c.waitC = m.pendN, m.pendC
	case pc + 2:
		if c.waitN || c.waitC {
			return false
		}
	}
	c.pc++
	return true
}

const clientDone = 8

// stepClient saves N and searches for it like ipc.Memory. The event of the save
// may be lost in an overflow, which requests a scan.
func (m *model) stepClient(f flaw, overflow bool) bool {
	c := &m.client
	if overflow && c.pc > 0 {
		return false
	}
	first, second := m.readState, m.takeView
	if f == viewBeforeDegraded {
		first, second = m.takeView, m.readState
	}
	switch c.pc {
	case 0:
		m.disk = true
		m.tableN = false // the table has an older version
		m.pendN = !overflow
		if overflow {
			m.request++
		}
	case 1, 2, 3:
		return m.wait(c, 1)
	case 4:
		first(f)
	case 5:
		second(f)
	case 6: // under the lock of the table
		m.found = m.tableN
		m.degraded = m.degraded || !m.cover.complete
	case 7:
		m.readState(f)
		m.missed = !m.view || !m.found
	default:
		return false
	}
	c.pc++
	return true
}

func (m *model) readState(f flaw) {
	m.degraded = m.degraded || !m.cover.complete || m.unread && f != unreadIgnored
}

func (m *model) takeView(flaw) { m.view = m.sure && m.claim }

// stepCompleter is a step of daemon.complete and daemon.cover.
func (m *model) stepCompleter(f flaw) bool {
	c := &m.completer
	known, confirmed := int8(3), int8(4)
	if f == confirmBeforeKnown {
		known, confirmed = confirmed, known
	}
	switch c.pc {
	case 0, 1, 2:
		return m.wait(c, 0)
	case known:
		m.sure = true
	case confirmed:
		if f == epochIgnored {
			m.epoch = m.cover.epoch
		}
		if m.unread && f != unreadConfirmed || !m.cover.markComplete(m.epoch) {
			c.pc = 6 // retry
			return true
		}
	case 5: // waits for d.lost
		if !m.lost {
			return false
		}
		m.lost = false
	case 6:
		m.epoch = m.cover.epoch
		if f == epochReadLate {
			m.request++
		}
	case 7:
		m.request++
		if f == epochReadLate {
			m.epoch, m.request = m.cover.epoch, m.request-1
		}
		c.pc = 0
		return true
	}
	c.pc++
	return true
}

// stepScan walks the root, marks the differences, and ends.
func (m *model) stepScan(f flaw, blind bool) bool {
	if blind && (m.scan != 0 || m.blinded == 0) {
		return false
	}
	switch m.scan {
	case 0:
		if m.done == m.request && !m.unread {
			return false
		}
		m.scanFor, m.saw, m.blind = m.request, m.disk && !blind, blind
		if blind {
			m.blinded--
		}
	case 1:
		m.pendN = m.pendN || m.saw && !m.tableN
		m.pendC = m.pendC || !m.blind && !m.tableC
		switch {
		case m.blind:
			m.unread, m.clear = true, false
		case m.unread && f == unreadForgotten:
			m.unread = false
		case m.unread:
			m.clear, m.clearN, m.clearC = true, m.pendN, m.pendC
			m.cleared()
		}
	case 2:
		m.done, m.scan = max(m.done, m.scanFor), 0
		m.scanFor, m.saw, m.blind = 0, false, false
		return true
	}
	m.scan++
	return true
}

// cleared completes the pending barrier of a scan after a failed scan, if its
// deliveries are done.
func (m *model) cleared() {
	if m.clear && !m.clearN && !m.clearC {
		m.clear, m.unread = false, false
	}
}

func (m *model) stepDeliverN() bool {
	if !m.pendN {
		return false
	}
	m.pendN, m.client.waitN, m.completer.waitN, m.clearN = false, false, false, false
	m.tableN = m.disk
	m.cleared()
	return true
}

func (m *model) stepDeliverC() bool {
	if !m.pendC {
		return false
	}
	m.pendC, m.client.waitC, m.completer.waitC, m.clearC = false, false, false, false
	m.claim, m.tableC = true, true
	m.cleared()
	return true
}

// stepFail is Index.recoverStore: the reopened store is empty.
func (m *model) stepFail(f flaw) bool {
	if m.failures == 0 {
		return false
	}
	m.failures--
	complete := m.cover.complete
	m.cover.markOpened()
	if f == lossIgnored {
		m.cover.complete = complete
	}
	m.tableN, m.tableC, m.lost = false, false, true
	return true
}
