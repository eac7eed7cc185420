package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printShare shows the state of the shared store in a row of the status.
func (p *Printer) printShare(s *api.ShareStatus) {
	p.printRow("share", "%s as %s: %s, %s%s%s", s.URL, s.Host, s.State, term.Plural(s.Published, "published entry"),
		andSome(s.Spooled, "waiting"), andSome(s.Refused, "refused"))
	switch {
	case s.LastError == "":
	case s.LastOK.IsZero():
		p.printRow("", "%s", s.LastError)
	default:
		p.printRow("", "%s; last answer %s", s.LastError, s.LastOK.In(p.location).Format(time.DateTime))
	}
	if s.Problem != "" && s.Problem != s.LastError {
		p.printRow("", "%s", s.Problem)
	}
	if s.Invalid > 0 {
		p.printRow("", "%s of other machines omitted from searches", term.Plural(s.Invalid, "invalid entry"))
	}
}

// printShareStatus shows the state of the shared store and the entries that it does
// not accept, or the plan.
func (p *Printer) printShareStatus(a *api.ShareStatusAnswer) {
	if a.Plan != nil {
		p.printSharePlan(a.Plan)
		return
	}
	p.printShare(&a.ShareStatus)
	if !a.Verified.IsZero() {
		p.printRow("", "compared with the files %s", a.Verified.In(p.location).Format(time.DateTime))
	}
	for _, r := range a.Refusals {
		p.printFinding(r.ID, 0, r.Reason, "refused")
	}
}

// printSharePlan shows the number of entries of each partition and the first ones.
func (p *Printer) printSharePlan(plan *api.SharePlan) {
	for _, s := range plan.Partitions {
		p.printRow("publish", "%s of %s, %s", term.Plural(s.Entries, "entry"), cmp.Or(s.Subject, "(no subject)"),
			s.Visibility)
		for _, line := range s.First {
			p.printIndented(1, plainText(term.AsText, line))
		}
	}
	if len(plan.Partitions) == 0 {
		p.addHint(term.AsMuted, "nothing would be published: check share.publish, and the visibility of the entries")
	}
	if plan.Withheld > 0 {
		p.addHint(term.AsText, "%s withheld because of a credential or their size", term.Plural(plan.Withheld, "entry"))
	}
	p.addHint(term.AsBad, "%s", plan.Problem)
}

// printSharePush shows the result of publishing.
func (p *Printer) printSharePush(a *api.SharePushAnswer) {
	text := "published"
	if a.Compared {
		text = fmt.Sprintf("compared %s: %d missing, %d extra%s", term.Plural(a.Objects, "entry"), a.Missing, a.Extra,
			textIf(a.Missing+a.Extra > 0, ", repaired"))
	}
	p.printf("%s\n", text)
	p.printShare(&a.ShareStatus)
}
