package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printConflicts shows each conflict copy with the effect of its merge.
func (p *Printer) printConflicts(a *api.ConflictsAnswer) {
	merged := 0
	for i, c := range a.Copies {
		if i > 0 && len(c.Diff)+len(c.Both) > 0 {
			p.println("")
		}
		p.printFinding(c.Path, 0, effectOf(&c), mergeState(&c, a.DryRun))
		if c.Merged {
			merged++
		}
		for _, both := range c.Both {
			for _, version := range []struct{ name, text string }{{"was", both.Base}, {"file", both.File}, {"copy", both.Copy}} {
				for line := range strings.Lines(version.text) {
					p.printIndented(0, plainText(term.AsText, fmt.Sprintf("%-5s %s", version.name, strings.TrimRight(line, "\n"))))
				}
			}
		}
		if len(c.Diff) > 0 {
			p.printDiff(c.File, c.File, c.Diff)
		}
		if c.Problem != "" {
			problem := strings.Replace(c.Problem, "set keep to file", "merge the copy with --keep file", 1)
			p.addHint(term.AsBad, "%s: %s", c.Path, problem)
		}
	}
	if len(a.Copies) == 0 {
		p.addHint(term.AsMuted, "no conflict copies")
	}
	if merged > 0 {
		p.printf("%s merged\n", term.Plural(merged, "conflict copy"))
	}
}

// effectOf describes the merge of a copy in words.
func effectOf(c *api.ConflictCopy) string {
	counts := andSome(c.Added, "added") + andSome(c.Changed, "changed") + andSome(c.Removed, "removed") +
		andSome(c.Conflicts, "changed by both")
	return strings.TrimPrefix(cmp.Or(counts, "nothing new"), ", ")
}

func mergeState(c *api.ConflictCopy, dryRun bool) string {
	switch {
	case c.Merged:
		return "merged"
	case dryRun && c.Problem == "":
		return "would be merged"
	case c.Problem != "":
		return "stays"
	}
	return "conflict copy"
}
