package api

// EmbedRequest requests the state of semantic search.
type EmbedRequest struct {
	Plan bool `json:"plan" doc:"count what an embeddings endpoint receives, also if none is configured"`
	Scope
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

// EmbedDumpRequest requests all stored vectors, in pages.
type EmbedDumpRequest struct {
	Cursor string `json:"cursor" doc:"for the next page, the next field of the previous answer"`
	Scope
}

// EmbedDumpAnswer is a page of vectors.
type EmbedDumpAnswer struct {
	Space   EmbedSpace    `json:"space"`
	Vectors []EmbedVector `json:"vectors"`
	Next    string        `json:"next,omitempty"` // cursor of the next page, if there is one
}

// An EmbedSpace identifies the model of vectors.
type EmbedSpace struct {
	Model      string    `json:"model"`
	Dimensions int       `json:"dimensions"` // requested; 0 for all that the model has
	TextPrefix string    `json:"text_prefix"`
	Probe      []float32 `json:"probe"` // vector of a fixed sentence
}

// An EmbedVector is the vector of a text.
type EmbedVector struct {
	Owner      string `json:"owner"`             // key of the subject of the text
	Visibility string `json:"visibility"`        // private_only or public_ok
	Excerpt    bool   `json:"excerpt,omitempty"` // the text is in the public part of a file with private text
	Key        []byte `json:"key"`               // first 8 bytes of the SHA-256 of the text, in base64
	Vector     []byte `json:"vector"`            // one signed byte per dimension, in base64
}

// EmbedLoadRequest requests that vectors of another daemon be stored.
type EmbedLoadRequest struct {
	Lines string `json:"lines" arg:"1" need:"true" doc:"JSON lines: the space field of an answer of embed_dump, then its vectors; on the command line, the file that contains them, or - for standard input"`
	Scope
}

// EmbedLoadAnswer counts the vectors.
type EmbedLoadAnswer struct {
	Loaded  int `json:"loaded"`  // stored
	Ignored int `json:"ignored"` // present, or of texts that are not in memory
}
