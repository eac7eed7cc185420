package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// An Action is what a plan does with an entry.
type Action string

// The actions.
const (
	Keep  Action = "keep"
	Trim  Action = "trim"  // to the archive, to make room
	Merge Action = "merge" // to the archive, because a newer entry says the same
)

// A State is how a file is doing after a plan.
type State string

// The states.
const (
	Within    State = "within"     // within its limit
	Near      State = "near"       // within, but not by much
	More      State = "more"       // over its limit: one run takes only so much, the next goes on
	Waiting   State = "waiting"    // over its limit, and too little is known of what is used to choose
	OverLimit State = "over_limit" // over its limit, and all that is left is protected
	LeftAlone State = "left_alone" // nothing is ever taken out of it as it is
)

// A Plan says what goes from one file, and why.
type Plan struct {
	Path    string
	Archive string // where it goes, as far as is known before
	State   State
	Problem string // why it is left alone, or why something could not be done
	Limit   Limit
	Before  Size
	After   Size

	Steps []Step // what goes, in the order of lines
	Kept  []Step // the items that stay, when that is asked for

	Hunks []journal.Hunk // of a dry run: what would change in the file
}

// A Step is what becomes of one entry.
type Step struct {
	ID      string // path#id
	Line    int
	EndLine int
	Section []string
	Text    string // as it is written, without comments
	Action  Action
	Reason  string // for a person
	Score   *Score

	entry int    // in the document
	copy  []byte // as it is written into an archive
}

// Terms are what a plan is made on, beside the file.
type Terms struct {
	Limit   Limit
	MaxLoss float64   // the share of a file's items that one plan may take; one may always go
	Now     time.Time // that ages are counted from

	Since time.Time           // since when uses are counted; zero if they are not
	Uses  func(id string) Use // of an entry of the file; nil for none
	Links func(id string) int // to an entry of the file; nil for none

	// Copy is what the archive is given of an entry; an error is why it cannot go
	// there. Nil: everything can.
	Copy func(*memory.Document, *memory.Entry) ([]byte, error)
	// Stuck says which of some entries cannot be taken out of the file without
	// changing what is left. Nil: none.
	Stuck func(*memory.Document, []int) []int

	Explain bool // list what stays, with every score
}

const (
	// learn is how long uses are counted before anything goes for not being
	// used, unless a file is more than twice over its limit.
	learn = 14 * 24 * time.Hour
	// important is the importance from which an entry is protected.
	important = 0.8
)

// A planner makes one plan.
type planner struct {
	Terms
	doc     *memory.Document
	items   []candidate // the top-level list items, in the order of lines
	size    Size
	room    int // how many may still go
	learned bool
	plan    *Plan
}

// A candidate is an item that may go.
type candidate struct {
	entry     int
	e         *memory.Entry
	score     Score
	reason    string // completed or superseded: goes first
	protected string // why it may not go
	copy      []byte // for the archive
	gone      bool
}

// PlanFile plans what goes from a long-term file. It is a pure function: the
// same file on the same terms gives the same plan.
//
// Items that say the same as a newer one in the same section go first. While
// the file is then over its limit, completed tasks and superseded items go, then
// those with the lowest score ([Score]); of equal ones the older, then the one
// further up. What holds an open task never goes; nor does what is pinned or has
// an importance of 0.8 or more, as far as that makes up no more than half of
// the limit. Where what may not go is over the limit by itself, nothing goes for
// its score alone: that would be lost on it.
func PlanFile(doc *memory.Document, t Terms) *Plan {
	p := &planner{Terms: t, doc: doc, size: Measure(doc)}
	p.plan = &Plan{Path: doc.Place.Path, Limit: t.Limit, Before: p.size, After: p.size, Steps: []Step{}, State: LeftAlone}
	if err := leftAlone(doc); err != nil {
		p.plan.Problem = err.Error()
		return p.plan
	}
	p.learned = !t.Since.IsZero() && t.Now.Sub(t.Since) >= learn
	p.gather()
	for again := true; again; {
		p.choose()
		again = p.unstick()
	}
	slices.SortFunc(p.plan.Steps, func(a, b Step) int { return cmp.Compare(a.entry, b.entry) })
	p.plan.After = p.size
	if t.Explain {
		p.explain()
	}
	return p.plan
}

func (p *planner) step(c *candidate, action Action, reason string) Step {
	s := Step{
		ID: p.doc.Place.Path + "#" + c.e.ID, Line: c.e.Line, EndLine: c.e.EndLine, Section: c.e.Sections, Text: c.e.Text,
		Action: action, Reason: reason, entry: c.entry,
	}
	if p.Explain {
		s.Score = &c.score
	}
	return s
}

// explain lists what stays: those that would go next first, the protected ones
// last.
func (p *planner) explain() {
	var stay []*candidate
	for i := range p.items {
		if !p.items[i].gone {
			stay = append(stay, &p.items[i])
		}
	}
	class := func(c *candidate) int {
		switch {
		case c.protected != "":
			return 2
		case c.reason == "":
			return 1
		}
		return 0
	}
	slices.SortFunc(stay, func(a, b *candidate) int { return cmp.Or(cmp.Compare(class(a), class(b)), byScore(a, b)) })
	for _, c := range stay {
		p.plan.Kept = append(p.plan.Kept, p.step(c, Keep, cmp.Or(c.protected, c.reason, "score")))
	}
}
