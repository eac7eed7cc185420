package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Fresh is the part of a read request that sets how current the answer must be.
type Fresh struct {
	Sync *bool `json:"sync" default:"true" doc:"wait briefly until the index contains everything saved before the request"`
}

// Waits reports whether the answer waits for the index.
func (f Fresh) Waits() bool { return f.Sync == nil || *f.Sync }

// IndexState describes how complete and current an answer is. Only the owner
// sees the effect of entries that are hidden from the scope of the request.
type IndexState struct {
	Revision *uint64 `json:"revision,omitempty"` // of the index; grows with each change
	Pending  *int    `json:"pending,omitempty"`  // changed files that are not indexed yet
	Synced   bool    `json:"synced"`             // the answer includes everything saved before the request
	Degraded bool    `json:"degraded"`           // the index is incomplete, or a hit has just changed
	Shared   string  `json:"shared,omitempty"`   // entries of other machines: included, partial (the store may have more that match), timeout or unavailable; absent if they are not searched
	Problem  string  `json:"problem,omitempty"`  // why the answer may be incomplete; only for the owner
	// the same in words for people and models, for every caller; absent if the answer is complete
	Notice string `json:"notice,omitempty"`

	Semantic *Semantic `json:"semantic,omitempty"` // of a search that can compare meanings
}

// Semantic describes the search by meaning of an answer.
type Semantic struct {
	State   string `json:"state"`   // used; or why not: exact (the query needs none), off, private, timeout or error
	Ready   int    `json:"ready"`   // readable texts that can be found by meaning
	Pending int    `json:"pending"` // readable texts that wait for a vector
}

// batch is the number of pending files from which a notice reports them. Other programs
// may write a few files all the time.
const batch = 10

// Explain sets the notice from the other fields. An answer that did not wait for the
// index, and whose caller does not see how many files are pending, may lack saves.
func (s *IndexState) Explain(waited bool) {
	var reasons []string
	switch {
	case !s.Synced && s.Pending != nil && (*s.Pending >= batch || s.Degraded && *s.Pending > 0):
		reasons = append(reasons, "still "+indexing(*s.Pending)+"; results may be incomplete")
	case waited && !s.Synced && s.Pending == nil:
		reasons = append(reasons, "still indexing; results may be incomplete")
	case s.Degraded:
		reasons = append(reasons, "the index is incomplete; results may be missing")
	case !s.Synced && s.Pending == nil:
		reasons = append(reasons, "results may lack recent saves")
	}
	switch s.Shared {
	case "timeout", "unavailable":
		reasons = append(reasons, "the shared store did not answer; results are of this machine only")
	case "partial":
		reasons = append(reasons, "the shared store may have more entries that match")
	}
	if s.Problem != "" {
		reasons = append(reasons, s.Problem)
	}
	s.Notice = strings.Join(reasons, "; ")
}

// IndexStateOf returns the state of the index in an answer, or nil if the answer does
// not depend on the index.
func IndexStateOf(answer any) *IndexState {
	v := reflect.ValueOf(answer)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	f, ok := v.Elem().Type().FieldByName("Index")
	if !ok || len(f.Index) != 1 {
		return nil
	}
	switch s := v.Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
	case *IndexState:
		return s
	case **IndexState:
		return *s
	}
	return nil
}

// indexing returns the progress of the index in words.
func indexing(pending int) string {
	files := "files"
	if pending == 1 {
		files = "file"
	}
	return fmt.Sprintf("indexing, %s %s to go", groupDigits(pending), files)
}

// groupDigits returns a number with a comma between each three digits.
func groupDigits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
