package api

// Fresh is the part of a question that says how new the answer must be.
type Fresh struct {
	Sync *bool `json:"sync" default:"true" doc:"wait, for a moment, until everything that was saved before is found"`
}

// IndexState is how far an answer can be trusted. What is kept for others than
// the asking scope shows in it to nobody but the owner.
type IndexState struct {
	Revision *uint64 `json:"revision,omitempty"` // of the index
	Pending  *int    `json:"pending,omitempty"`  // files that changed and are not indexed yet
	Synced   bool    `json:"synced"`             // everything saved before the question is in the answer
	Degraded bool    `json:"degraded"`           // the index is not whole: files were read to answer
	Problem  string  `json:"problem,omitempty"`  // what the owner should know about it
}
