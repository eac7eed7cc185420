package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
)

// A Plan lists the entries to remove from one file, with reasons.
type Plan struct {
	api.CompactPlan
	Hunks []diff.Hunk // of a dry run: the diff of the file

	steps []step // to remove entries, in the order of lines
}

type step struct {
	api.CompactStep
	entry int    // in the document
	copy  []byte // as written to an archive
}

// entries returns the indexes of the entries to remove.
func (p *Plan) entries() []int {
	list := make([]int, len(p.steps))
	for i, s := range p.steps {
		list[i] = s.entry
	}
	return list
}

// Terms are the inputs of a plan besides the file.
type Terms struct {
	Limit   api.CompactLimit
	MaxLoss float64   // maximum share of a file's items removed by one plan; always allows one
	Now     time.Time // reference time for ages

	Since time.Time               // start of counting; zero without counts
	Uses  func(id string) float64 // uses of an entry of the file, see [Uses.Of]; nil without counts
	Links func(id string) int     // number of links to an entry of the file; nil without counts

	// Copy returns an entry as written to the archive, or an error if the entry
	// cannot be archived. Nil accepts all entries.
	Copy func(*memory.Document, *memory.Entry) ([]byte, error)
	// Unremovable returns those of the given entries that cannot be removed without
	// changing the rest of the file. Nil means none.
	Unremovable func(*memory.Document, []int) []int

	Explain bool // include the entries that stay, and all scores
}

const (
	// minHistory is the minimum counting period before low use alone removes
	// entries, unless a file is over twice its limit.
	minHistory = 14 * 24 * time.Hour
	// important is the importance from which an entry is protected.
	important = 0.8
)

type planner struct {
	Terms
	doc        *memory.Document
	items      []candidate // the top-level list items, in the order of lines
	size       api.CompactSize
	quota      int // number of items that may still be removed
	hasHistory bool
	plan       *Plan
}

// A candidate is an item that may be removed.
type candidate struct {
	entry     int
	e         *memory.Entry
	score     api.CompactScore
	reason    string // completed or superseded: removed first
	protected string // why it must stay
	copy      []byte // for the archive
	selected  bool
}

// PlanFile plans the removals from a long-term file. It is a pure function: the
// same file and terms give the same plan.
//
// Items with the same text as a newer one in the same section are removed
// first. While the file is over its limit, PlanFile then removes completed
// tasks and superseded items, and then the items with the lowest [api.CompactScore], on
// ties the older one and then the one further up. Items with an open task stay.
// Pinned items and items with an importance of 0.8 or more stay as long as they
// use no more than half of the limit. If the protected content alone exceeds
// the limit, no item is removed for its score, because that could not bring the
// file within its limit.
func PlanFile(doc *memory.Document, t Terms) *Plan {
	p := &planner{Terms: t, doc: doc, size: Measure(doc)}
	p.plan = &Plan{CompactPlan: api.CompactPlan{
		Path: doc.Place.Path, Limit: t.Limit, Before: p.size, After: p.size, Steps: []api.CompactStep{},
		State: api.LeftAlone,
	}}
	if err := checkTrimmable(doc); err != nil {
		p.plan.Problem = err.Error()
		return p.plan
	}
	p.hasHistory = !t.Since.IsZero() && t.Now.Sub(t.Since) >= minHistory
	p.gatherItems()
	for again := true; again; {
		p.selectSteps()
		again = p.protectStuck()
	}
	slices.SortFunc(p.plan.steps, func(a, b step) int { return cmp.Compare(a.entry, b.entry) })
	for _, s := range p.plan.steps {
		p.plan.Steps = append(p.plan.Steps, s.CompactStep)
	}
	p.plan.After = p.size
	if t.Explain {
		p.explainKept()
	}
	return p.plan
}

func (p *planner) makeStep(c *candidate, action, reason string) api.CompactStep {
	s := api.CompactStep{
		ID: p.doc.Place.Path + "#" + c.e.ID, Line: c.e.Line, EndLine: c.e.EndLine, Section: c.e.Sections,
		Text: c.e.Text, Action: action, Reason: reason,
	}
	if p.Explain {
		s.Score = &c.score
	}
	return s
}

// explainKept lists the items that stay, the next candidates first and the
// protected ones last.
func (p *planner) explainKept() {
	var stay []*candidate
	for i := range p.items {
		if !p.items[i].selected {
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
		p.plan.Kept = append(p.plan.Kept, p.makeStep(c, api.Keep, cmp.Or(c.protected, c.reason, "score")))
	}
}
