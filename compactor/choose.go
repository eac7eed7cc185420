package compactor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

func (p *planner) selectSteps() {
	p.size, p.plan.steps = p.plan.Before, p.plan.steps[:0]
	p.quota = max(1, int(p.MaxLoss*float64(p.size.Items)))
	for i := range p.items {
		p.items[i].selected = false
	}
	p.mergeDuplicates()
	p.trimItems()
}

// protectStuck protects the selected entries that cannot be removed after all. It
// reports whether there are any, so that the selection must be repeated.
func (p *planner) protectStuck() bool {
	_, stuck := p.withoutEntries(p.doc, p.plan.entries())
	for i := range p.items {
		if c := &p.items[i]; slices.Contains(stuck, c.entry) {
			c.protected = "the surrounding text would merge"
		}
	}
	return len(stuck) > 0
}

// gatherItems lists the items of the file with their scores and reasons.
func (p *planner) gatherItems(links map[string]int) {
	superseded := p.findSuperseded()
	for i := range p.doc.Entries {
		e := &p.doc.Entries[i]
		if e.Block != memory.Item {
			continue
		}
		uses := 0.0
		if p.Uses != nil {
			uses = p.Uses.Of(p.doc.Place.Path, e.ID, p.now)
		}
		c := candidate{entry: i, e: e, score: scoreOf(e, uses, links[e.ID], p.now)}
		switch {
		case hasOpenTask(e):
			c.protected = "open task"
		case isCompleted(e):
			c.reason = "completed task"
		case superseded[e.ID] != "":
			c.reason = "superseded by " + superseded[e.ID]
		}
		p.items = append(p.items, c)
	}
	p.protectItems()
}

// protectItems marks the pinned and important items that must stay. It orders them
// by pin, importance, score, time and line, and protects at most half of the
// limit. Items beyond that half are treated like others: if everything is
// marked as important, the marks carry no information.
func (p *planner) protectItems() {
	var order []*candidate
	for i := range p.items {
		if c := &p.items[i]; c.protected == "" && isImportant(c.e) {
			order = append(order, c)
		}
	}
	slices.SortFunc(order, func(a, b *candidate) int {
		return cmp.Or(trueFirst(a.e.Pin, b.e.Pin), cmp.Compare(b.e.Importance, a.e.Importance),
			cmp.Compare(b.score.Total, a.score.Total), b.e.Time.Compare(a.e.Time), cmp.Compare(a.entry, b.entry))
	})
	var sum api.CompactSize
	for _, c := range order {
		with := api.CompactSize{Items: sum.Items + 1, Characters: sum.Characters + countedLength(p.doc, c.e)}
		if half := (api.CompactSize{Items: 2 * with.Items, Characters: 2 * with.Characters}); over(p.limit, half, 1) {
			continue
		}
		sum, c.protected = with, "important"
		if c.e.Pin {
			c.protected = "pinned"
		}
	}
}

// trueFirst compares two properties, so that entries with the property come first.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isImportant(e *memory.Entry) bool { return e.Pin || e.Importance >= important }

func hasOpenTask(e *memory.Entry) bool {
	return slices.ContainsFunc(e.Tasks, func(t memory.Task) bool { return t.State == memory.Open })
}

// isCompleted reports whether an entry is itself a task and contains no open
// task.
func isCompleted(e *memory.Entry) bool {
	return len(e.Tasks) > 0 && e.Tasks[0].Line == e.Line && !hasOpenTask(e)
}

// findSuperseded maps the ids of superseded entries to the ids of the entries in
// the file that supersede them.
func (p *planner) findSuperseded() map[string]string {
	by := map[string]*memory.Entry{}
	target := func(e *memory.Entry) string {
		return strings.TrimPrefix(e.Supersedes, p.doc.Place.Path+"#")
	}
	for i := range p.doc.Entries {
		if e := &p.doc.Entries[i]; e.Supersedes != "" && target(e) != e.ID {
			by[target(e)] = e
		}
	}
	out := map[string]string{}
	for i := range p.doc.Entries {
		e := &p.doc.Entries[i]
		if other := by[e.ID]; other != nil &&
			target(e) != other.ID { // two entries that supersede each other are ignored
			out[e.ID] = other.ID
		}
	}
	return out
}

