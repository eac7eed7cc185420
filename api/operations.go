package api

// OperationsRequest requests the names of the permitted operations.
type OperationsRequest struct {
	Scope
	For[OperationsAnswer]
}

// OperationsAnswer lists the operations that this listener permits for this
// scope. Requests for other operations are refused, regardless of their fields.
type OperationsAnswer struct {
	Enabled    bool     `json:"enabled"`    // memory is turned on
	Operations []string `json:"operations"` // names, in the order of the table
}
