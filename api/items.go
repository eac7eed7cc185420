package api

import (
	"time"
)

// An Item is something that is known of a subject by a key. There is at most one
// of a namespace and a key: where several are readable, the canonical subject's
// goes before that of its aliases, and otherwise the one that was updated last.
// What the caller may not read does not count: nothing hides behind it, and it
// hides nothing.
type Item struct {
	ID         string    `json:"id"` // within the subject
	Subject    string    `json:"subject"`
	Namespace  string    `json:"namespace"`
	Key        string    `json:"key"`
	Value      string    `json:"value"` // text, or JSON
	Visibility string    `json:"visibility"`
	Confidence *float64  `json:"confidence,omitempty"`
	Source     string    `json:"source,omitempty"`
	Untrusted  bool      `json:"untrusted,omitempty"` // the source is others than the subject: in public, or to a topic
	Created    time.Time `json:"created,omitzero"`    // as the item says; what is typed by hand may not
	Updated    time.Time `json:"updated,omitzero"`
	Path       string    `json:"path"`
	Line       int       `json:"line,omitempty"` // as the caller is shown it, if it is
}

// ItemAnswer is one item.
type ItemAnswer struct {
	Item     *Item       `json:"item,omitempty"`
	Index    *IndexState `json:"index,omitempty"`    // of a question
	Disabled bool        `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// ItemGetRequest asks for an item.
type ItemGetRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" complete:"key" doc:"the key, exactly"`
	Fresh
	Scope
}

// ItemListRequest asks for items in the order of namespaces and keys.
type ItemListRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state; all of them if empty"`
	Prefix    string `json:"prefix" complete:"key" doc:"only those whose keys begin with this"`
	Limit     int    `json:"limit" default:"50" min:"1" max:"1000" doc:"how many items at most"`
	Cursor    string `json:"cursor" doc:"where to go on: next, of the answer before"`
	Fresh
	Scope
}

// ItemListAnswer is a page of items.
type ItemListAnswer struct {
	Items []*Item    `json:"items"`
	Next  string     `json:"next,omitempty"` // the cursor of the next page, if there is one
	Index IndexState `json:"index"`

	Redaction
}

// ItemPutRequest asks to keep an item: in place of the one of the same namespace
// and key, all of it, or as a new one.
type ItemPutRequest struct {
	Namespace  string   `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Key        string   `json:"key" arg:"2" need:"true" complete:"key" doc:"what the item is found by again; white space around it does not count"`
	Value      string   `json:"value" arg:"rest" stdin:"true" doc:"a text, or JSON"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"where it may be shown: in private only, or in public too"`
	Confidence *float64 `json:"confidence" min:"0" max:"1" doc:"how sure it is, from 0 to 1"`
	Source     string   `json:"source" doc:"where it comes from, such as the id of a message"`
	Scope
}

// ItemDeleteRequest asks to delete an item.
type ItemDeleteRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" complete:"key" doc:"the key, exactly"`
	ID        string `json:"id" doc:"the item's id, in place of namespace and key"`
	Fresh
	Scope
}

// ItemDeleteNamespaceRequest asks to delete all items of a namespace.
type ItemDeleteNamespaceRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Fresh
	Scope
}

// ItemDeleteAnswer is what was deleted.
type ItemDeleteAnswer struct {
	Deleted  int      `json:"deleted"` // keys
	Paths    []string `json:"paths"`   // of the files that they were in
	Disabled bool     `json:"disabled,omitempty"`
}

// ItemVisibilityRequest asks to show an item in public, or in private only.
type ItemVisibilityRequest struct {
	ID         string `json:"id" arg:"1" doc:"the item's id"`
	Visibility string `json:"visibility" arg:"2" enum:"private_only,public_ok" doc:"private_only or public_ok"`
	Fresh
	Scope
}
