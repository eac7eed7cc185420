package api

import (
	"fmt"
	"strings"
	"time"
)

// An Item is a fact about a subject, stored under a namespace and a key. Each
// pair of namespace and key has at most one item. If several are readable, the
// item of the canonical subject precedes those of its aliases; otherwise the
// most recently updated one is returned. Unreadable items are ignored: they
// neither hide nor are hidden by other items.
type Item struct {
	ID         string   `json:"id"` // unique within the subject
	Subject    string   `json:"subject"`
	Namespace  string   `json:"namespace"`
	Key        string   `json:"key"`   // unique within the namespace
	Value      string   `json:"value"` // text or JSON
	Visibility string   `json:"visibility"`
	Confidence *float64 `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	// written by others than the subject, in public or through a topic
	Untrusted bool      `json:"untrusted,omitempty"`
	Created   time.Time `json:"created,omitzero"` // missing if the item was typed by hand without a time
	Updated   time.Time `json:"updated,omitzero"`
	Path      string    `json:"path"`
	Line      int       `json:"line,omitempty"` // in the file as visible to the caller; missing if the line is hidden
}

// ItemAnswer is one item.
type ItemAnswer struct {
	Item     *Item       `json:"item,omitempty"`
	Index    *IndexState `json:"index,omitempty"`    // only for read requests
	Hints    []string    `json:"hints,omitempty"`    // on other items that were removed
	Disabled bool        `json:"disabled,omitempty"` // memory is turned off: nothing was written

	Redaction
}

// ItemGetRequest requests an item.
type ItemGetRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"namespace: profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" doc:"exact key"`
	Fresh
	Scope
	For[ItemAnswer]
}

// ItemListRequest requests items, sorted by namespace and key.
type ItemListRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"only this namespace: profile, preference, fact, project or task_state; default: all"`
	Prefix    string `json:"prefix" doc:"only keys with this prefix"`
	SaidIn    string `json:"said_in" enum:"private,public" doc:"public: only values put in public, which wait for the owner to confirm them with item put; private: only the others"`
	Limit     int    `json:"limit" default:"50" min:"1" max:"1000" doc:"maximum number of items, 1 to 1000"`
	Cursor    string `json:"cursor" doc:"for the next page, the next field of the previous answer"`
	Fresh
	Scope
	For[ItemListAnswer]
}

// ItemListAnswer is a page of items.
type ItemListAnswer struct {
	Items []*Item    `json:"items"`
	Next  string     `json:"next,omitempty"` // cursor of the next page, if there is one
	Index IndexState `json:"index"`

	Redaction
}

// ItemPutRequest requests that an item be stored. The new item replaces the
// whole item of the same namespace and key, if there is one. Without a value, the request only
// changes the visibility of a stored item.
type ItemPutRequest struct {
	Namespace  string   `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" need:"true" doc:"namespace: profile, preference, fact, project or task_state"`
	Key        string   `json:"key" arg:"2" need:"true" doc:"key of the item; surrounding white space is ignored"`
	Value      *string  `json:"value" size:"request" arg:"rest" stdin:"true" doc:"value: text or JSON, returned byte for byte; with visibility it may be omitted, to keep the stored value"`
	Visibility string   `json:"visibility" enum:"private_only,public_ok" doc:"where the item may be shown: private_only, or public_ok for public contexts too; default: private_only, in public that of the replaced item"`
	Confidence *float64 `json:"confidence" min:"0" max:"1" doc:"confidence in the value, 0 to 1"`
	Source     string   `json:"source" doc:"origin of the value, such as a message id"`
	Scope
	For[ItemAnswer]
}

// ItemDeleteRequest requests the deletion of an item, or of all items of a namespace.
type ItemDeleteRequest struct {
	Namespace string `json:"namespace" arg:"1" enum:"profile,preference,fact,project,task_state" doc:"namespace: profile, preference, fact, project or task_state"`
	Key       string `json:"key" arg:"2" doc:"exact key"`
	All       bool   `json:"all" doc:"without a key: delete all items of the namespace"`
	ID        string `json:"id" doc:"id of the item, in place of namespace and key"`
	Fresh
	Scope
	For[ItemDeleteAnswer]
}

// ItemDeleteAnswer lists the deleted items.
type ItemDeleteAnswer struct {
	Deleted  int      `json:"deleted"` // number of deleted keys
	Paths    []string `json:"paths"`   // files that contained them
	Disabled bool     `json:"disabled,omitempty"`
}

// render adds the value of an item that was read, or the place of one that was written.
func (a *ItemAnswer) render(t *Text) {
	switch {
	case a.Item == nil:
		t.hint("no item has this key")
	case t.Audience == Models:
		a.Item.render(t)
	case a.Index != nil:
		t.add(Line{Form: Verbatim, Text: a.Item.Value + "\n"})
	default:
		t.add(Line{Path: a.Item.Path, Line: a.Item.Line, Notes: append([]string{a.Item.Key}, a.Item.notes()...)})
	}
	t.hints(a.Hints)
}

func (a *ItemListAnswer) render(t *Text) {
	namespace := ""
	for _, item := range a.Items {
		if item.Namespace != namespace && t.Audience != Models {
			namespace = item.Namespace
			t.add(Line{Text: namespace + ":", Style: Strong})
		}
		item.render(t)
	}
	t.Nothing = len(a.Items) == 0
	switch {
	case a.Next != "":
		t.hint("`cursor` %s shows more", a.Next)
	case t.Nothing:
		t.listNothing("no items")
	}
}

// render adds an item of a list. A value of several lines follows below the key.
func (i *Item) render(t *Text) {
	if t.Audience == Models {
		place := i.Path + TextIf(i.Line > 0, fmt.Sprintf(":%d", i.Line))
		t.add(Line{Text: i.Namespace + "/" + i.Key + ": " + i.Value, Untrusted: i.Untrusted,
			Notes: []string{i.Visibility, "id " + i.ID, place}})
		return
	}
	value := strings.TrimRight(i.Value, "\n")
	line := Line{Depth: 1, Text: i.Key + ":", Notes: i.notes()}
	if strings.Contains(value, "\n") {
		t.add(line, Line{Form: Body, Depth: 2, Text: value})
		return
	}
	line.Text += " " + value
	t.add(line)
}

// notes returns the id of an item, and "public" for public items.
func (i *Item) notes() []string { return []string{i.ID, TextIf(i.Visibility == "public_ok", "public")} }

func (a *ItemDeleteAnswer) render(t *Text) {
	t.printf("%s deleted", Plural(a.Deleted, "item"))
	for _, path := range a.Paths {
		t.add(Line{Depth: 2, Path: path})
	}
}
