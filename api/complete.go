package api

import (
	"cmp"
	"fmt"
	"slices"
)

// CompleteRequest requests the names of one kind, to complete a typed prefix or
// to list all names.
type CompleteRequest struct {
	What   string `json:"what" arg:"1" enum:"path,subject,namespace,session,section,tag" need:"true" doc:"kind of name: path, subject, namespace, session, section or tag"`
	Prefix string `json:"prefix" doc:"only names with this prefix; for sections, letter case is ignored"`
	Steps  bool   `json:"steps" doc:"path: list a directory as one name ending in /, not the files below it"`
	After  string `json:"after" doc:"only names that sort after this one; for the next page, the next field of the previous answer"`
	Limit  int    `json:"limit" default:"100" preset:"1000" min:"1" max:"1000" doc:"maximum number of names, 1 to 1000"`
	Fresh
	Scope
	For[CompleteAnswer]
}

// CompleteAnswer is a sorted list of names.
type CompleteAnswer struct {
	Values  []string   `json:"values"`
	Entries []int      `json:"entries,omitempty"` // tag: number of readable entries with each tag
	Total   int        `json:"total"`             // number of names with the prefix
	Next    string     `json:"next,omitempty"`    // the last of these values, if more names follow
	Index   IndexState `json:"index"`

	Redaction
}

// render adds tags with the number of their entries, the most frequent first, or other
// names.
func (a *CompleteAnswer) render(t *Text) {
	order := make([]int, len(a.Values))
	for i := range order {
		order[i] = i
	}
	counted := len(a.Entries) == len(a.Values)
	if counted {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.Entries[j], a.Entries[i]) })
	}
	for _, i := range order {
		line := Line{Text: a.Values[i]}
		if counted {
			line.Head = fmt.Sprintf("%6d ", a.Entries[i])
		}
		t.add(line)
	}
	if len(a.Values) == 0 {
		t.listNothing("no names")
	}
	if a.Next != "" {
		t.hint("%d of %d; `after` %s shows more", len(a.Values), a.Total, a.Next)
	}
}
