package api

// ResolveRequest asks whose memory it is that belongs to an external key.
type ResolveRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Scope
}

// LinkRequest asks to make an external key one of a subject's: from then on its
// memory is the subject's, and what was kept for the key alone is read with it.
// No file is moved.
type LinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Subject     string `json:"subject" arg:"2" complete:"subject" doc:"the subject that the key is linked to, such as acct:42"`
	Scope
}

// UnlinkRequest asks to take a link away.
type UnlinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Scope
}

// LinksRequest asks for all links.
type LinksRequest struct{ Scope }

// IdentityAnswer is who an external key is.
type IdentityAnswer struct {
	Enabled     bool     `json:"enabled"` // the key is somebody's, and memory is on
	ExternalKey string   `json:"external_key"`
	Subject     string   `json:"subject"`
	Aliases     []string `json:"aliases"`        // whose memory is read with the subject's
	Path        string   `json:"path,omitempty"` // of the file that was changed
	Disabled    bool     `json:"disabled,omitempty"`
}

// LinksAnswer is all links, in the order of keys.
type LinksAnswer struct {
	Links   []Link `json:"links"`
	Problem string `json:"problem,omitempty"` // why the file as it is now does not hold: these are what it said before
}

// A Link makes an external key one of a subject's.
type Link struct {
	ExternalKey string `json:"external_key"`
	Subject     string `json:"subject"`
}
