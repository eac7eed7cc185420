package api

// EmbedRequest requests the amount of text that an embeddings endpoint receives, also if
// none is configured.
type EmbedRequest struct {
	Scope
	For[EmbedAnswer]
}

// EmbedAnswer counts the texts that an endpoint without vectors receives.
type EmbedAnswer struct {
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
	a.Public.addTo(t, "public")
	a.Private.addTo(t, "private")
	t.hint("private text is sent only if embed.private is set")
}

func (a *EmbedAmount) addTo(t *Text, name string) {
	t.addRow(name, "%s, %s, about %s", Plural(a.Texts, "text"), Plural(a.Characters, "character"),
		Plural(a.Tokens, "token"))
}
