package cli

import (
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printEmbedState shows the state of semantic search, and what an endpoint receives.
func (p *Printer) printEmbedState(a *api.EmbedAnswer) {
	if a.Status != nil {
		p.printEmbed(a.Status)
	}
	if a.Plan == nil {
		return
	}
	for _, part := range []struct {
		name   string
		amount api.EmbedAmount
	}{{"public", a.Plan.Public}, {"private", a.Plan.Private}} {
		p.printRow(part.name, "%s, %s, about %s", term.Plural(part.amount.Texts, "text"),
			term.Plural(part.amount.Characters, "character"), term.Plural(part.amount.Tokens, "token"))
	}
	p.addHint(term.AsMuted, "private text is sent only if embed.private is set")
}
