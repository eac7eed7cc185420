package api

// Fresh is the part of a read request that sets how current the answer must be.
type Fresh struct {
	Sync *bool `json:"sync" default:"true" doc:"wait briefly until the index contains everything saved before the request"`
}

// Waits reports whether the answer waits for the index.
func (f Fresh) Waits() bool { return f.Sync == nil || *f.Sync }

// IndexState describes how complete and current an answer is. Only the owner
// sees the effect of entries that are hidden from the scope of the request.
type IndexState struct {
	Revision *uint64 `json:"revision,omitempty"` // of the index; grows with each change
	Pending  *int    `json:"pending,omitempty"`  // changed files that are not indexed yet
	Synced   bool    `json:"synced"`             // the answer includes everything saved before the request
	Degraded bool    `json:"degraded"`           // the index is incomplete: files were read to answer
	Problem  string  `json:"problem,omitempty"`  // why the answer may be incomplete; only for the owner
}
