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
	Shared   string  `json:"shared,omitempty"`   // entries of other machines: included, partial (the store may have more that match), timeout or unavailable; absent if they are not searched
	Problem  string  `json:"problem,omitempty"`  // why the answer may be incomplete; only for the owner

	Semantic *Semantic `json:"semantic,omitempty"` // of a search that can compare meanings
}

// Semantic describes the search by meaning of an answer.
type Semantic struct {
	State   string `json:"state"`   // used; or why not: exact (the query needs none), off, private, timeout or error
	Ready   int    `json:"ready"`   // readable texts that can be found by meaning
	Pending int    `json:"pending"` // readable texts that wait for a vector
}
