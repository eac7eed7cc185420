package api

// What documents say has its credentials masked already. Whatever else has text,
// such as the journal, names of files, or what a request is answered with, is
// masked here, on its way out: there is no way around it.

// A Redaction is the part of an answer that says how much of it is not shown.
type Redaction struct {
	Redacted int `json:"redacted,omitempty"` // in how many places a mask stands for a credential
}

// Masks is how many masks are in the answer.
func (r Redaction) Masks() int { return r.Redacted }
