package api

// Documents mask their credentials themselves. All other text, such as the
// journal, file names and values copied from a request, is masked here, on
// every path out of the program.

// A Redaction is the part of an answer that counts masked credentials.
type Redaction struct {
	Redacted int `json:"redacted,omitempty"` // number of masked credentials
}

// Masks returns the number of masks in the answer.
func (r Redaction) Masks() int { return r.Redacted }
