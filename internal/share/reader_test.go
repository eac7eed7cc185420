package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func newReader(t *testing.T, store Store, in memory.Context) (*Reader, memory.View) {
	t.Helper()
	view, err := new(memory.Directories).View(memory.Scope{Subject: "alice", Context: in})
	must(t, err)
	return &Reader{Store: store, Breaker: new(Breaker), Host: "desk", Timeout: 20 * time.Second,
		Terms: func(q index.Query) string { return fields(q.Text) }}, view
}

// TestReadInvalidObjects checks that objects which no correct machine publishes are
// omitted, and that those of others are not trusted.
func TestReadInvalidObjects(t *testing.T) {
	public, private := TenantOf("alice", memory.PublicOK), TenantOf("alice", memory.PrivateOnly)
	valid := map[string]any{"memory_id": "a.md#x", "host": "laptop", "content": "- bike", "terms": "bike", "type": "fact",
		"importance": 0.5, "updated": "2026-02-05T09:00:00Z", "gone": false}
	for name, c := range map[string]struct {
		collection, tenant string
		change             map[string]any
		want               string
	}{
		"valid":                {"MemoryItem", public, nil, "laptop:a.md#x 0.5 true"},
		"too important":        {"MemoryItem", public, map[string]any{"importance": 7.0}, "laptop:a.md#x 1 true"},
		"of another machine":   {"MemoryItem", public, map[string]any{"host": "phone"}, "phone:a.md#x 0.5 true"},
		"private":              {"MemoryItem", private, nil, ""},
		"of another subject":   {"MemoryItem", TenantOf("bob", memory.PublicOK), nil, ""},
		"of this machine":      {"MemoryItem", public, map[string]any{"host": "desk"}, ""},
		"of no machine":        {"MemoryItem", public, map[string]any{"host": "a:b"}, ""},
		"tombstone":            {"MemoryItem", public, map[string]any{"gone": true}, ""},
		"without text":         {"MemoryItem", public, map[string]any{"content": " \n"}, ""},
		"without id":           {"MemoryItem", public, map[string]any{"memory_id": "a.md"}, ""},
		"of another type":      {"MemoryItem", public, map[string]any{"tags": "bike"}, ""},
		"without evidence":     {"UserProfile", public, nil, ""},
		"summary":              {"UserProfile", public, map[string]any{"evidence_ids": []any{"b.md#y"}}, "laptop:a.md#x 0.5 true"},
		"several entries":      {"MemoryItem", public, map[string]any{"content": "- one\n- two\n\n# Heading\n\ntext"}, "laptop:a.md#x 0.5 true"},
		"with a private block": {"MemoryItem", public, map[string]any{"content": "<private>\nbike\n"}, "laptop:a.md#x 0.5 true"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Object{Collection: c.collection, Tenant: c.tenant, ID: "1", Properties: maps.Clone(valid)}
			maps.Copy(o.Properties, c.change)
			r, view := newReader(t, &memoryStore{answer: []Object{o}}, memory.Public)
			docs, _, err := r.Search(t.Context(), view, index.Query{Text: "bike"})
			must(t, err)
			got := ""
			for _, doc := range docs {
				e := &doc.Entries[0]
				got += fmt.Sprintf("%s#%s %g %t", doc.Place.Path, e.ID, e.Importance, e.Author().Untrusted(view))
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestReadInvalidFields puts values that no file can have into each field of an object,
// and checks that the objects are omitted and counted once.
func TestReadInvalidFields(t *testing.T) {
	valid := map[string]any{"memory_id": "a.md#x", "host": "laptop", "content": "- bike", "type": "fact",
		"updated": "2026-02-05T09:00:00Z", "line": 3, "day": "2026-02-05", "section": []any{"S"}, "tags": []any{"t"}}
	bad := map[string][]any{"updated": {"9999-12-31T00:00:00Z"}, "created": {"9999-12-31T00:00:00Z"},
		"line": {1_000_000_000_000_000, -1}, "day": {"yesterday", "9999-12-31", "2026-02-31", "2026-01-01\n"},
		"memory_id": {"../a.md#x", "a/../../b.md#x", "/etc/passwd#x", "a//b.md#x", "./a.md#x", "#x", "a.md"}}
	for i := range reflect.TypeFor[record]().NumField() {
		fieldNames(reflect.TypeFor[record]().Field(i), func(name string, list bool) {
			for _, text := range []string{"a\nb", "a\rb", "a\x1b]0;b", "a\u202eb", "a\u2028b", "a\U000e0041", strings.Repeat("a", 5000)} {
				switch {
				case list:
					bad[name] = append(bad[name], []any{"ok", text})
				case name == "memory_id":
					bad[name] = append(bad[name], text+".md#x", "a.md#"+text)
				default:
					bad[name] = append(bad[name], text)
				}
			}
		})
	}
	tenant := TenantOf("alice", memory.PublicOK)
	store := new(memoryStore)
	r, view := newReader(t, store, memory.Public)
	search := func(o Object) int {
		store.answer = []Object{o, o}
		docs, _, err := r.Search(t.Context(), view, index.Query{Text: "bike"})
		must(t, err)
		return len(docs)
	}
	if search(Object{Collection: "MemoryItem", Tenant: tenant, Properties: valid}) != 2 {
		t.Fatal("a valid object is omitted")
	}
	for name, values := range bad {
		for _, value := range values {
			o := Object{Collection: "MemoryItem", Tenant: tenant, Properties: maps.Clone(valid)}
			o.Properties[name] = value
			if search(o) > 0 {
				t.Errorf("%s: %q is accepted", name, value)
			}
		}
	}
}

// fieldNames calls f for each string, or list of strings, in a field of a record,
// other than free text.
func fieldNames(field reflect.StructField, f func(name string, list bool)) {
	t := field.Type
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		for i := range t.NumField() {
			fieldNames(t.Field(i), f)
		}
	case slices.Contains(freeText, field.Name):
	case t.Kind() == reflect.String, t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		f(name, t.Kind() == reflect.Slice)
	}
}

// TestReadRequests checks which tenants a request names, and which queries are not
// sent.
func TestReadRequests(t *testing.T) {
	anyone, public, private := TenantOf("", memory.PublicOK), TenantOf("alice", memory.PublicOK), TenantOf("alice", memory.PrivateOnly)
	for _, c := range []struct {
		in      memory.Context
		private bool
		want    []string
	}{
		{memory.Public, true, []string{anyone, public}}, {memory.Private, false, []string{anyone, public}},
		{memory.Private, true, []string{anyone, public, private}},
	} {
		r, view := newReader(t, new(memoryStore), c.in)
		r.Private = c.private
		got := map[string]bool{}
		for tenant := range r.partitionsOf(view) {
			got[tenant] = true
		}
		want := map[string]bool{}
		for _, tenant := range c.want {
			want[tenant] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v, private %t: tenants (-want +got):\n%s", c.in, c.private, diff)
		}
	}
	r, _ := newReader(t, new(memoryStore), memory.Private)
	for _, c := range []struct {
		q    index.Query
		want bool
	}{
		{index.Query{Text: "bike"}, true}, {index.Query{Text: "bike", Typing: true}, false},
		{index.Query{Text: "ghp_0123456789abcdefghijABCDEFGHIJ456789"}, false},
		{index.Query{Filter: index.Filter{Tags: []string{"ghp_0123456789abcdefghijABCDEFGHIJ456789"}}}, false},
		{index.Query{Filter: index.Filter{Types: []string{"ghp_0123456789abcdefghijABCDEFGHIJ456789"}}}, false},
		{index.Query{Text: "bike", Filter: index.Filter{Tags: []string{"red"}, Types: []string{"fact"}}}, true},
		{index.Query{Text: "bike", Filter: index.Filter{Path: "notes"}}, false},
		{index.Query{Text: "bike", Filter: index.Filter{Path: "laptop:notes"}}, true},
	} {
		if got := r.Asks(&c.q); got != c.want {
			t.Errorf("Asks(%+v) = %t", c.q, got)
		}
	}
}

// TestFoldersAreNotRead checks that a view of folders only has no tenants.
func TestFoldersAreNotRead(t *testing.T) {
	d := &memory.Directories{Owner: "alice", Roots: []*memory.Root{{Name: "vault", Owner: "alice"}}}
	view, err := d.View(memory.Scope{Subject: "alice", Context: memory.Private})
	must(t, err)
	r := &Reader{Private: true}
	if view := view.WithRoots("vault").OnlyRoots(); len(view.Partitions()) == 0 || len(r.partitionsOf(view)) > 0 {
		t.Errorf("%v: %v", view.Partitions(), r.partitionsOf(view))
	}
	if diff := cmp.Diff(r.partitionsOf(view), r.partitionsOf(view.WithRoots("vault"))); diff != "" {
		t.Error(diff)
	}
}

// TestReadErrors checks that failures pause the requests, and that a canceled
// request is none.
func TestReadErrors(t *testing.T) {
	store := &memoryStore{hang: true}
	r, view := newReader(t, store, memory.Private)
	r.Timeout = time.Millisecond
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		r.Search(canceled, view, index.Query{Text: "bike"})
	}
	if !r.Breaker.Allows() {
		t.Error("canceled requests pause further ones")
	}
	for range 3 {
		if _, _, err := r.Search(t.Context(), view, index.Query{Text: "bike"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a store that does not answer: %v", err)
		}
	}
	n := len(store.requests)
	if _, _, err := r.Search(t.Context(), view, index.Query{Text: "bike"}); err == nil || len(store.requests) > n {
		t.Errorf("a request after three failures: %v", err)
	}
	if _, err := r.Get(t.Context(), view, "laptop:a.md#x"); err == nil || errors.Is(err, ErrNotFound) || len(store.requests) > n {
		t.Errorf("a request for an entry after three failures: %v", err)
	}
}
