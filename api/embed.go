package api

// EmbedRequest requests the state of semantic search.
type EmbedRequest struct {
	Plan bool `json:"plan" doc:"count what an embeddings endpoint receives, also if none is configured"`
	Scope
	For[EmbedAnswer]
}

// EmbedAnswer is the state of semantic search.
type EmbedAnswer struct {
	Status *EmbedStatus `json:"status,omitempty"` // missing if no embeddings endpoint is configured
	Plan   *EmbedPlan   `json:"plan,omitempty"`
}

// EmbedPlan counts the texts that an endpoint without vectors receives.
type EmbedPlan struct {
	Public  EmbedAmount `json:"public"`
	Private EmbedAmount `json:"private"` // received if embed.private is set
}

// EmbedAmount is an amount of text.
type EmbedAmount struct {
	Texts      int `json:"texts"`
	Characters int `json:"characters"`
	Tokens     int `json:"tokens"` // estimate
}

func (a *EmbedAnswer) render(t *Text) {
	if a.Status != nil {
		a.Status.addTo(t)
	}
	if a.Plan == nil {
		return
	}
	for _, part := range []struct {
		name   string
		amount EmbedAmount
	}{{"public", a.Plan.Public}, {"private", a.Plan.Private}} {
		t.addRow(part.name, "%s, %s, about %s", Plural(part.amount.Texts, "text"),
			Plural(part.amount.Characters, "character"), Plural(part.amount.Tokens, "token"))
	}
	t.hint("private text is sent only if embed.private is set")
}
