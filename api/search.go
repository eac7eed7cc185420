package api

import (
	"time"
)

// SearchRequest requests entries.
type SearchRequest struct {
	Query           string   `json:"query" arg:"rest" doc:"words, all optional: more of them, and rarer ones, rank higher; a \"quoted phrase\" must occur"`
	Exclude         string   `json:"exclude" doc:"words and quoted phrases that no hit contains"`
	Limit           int      `json:"limit" default:"10" min:"1" max:"100" doc:"how many hits to return"`
	Offset          int      `json:"offset" min:"0" max:"100000" doc:"how many hits to leave out before the first"`
	Mode            string   `json:"mode" default:"relevance" enum:"relevance,overlap" doc:"relevance: best match first; overlap: share of the words found, recency and importance, computed exactly"`
	RecencyBias     *float64 `json:"recency_bias" default:"0.3" min:"0" max:"1" doc:"overlap: how much recency counts against text, 0 to 1"`
	AsOf            string   `json:"as_of" doc:"time that ages are counted from; now if not given"`
	All             bool     `json:"all" doc:"overlap: entries without any of the words too"`
	Kinds           []string `json:"kinds" enum:"note,session,daily,longterm,items,identity,archive" doc:"only files of these kinds"`
	Types           []string `json:"types" enum:"fact,preference,project,decision,crumb,request,result" doc:"only entries of these types"`
	Tags            []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	AnyTag          bool     `json:"any_tag" doc:"one of the tags is enough"`
	Sections        []string `json:"sections" complete:"section" doc:"only entries below a heading of one of these names"`
	Path            string   `json:"path" complete:"path" doc:"only files below this directory, or matching this glob"`
	Since           string   `json:"since" doc:"only entries of this day or time, or later"`
	Until           string   `json:"until" doc:"only entries of this day or time, or earlier"`
	State           string   `json:"state" enum:"open,done" doc:"only entries with a task in this state"`
	Session         string   `json:"session" complete:"session" doc:"only entries of this session"`
	Contact         string   `json:"contact" doc:"only entries of sessions with this contact"`
	IncludeArchived bool     `json:"include_archived" doc:"archived entries too"`
	Count           *bool    `json:"count" default:"true" doc:"what is returned counts as used, and is kept longer when long-term memory is tidied up"`
	Explain         bool     `json:"explain" doc:"take every score apart"`
	Fresh
	Scope
}

// RecentRequest requests the newest entries.
type RecentRequest struct {
	Hours *float64 `json:"hours" default:"24" min:"0" max:"876000" arg:"1" doc:"how many hours to look back"`
	Tags  []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	Limit int      `json:"limit" default:"10" min:"1" max:"100" doc:"how many to return"`
	AsOf  string   `json:"as_of" doc:"time to look back from; now if not given"`
	Fresh
	Scope
}

// SearchAnswer is a page of hits.
type SearchAnswer struct {
	Hits   []Hit      `json:"hits"`
	Total  int        `json:"total"` // readable entries that match, before equal ones are folded
	AsOf   time.Time  `json:"as_of"`
	Note   string     `json:"note,omitempty"` // why there are no hits, or fewer than expected
	Index  IndexState `json:"index"`
	TookMS float64    `json:"took_ms"`

	Redaction
}

// A Hit is a matching entry in the present version of its file. Its line
// numbers refer to the file as visible to the scope of the request.
type Hit struct {
	ID         string    `json:"id"` // path#id, accepted by get
	Path       string    `json:"path"`
	Line       int       `json:"line"`
	EndLine    int       `json:"end_line"`
	Score      float64   `json:"score"`
	Kind       string    `json:"kind"`
	Subject    string    `json:"subject,omitempty"`
	Day        string    `json:"day,omitempty"`
	Session    string    `json:"session,omitempty"`
	Section    string    `json:"section,omitempty"`
	Title      string    `json:"title,omitempty"`
	Text       string    `json:"text"`
	Truncated  bool      `json:"truncated,omitempty"`
	Snippet    string    `json:"snippet,omitempty"`
	Highlights [][2]int  `json:"highlights,omitempty"` // of the snippet, in characters
	Type       string    `json:"type"`
	Tags       []string  `json:"tags,omitempty"`
	Importance float64   `json:"importance,omitempty"`
	Visibility string    `json:"visibility"`
	Task       string    `json:"task,omitempty"` // open if any of its tasks is open, else done
	Added      string    `json:"added,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	Untrusted  bool      `json:"untrusted,omitempty"` // written by others than the subject, in public or through a topic
	AlsoAt     []Place   `json:"also_at,omitempty"`   // other places with the same text
	Stale      bool      `json:"stale,omitempty"`     // the file cannot be read: this is its last known content
	Why        *Why      `json:"why,omitempty"`
}

// A Place is the position of an entry.
type Place struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Line int    `json:"line"`
}

// Why contains the parts of a score. Score = Own + Near + File + Recency in
// Relevance, Text*(1-bias) + Recency*bias + Importance*0.15 in Overlap.
type Why struct {
	Terms      []TermScore `json:"terms,omitempty"`
	Own        float64     `json:"own,omitempty"`
	Near       float64     `json:"near,omitempty"`
	File       float64     `json:"file,omitempty"`
	Recency    float64     `json:"recency,omitempty"`
	Text       float64     `json:"text,omitempty"`
	Importance float64     `json:"importance,omitempty"`
}

// TermScore is one term's part of an entry's own score.
type TermScore struct {
	Term  string  `json:"term"`
	Idf   float64 `json:"idf"`
	Tf    float64 `json:"tf"`
	Score float64 `json:"score"`
}
