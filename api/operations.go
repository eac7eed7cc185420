package api

// OperationsRequest asks what may be asked.
type OperationsRequest struct {
	Scope
}

// OperationsAnswer is what may be asked on this listener by this scope. What is
// not among it is refused there, whatever the request says.
type OperationsAnswer struct {
	Enabled    bool     `json:"enabled"`    // memory is not turned off
	Operations []string `json:"operations"` // in the order of the table
}