// mergeDuplicates removes items that have the same text and readers as a newer item of
// their section. Texts are compared without the date on which they were added.
// Titles are not compared either: many items of one section may have the same
// title.
func (p *planner) mergeDuplicates() {
	type sameness struct {
		heading   int
		norm, typ string
		partition memory.Partition
	}
	newest := map[sameness]*candidate{}
	key := func(c *candidate) sameness { return sameness{c.e.Heading, c.e.Undated(), c.e.Type, c.e.Partition} }
	// One mask may stand for two texts.
	alone := func(c *candidate) bool { return hasOpenTask(c.e) || c.e.Undated() == "" || c.e.Masked }
	for i := range p.items {
		c := &p.items[i]
		if alone(c) {
			continue
		}
		if other := newest[key(c)]; other == nil || !c.e.Time.Before(other.e.Time) {
			newest[key(c)] = c
		}
	}
	for i := range p.items {
		c := &p.items[i]
		if other := newest[key(c)]; other != nil && other != c && !alone(c) && !isImportant(c.e) && c.protected == "" {
			p.selectItem(c, api.Merge, fmt.Sprintf("same as line %d, which is newer", other.e.Line))
		}
	}
}

// trimItems removes items until the file is within its limit.
func (p *planner) trimItems() {
	var first, rest []*candidate
	for i := range p.items {
		switch c := &p.items[i]; {
		case c.selected || c.protected != "":
		case c.reason != "":
			first = append(first, c)
		default:
			rest = append(rest, c)
		}
	}
	slices.SortFunc(first, byScore)
	slices.SortFunc(rest, byScore)
	for _, c := range first {
		if over(p.limit, p.size, 1) {
			p.selectItem(c, api.Trim, c.reason)
		}
	}
	times := 1.0 // multiple of the limit above which scores alone decide
	if !p.hasHistory {
		times = 2
	}
	useless := over(p.limit, p.fixedSize(), 1)
	for _, c := range rest {
		if over(p.limit, p.size, times) && !useless {
			p.selectItem(c, api.Trim, "lowest score")
		}
	}
	left := func(c *candidate) bool { return !c.selected && c.protected == "" }
	switch {
	case !over(p.limit, p.size, 1):
		p.plan.State = api.Within
		if share(p.limit, p.size) >= nearShare {
			p.plan.State = api.Near
		}
	case over(p.limit, p.fixedSize(), 1):
		p.plan.State = api.OverLimit
	case slices.ContainsFunc(first, left) || over(p.limit, p.size, times):
		p.plan.State = api.More
	default:
		p.plan.State = api.Waiting
	}
}

// fixedSize returns the size of the part of the file that must stay.
func (p *planner) fixedSize() api.CompactSize {
	s := p.size
	for i := range p.items {
		if c := &p.items[i]; !c.selected && c.protected == "" {
			s.Items--
			s.Characters -= countedLength(p.doc, c.e)
		}
	}
	return s
}

func byScore(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.score.Total, b.score.Total), a.e.Time.Compare(b.e.Time), cmp.Compare(a.entry, b.entry))
}

// selectItem selects an item for removal, if the run's quota and the archive allow
// it.
func (p *planner) selectItem(c *candidate, action, reason string) {
	if p.quota == 0 {
		return
	}
	if c.copy == nil {
		var err error
		c.copy, err = p.copyOf(p.doc, c.e, p.now)
		if err != nil {
			c.protected = "cannot be archived: " + err.Error()
			return
		}
	}
	c.selected = true
	p.quota--
	p.size.Items--
	p.size.Characters -= countedLength(p.doc, c.e)
	p.plan.steps = append(p.plan.steps, step{p.makeStep(c, action, reason), c.entry, c.copy})
}
