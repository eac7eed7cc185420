package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A filePlan lists the entries to remove from one file, with reasons.
type filePlan struct {
	api.CompactPlan
	steps []step // to remove entries, in the order of lines
}

type step struct {
	api.CompactStep
	entry int    // in the document
	copy  []byte // as written to an archive
}

// entries returns the indexes of the entries to remove.
func (p *filePlan) entries() []int {
	list := make([]int, len(p.steps))
	for i, s := range p.steps {
		list[i] = s.entry
	}
	return list
}

const (
	// minHistory is the minimum counting period before low use alone removes
	// entries, unless a file is over twice its limit.
	minHistory = 14 * 24 * time.Hour
	// important is the importance from which an entry is protected.
	important = 0.8
)

type planner struct {
	*Compactor
	doc        *memory.Document
	limit      api.CompactLimit
	now        time.Time
	explain    bool
	items      []candidate // the top-level list items, in the order of lines
	size       api.CompactSize
	quota      int // number of items that may still be removed
	hasHistory bool
	plan       *filePlan
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

// planFile plans the removals from a long-term file, given the number of links to its
// entries. The same file and counts give the same plan. With explain, the plan includes
// the entries that stay, and all scores.
//
// Items with the same text as a newer one in the same section are removed
// first. While the file is over its limit, planFile then removes completed
// tasks and superseded items, and then the items with the lowest [api.CompactScore], on
// ties the older one and then the one further up. Items with an open task stay.
// Pinned items and items with an importance of 0.8 or more stay as long as they
// use no more than half of the limit. If the protected content alone exceeds
// the limit, no item is removed for its score, because that could not bring the
// file within its limit.
func (c *Compactor) planFile(doc *memory.Document, limit api.CompactLimit, links map[string]int, now time.Time,
	explain bool) *filePlan {
	p := &planner{Compactor: c, doc: doc, limit: limit, now: now, explain: explain, size: measure(doc)}
	p.plan = &filePlan{CompactPlan: api.CompactPlan{
		Path: doc.Place.Path, Limit: limit, Before: p.size, After: p.size, Steps: []api.CompactStep{},
		State: api.LeftAlone,
	}}
	if err := checkTrimmable(doc); err != nil {
		p.plan.Problem = err.Error()
		return p.plan
	}
	p.hasHistory = c.Uses != nil && !c.Uses.Since().IsZero() && now.Sub(c.Uses.Since()) >= minHistory
	p.gatherItems(links)
	for again := true; again; {
		p.selectSteps()
		again = p.protectStuck()
	}
	slices.SortFunc(p.plan.steps, func(a, b step) int { return cmp.Compare(a.entry, b.entry) })
	for _, s := range p.plan.steps {
		p.plan.Steps = append(p.plan.Steps, s.CompactStep)
	}
	p.plan.After = p.size
	if explain {
		p.explainKept()
	}
	return p.plan
}

func (p *planner) makeStep(c *candidate, action, reason string) api.CompactStep {
	s := api.CompactStep{
		ID: p.doc.Place.Path + "#" + c.e.ID, Line: c.e.Line, EndLine: c.e.EndLine, Section: c.e.Sections,
		Text: c.e.Text, Action: action, Reason: reason,
	}
	if p.explain {
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
	slices.SortFunc(stay, func(a, b *candidate) int {
		return cmp.Or(trueFirst(a.protected == "", b.protected == ""),
			trueFirst(a.protected == "" && a.reason != "", b.protected == "" && b.reason != ""), byScore(a, b))
	})
	for _, c := range stay {
		p.plan.Kept = append(p.plan.Kept, p.makeStep(c, api.Keep, cmp.Or(c.protected, c.reason, "score")))
	}
}
