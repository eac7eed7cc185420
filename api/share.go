package api

import (
	"fmt"
	"time"
)

// ShareStatusRequest requests the state of sharing.
type ShareStatusRequest struct {
	Scope
	For[ShareStatusAnswer]
}

// ShareStatusAnswer is the state of sharing.
type ShareStatusAnswer struct {
	ShareStatus
	Refusals []ShareRefusal `json:"refusals,omitempty"` // entries that the store does not accept
	// entries that are not published because of a credential or their size
	Withheld int `json:"withheld"`

	Redaction
}

// ShareStatus is the state of publishing entries to a shared store and of asking
// it.
type ShareStatus struct {
	URL  string `json:"url"`  // of the store
	Host string `json:"host"` // name of this machine in the store
	// publishing, waiting (the store does not answer), or failed (until the configuration or the store changes)
	State     string    `json:"state"`
	Published int       `json:"published"`        // entries of this machine in the store
	Spooled   int       `json:"spooled"`          // changes that wait for the store
	Bytes     int64     `json:"bytes"`            // size of these changes
	Refused   int       `json:"refused"`          // entries that the store does not accept
	LastOK    time.Time `json:"last_ok,omitzero"` // last successful request
	LastError string    `json:"last_error,omitempty"`
	Verified  time.Time `json:"verified,omitzero"` // last comparison of the store with the files
	Problem   string    `json:"problem,omitempty"` // why entries are not published completely
}

// A ShareRefusal is an entry that the store does not accept.
type ShareRefusal struct {
	ID     string `json:"id"` // path#id
	Reason string `json:"reason"`
}

// SharePushRequest requests that changes be published now.
type SharePushRequest struct {
	Step string `json:"step" default:"push" enum:"push,init" doc:"push (publish the changes), or init (create the missing collections, publish, compare the store with the files and repair it)"`
	Scope
	For[SharePushAnswer]
}

// SharePushAnswer is the state after publishing.
type SharePushAnswer struct {
	ShareStatus
	Compared bool `json:"compared"` // the store was compared with the files
	Objects  int  `json:"objects"`  // entries of this machine that the store had
	Missing  int  `json:"missing"`  // entries that the store lacked or had in another version, and has now
	Extra    int  `json:"extra"`    // entries in the store that are not published, and were removed

	Redaction
}

func (s *ShareStatus) addTo(t *Text) {
	t.addRow("share", "%s as %s: %s, %s%s%s", s.URL, s.Host, s.State, Plural(s.Published, "published entry"),
		andSome(s.Spooled, "waiting"), andSome(s.Refused, "refused"))
	if s.LastError != "" {
		t.addRow("", "%s%s", s.LastError, TextIf(!s.LastOK.IsZero(), "; last answer "+t.formatTime(s.LastOK)))
	}
	if s.Problem != "" && s.Problem != s.LastError {
		t.addRow("", "%s", s.Problem)
	}
}

func (a *ShareStatusAnswer) render(t *Text) {
	a.addTo(t)
	if a.Withheld > 0 {
		t.addRow("", "%s withheld because of a credential or their size", Plural(a.Withheld, "entry"))
	}
	if !a.Verified.IsZero() {
		t.addRow("", "compared with the files %s", t.formatTime(a.Verified))
	}
	for _, r := range a.Refusals {
		t.addFinding(r.ID, 0, r.Reason, "refused")
	}
}

func (a *SharePushAnswer) render(t *Text) {
	text := "published"
	if a.Compared {
		text = fmt.Sprintf("compared %s: %d missing, %d extra%s", Plural(a.Objects, "entry"), a.Missing, a.Extra,
			TextIf(a.Missing+a.Extra > 0, ", repaired"))
	}
	t.printf("%s", text)
	a.addTo(t)
}
