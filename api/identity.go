package api

// ResolveRequest requests the subject of an external key.
type ResolveRequest struct {
	ExternalKey string `json:"external_key" arg:"1" doc:"user of a channel: <channel>:<id>"`
	Scope
	For[IdentityAnswer]
}

// LinkRequest requests that an external key be linked to a subject. From then
// on the memory of the key belongs to the subject, and the memory stored under
// the key alone is read with that of the subject. No file is moved.
type LinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" doc:"user of a channel: <channel>:<id>"`
	Subject     string `json:"subject" arg:"2" complete:"subject" doc:"id of the subject, such as acct:42"`
	Scope
	For[IdentityAnswer]
}

// UnlinkRequest requests the removal of a link.
type UnlinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" doc:"user of a channel: <channel>:<id>"`
	Scope
	For[IdentityAnswer]
}

// LinksRequest requests all links.
type LinksRequest struct {
	Scope
	For[LinksAnswer]
}

// IdentityAnswer is the identity of an external key.
type IdentityAnswer struct {
	Enabled     bool     `json:"enabled"` // the key belongs to a subject, and memory is on
	ExternalKey string   `json:"external_key"`
	Subject     string   `json:"subject"`
	Aliases     []string `json:"aliases"`        // their memory is read with that of the subject
	Path        string   `json:"path,omitempty"` // path of the changed file
	Disabled    bool     `json:"disabled,omitempty"`
}

// LinksAnswer lists all links, sorted by key.
type LinksAnswer struct {
	Links   []Link `json:"links"`
	Problem string `json:"problem,omitempty"` // why the present file is invalid: these are the last valid links
}

// A Link assigns an external key to a subject.
type Link struct {
	ExternalKey string `json:"external_key"`
	Subject     string `json:"subject"`
}

func (a *IdentityAnswer) render(t *Text) {
	if a.Subject == "" {
		t.printf("anonymous")
		return
	}
	t.printf("%s is %s", a.ExternalKey, a.Subject)
	for _, alias := range a.Aliases {
		t.add(Line{Depth: 2, Text: "with " + alias, Style: Muted})
	}
}

func (a *LinksAnswer) render(t *Text) {
	for _, l := range a.Links {
		t.printf("%s is %s", l.ExternalKey, l.Subject)
	}
	t.warn("%s", a.Problem)
	if len(a.Links) == 0 && a.Problem == "" {
		t.hint("no links")
	}
}
