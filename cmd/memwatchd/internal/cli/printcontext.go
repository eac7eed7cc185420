package cli

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printContext shows a block unchanged, because it is piped into prompts. Hints
// about omitted entries go to standard error.
func (p *Printer) printContext(a *api.ContextAnswer) {
	if p.width > 0 {
		p.out.WriteString(term.EscapeText(a.Text))
	} else {
		p.out.WriteString(a.Text)
	}
	if omitted := formatOmitted(a.LeftOut); omitted != "" {
		p.addHint(term.AsMuted, "omitted: %s", omitted)
	}
	for _, hint := range a.Hints {
		p.addHint(term.AsText, "hint: %s", hint)
	}
}

// formatOmitted returns the numbers of omitted entries by kind.
func formatOmitted(l api.Omitted) string {
	var parts []string
	for _, c := range []struct {
		n   int
		one string
	}{
		{l.LongTerm, "long-term line"}, {l.Recent, "recent summary"}, {l.Files, "file"}, {l.Items, "item"},
		{l.Tasks, "task"}, {l.Entries, "entry"}, {l.Characters, "character"}, {l.Untrusted, "untrusted text"},
	} {
		if c.n > 0 {
			parts = append(parts, term.Plural(c.n, c.one))
		}
	}
	return strings.Join(parts, ", ")
}
