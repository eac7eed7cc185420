package api

import (
	"time"
)

// An Item is a fact about a subject, stored under a namespace and a key. Each
// pair of namespace and key has at most one item. If several are readable, the
// item of the canonical subject precedes those of its aliases; otherwise the
// most recently updated one is returned. Unreadable items are ignored: they
// neither hide nor are hidden by other items.
type Item struct {
	ID         string    `json:"id"` // unique within the subject
	Subject    string    `json:"subject"`
	Namespace  string    `json:"namespace"`
	Key        string    `json:"key"`
	Value      string    `json:"value"` // text or JSON
	Visibility string    `json:"visibility"`
	Confidence *float64  `json:"confidence,omitempty"`
	Source     string    `json:"source,omitempty"`
	Untrusted  bool      `json:"untrusted,omitempty"` // the source is others than the subject, in public or through a topic
	Created    time.Time `json:"created,omitzero"`    // from the item; items typed by hand may lack it
	Updated    time.Time `json:"updated,omitzero"`
	Path       string    `json:"path"`
	Line       int       `json:"line,omitempty"` // in the file as visible to the caller, if it is visible
}

// ItemAnswer is one item.
type ItemAnswer struct {
	Item     *Item       `json:"item,omitempty"`
	Index    *IndexState `json:"index,omitempty"`    // for read requests
	Disabled bool        `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// ItemGetRequest requests an item.
type ItemGetRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" complete:"key" doc:"the key, exactly"`
	Fresh
	Scope
}

// ItemListRequest requests items, sorted by namespace and key.
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
	Next  string     `json:"next,omitempty"` // cursor of the next page, if there is one
	Index IndexState `json:"index"`

	Redaction
}

// ItemPutRequest requests that an item be stored. The new item replaces the
// whole item of the same namespace and key, if there is one.
type ItemPutRequest struct {
	Namespace  string   `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Key        string   `json:"key" arg:"2" need:"true" complete:"key" doc:"what the item is found by again; white space around it does not count"`
	Value      string   `json:"value" arg:"rest" stdin:"true" doc:"a text, or JSON"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"where it may be shown: in private only, or in public too"`
	Confidence *float64 `json:"confidence" min:"0" max:"1" doc:"how sure it is, from 0 to 1"`
	Source     string   `json:"source" doc:"where it comes from, such as the id of a message"`
	Scope
}

// ItemDeleteRequest requests the deletion of an item.
type ItemDeleteRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" complete:"key" doc:"the key, exactly"`
	ID        string `json:"id" doc:"the item's id, in place of namespace and key"`
	Fresh
	Scope
}

// ItemDeleteNamespaceRequest requests the deletion of all items of a namespace.
type ItemDeleteNamespaceRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"profile, preference, fact, project or task_state"`
	Fresh
	Scope
}

// ItemDeleteAnswer lists the deleted items.
type ItemDeleteAnswer struct {
	Deleted  int      `json:"deleted"` // number of deleted keys
	Paths    []string `json:"paths"`   // files that contained them
	Disabled bool     `json:"disabled,omitempty"`
}

// ItemVisibilityRequest requests a change of the visibility of an item.
type ItemVisibilityRequest struct {
	ID         string `json:"id" arg:"1" doc:"the item's id"`
	Visibility string `json:"visibility" arg:"2" enum:"private_only,public_ok" doc:"private_only or public_ok"`
	Fresh
	Scope
}
