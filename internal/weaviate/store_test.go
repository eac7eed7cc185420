package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
	"github.com/memwatchd/memwatchd/internal/share"
)

const (
	tenantA = "0123456789abcdef0123456789abcdef01234567"
	tenantB = "fedcba9876543210fedcba9876543210fedcba98"
)

// patience is the timeout of requests in tests that do not measure it.
const patience = 20 * time.Second

// id returns the UUID of the n-th object of a test.
func id(n int) string { return fmt.Sprintf("00000000-0000-5000-8000-%012x", n) }

func item(tenant string, n int, properties map[string]any) share.Object {
	o := share.Object{Collection: "MemoryItem", Tenant: tenant, ID: id(n), Properties: map[string]any{
		"memory_id": fmt.Sprintf("notes/%d.md#e1", n), "host": "desk", "hash": fmt.Sprintf("h%d", n), "gone": false,
		"rev": 1790000000000000 + float64(n), "updated": time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC).Format(time.RFC3339),
	}}
	for name, value := range properties {
		o.Properties[name] = value
	}
	return o
}

// wantIDs checks the numbers of objects.
func wantIDs(t *testing.T, what string, objects []share.Object, want ...int) {
	t.Helper()
	var got, list []string
	for _, o := range objects {
		got = append(got, o.ID)
	}
	for _, n := range want {
		list = append(list, id(n))
	}
	if diff := gocmp.Diff(list, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantStored checks that the store has an object.
func wantStored(t *testing.T, c *Client, want share.Object) {
	t.Helper()
	got, err := c.Get(t.Context(), want.Collection, want.Tenant, strings.ToUpper(want.ID))
	want.ID = strings.ToLower(want.ID)
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v (-want +got):\n%s", err, diff)
	}
}

func mustPut(t *testing.T, c *Client, objects ...share.Object) {
	t.Helper()
	for batch := range slices.Chunk(objects, 200) {
		if refused, err := c.Put(t.Context(), batch); err != nil || refused != nil {
			t.Fatalf("Put: %v, refused %v", err, refused)
		}
	}
}

// wantPartlyRefused puts objects and checks the numbers of those that the store refuses.
func wantPartlyRefused(t *testing.T, c *Client, batch []share.Object, want ...int) {
	t.Helper()
	refused, err := c.Put(t.Context(), batch)
	must(t, err)
	slices.SortFunc(refused, func(a, b share.Refusal) int { return cmp.Compare(a.ID, b.ID) })
	var got []share.Object
	for _, r := range refused {
		got = append(got, share.Object{ID: r.ID})
		if r.Reason == "" || strings.Contains(r.Reason, "yesterday") {
			t.Errorf("the reason of %s is %q", r.ID, r.Reason)
		}
	}
	wantIDs(t, "refused", got, want...)
}

func mustSearch(t *testing.T, c *Client, q share.Query) []share.Object {
	t.Helper()
	q.Limit = cmp.Or(q.Limit, 50)
	found, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search %+v: %v", q, err)
	}
	return found
}

func mustList(t *testing.T, c *Client, host string) (list []share.Object) {
	t.Helper()
	for o, err := range c.List(t.Context(), host) {
		must(t, err)
		list = append(list, o)
	}
	return list
}

// TestStore runs the tests of the protocol on the fake server. TestCluster runs them
// on the real one.
func TestStore(t *testing.T) {
	testStore(t, func(t *testing.T, prefix string) *Client {
		s := weaviatetest.NewServer()
		s.Key = "secret"
		c := &Client{URL: s.URL, Timeout: patience, Prefix: prefix, Key: func() (string, error) { return "secret", nil }}
		t.Cleanup(func() { c.Close(); s.Close() })
		return c
	})
}

// testStore checks a client. The prefix of a new client has no collections yet.
func testStore(t *testing.T, newClient func(t *testing.T, prefix string) *Client) {
	ready := func(t *testing.T, prefix string) *Client {
		c := newClient(t, prefix)
		must(t, c.Init(t.Context()))
		return c
	}
	t.Run("init", func(t *testing.T) { testInit(t, newClient(t, "Init")) })
	t.Run("round trip", func(t *testing.T) { testRoundTrip(t, ready(t, "Trip")) })
	t.Run("search", func(t *testing.T) { testSearch(t, ready(t, "Search")) })
	t.Run("tombstones", func(t *testing.T) { testTombstones(t, ready(t, "Tomb")) })
	t.Run("refused", func(t *testing.T) { testRefused(t, ready(t, "Refused")) })
	t.Run("missing", func(t *testing.T) { testMissing(t, ready(t, "Missing")) })
	t.Run("injection", func(t *testing.T) { testInjection(t, ready(t, "Injection")) })
	t.Run("tenants", func(t *testing.T) { testTenants(t, ready(t, "Tenants")) })
	t.Run("list", func(t *testing.T) { testList(t, ready(t, "List")) })
}

func testInit(t *testing.T, c *Client) {
	must(t, c.Ready(t.Context()))
	// Without collections, nothing is written and no collection is created.
	_, err := c.Put(t.Context(), []share.Object{item(tenantA, 1, nil)})
	want := "collection InitMemoryItem of the store does not exist: run `memwatchd share init`"
	if e, ok := errors.AsType[*share.Error](err); !ok || e.Permanent || err.Error() != want {
		t.Errorf("Put without collections: %v", err)
	}
	if _, err := c.Search(t.Context(), share.Query{Tenants: []string{tenantA}, Limit: 1}); err == nil || err.Error() != want {
		t.Errorf("Search without collections: %v", err)
	}
	for range 2 {
		must(t, c.Init(t.Context()))
	}
	mustPut(t, c, item(tenantA, 1, nil))
	// A collection with other settings is an error.
	other := c.newClass(share.Collections[0])
	other.Class = "Other" + other.Class
	other.Properties[0].Tokenization = "word"
	must(t, c.create(t.Context(), other))
	c2 := &Client{URL: c.URL, Key: c.Key, Prefix: "OtherInit"}
	defer c2.Close()
	err = c2.Init(t.Context())
	want = "collection OtherInitMemoryItem of the store has another or no property evidence: " +
		"delete the collection, then run `memwatchd share init`"
	if e, ok := errors.AsType[*share.Error](err); !ok || !e.Permanent || err.Error() != want {
		t.Errorf("Init with another schema: %v", err)
	}
	if err := c2.create(t.Context(), other); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("creating a collection twice: %v", err)
	}
}

func testRoundTrip(t *testing.T, c *Client) {
	want := item(tenantA, 1, map[string]any{
		"path": "notes/ä 1.md", "line": 2147483647.0, "section": []any{"Größe", "中文"}, "kind": "note", "type": "fact",
		"content": "- Port \"8080\" \\ {a}\n\n\tand \u0001 more 😀\n", "title": "Port", "tags": []any{"net", "a b"}, "task": "open",
		"importance": 0.25, "confidence": 0.1, "evidence": []any{"https://example.org/?a=b&c"}, "source": "user", "session": "s",
		"day": "2026-02-05", "created": "2026-02-05T10:00:00.123456789Z", "updated": "2026-02-05T11:00:00Z",
		"rev": 1799999999999999.0, "terms": "port 8080 中文", "title_terms": "port", "analysis": 3.0,
	})
	mustPut(t, c, want)
	wantStored(t, c, want)
	if diff := gocmp.Diff([]share.Object{want}, mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: "8080 中文"})); diff != "" {
		t.Errorf("Search (-want +got):\n%s", diff)
	}
	for _, name := range []string{"UserProfile", "ProjectMemory"} {
		o := share.Object{Collection: name, Tenant: tenantA, ID: id(2), Properties: map[string]any{"memory_id": "p.md#e1",
			"host": "desk", "content": "x", "evidence_ids": []any{"a.md#e1"}, "hash": "h", "rev": 1.0,
			"gone": false, "terms": "summary"}}
		mustPut(t, c, o)
		wantStored(t, c, o)
	}
	wantIDs(t, "summaries", mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: "summary"}), 2, 2)
	// Writing an object again replaces it.
	want.Properties = map[string]any{"host": "desk", "hash": "h2", "gone": false, "rev": 1799999999999999.0 + 1, "memory_id": "x"}
	mustPut(t, c, want, want)
	wantStored(t, c, want)
}

func testSearch(t *testing.T, c *Client) {
	mustPut(t, c,
		item(tenantA, 1, map[string]any{"terms": "apple pear apple", "tags": []any{"x", "y"}, "type": "fact"}),
		item(tenantA, 2, map[string]any{"terms": "apple plum and more words here", "tags": []any{"x"}, "type": "decision"}),
		item(tenantA, 3, map[string]any{"terms": "Apple", "title_terms": "pear", "host": "laptop"}),
		item(tenantA, 4, map[string]any{"terms": "apple", "gone": true}),
		item(tenantB, 5, map[string]any{"terms": "apple fig"}))
	both := []string{tenantA, tenantB}
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	for _, test := range []struct {
		name string
		q    share.Query
		want []int
	}{
		{"best first", share.Query{Tenants: both[:1], Terms: "apple pear"}, []int{1, 3, 2}},
		{"case", share.Query{Tenants: both[:1], Terms: "Apple"}, []int{3}},
		{"tenants", share.Query{Tenants: both, Terms: "fig"}, []int{5}},
		{"order of tenants", share.Query{Tenants: []string{tenantB, tenantA}, Terms: "plum fig"}, []int{5, 2}},
		{"other hosts", share.Query{Tenants: both[:1], Terms: "apple pear", NotHost: "desk"}, []int{3}},
		{"types", share.Query{Tenants: both[:1], Terms: "apple", Types: []string{"decision", "x"}}, []int{2}},
		{"all tags", share.Query{Tenants: both[:1], Terms: "apple", Tags: []string{"x", "y"}}, []int{1}},
		{"any tag", share.Query{Tenants: both[:1], Terms: "plum pear", Tags: []string{"x", "z"}, AnyTag: true}, []int{1, 2}},
		{"newest first", share.Query{Tenants: both[:1]}, []int{3, 2, 1}},
		{"limit", share.Query{Tenants: both[:1], Limit: 2}, []int{3, 2}},
		{"since", share.Query{Tenants: both[:1], Since: at(2)}, []int{3, 2}},
		{"until", share.Query{Tenants: both[:1], Until: at(2)}, []int{2, 1}},
		{"no tenant", share.Query{Terms: "apple"}, nil},
		{"invalid tenant", share.Query{Tenants: []string{"a\"b"}, Terms: "apple"}, nil},
		{"new tenant", share.Query{Tenants: []string{"new", tenantB}, Terms: "fig"}, []int{5}},
	} {
		wantIDs(t, test.name, mustSearch(t, c, test.q), test.want...)
	}
}

func testTombstones(t *testing.T, c *Client) {
	first, second := item(tenantA, 1, map[string]any{"terms": "apple"}), item(tenantA, 2, map[string]any{"terms": "apple"})
	mustPut(t, c, first, second)
	gone := share.Object{Collection: "MemoryItem", Tenant: tenantA, ID: id(1),
		Properties: map[string]any{"host": "desk", "rev": 2e15, "hash": "", "gone": true}}
	mustPut(t, c, second, first, gone) // the last version of an object counts
	wantIDs(t, "after a tombstone", mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: "apple"}), 2)
	wantStored(t, c, gone)
	if got := mustList(t, c, "desk"); len(got) != 2 || !got[0].Gone() {
		t.Errorf("List returns %v", got)
	}
	gone.Delete = true
	missing := gone
	missing.ID, missing.Tenant = id(9), tenantB
	mustPut(t, c, gone, missing)
	mustPut(t, c, gone)
	if _, err := c.Get(t.Context(), "MemoryItem", tenantA, id(1)); !errors.Is(err, share.ErrNotFound) {
		t.Errorf("Get of a removed object: %v", err)
	}
}

// TestFailedTombstone checks that a tombstone is never refused, whether it fails alone
// or beside objects that the store accepts.
func TestFailedTombstone(t *testing.T) {
	c, s := newFake(t)
	gone := item(tenantA, 1, nil)
	gone.Properties = map[string]any{"host": "desk", "rev": 2, "gone": true}
	s.Refuse(func(o string) bool { return o == id(1) })
	for _, batch := range [][]share.Object{{gone}, {gone, item(tenantA, 2, nil)}} {
		if refused, err := c.Put(t.Context(), batch); err == nil {
			t.Errorf("Put of %d objects refuses %v", len(batch), refused)
		}
	}
}

func testRefused(t *testing.T, c *Client) {
	batch := []share.Object{
		item(tenantA, 1, nil), item(tenantA, 2, map[string]any{"updated": "yesterday"}), item(tenantA, 3, map[string]any{"content": 5}),
		item(tenantB, 6, map[string]any{"tags": "x"}), item(tenantA, 7, nil),
	}
	wantPartlyRefused(t, c, batch, 2, 3, 6)
	wantIDs(t, "accepted", mustList(t, c, "desk"), 1, 7)
	have, err := c.class(t.Context(), "MemoryItem")
	if err != nil || len(have.Properties) != len(share.Collections[0].Properties) {
		t.Errorf("the collection has %d properties: %v", len(have.Properties), err)
	}
}

func testMissing(t *testing.T, c *Client) {
	mustPut(t, c, item(tenantA, 1, nil))
	for _, at := range [][3]string{
		{"MemoryItem", tenantA, id(2)}, {"MemoryItem", tenantB, id(1)}, {"UserProfile", tenantA, id(1)},
		{"MemoryItem", "../..", id(1)}, {"MemoryItem", tenantA, "../schema"}, {"MemoryItem", tenantA, ""},
	} {
		if _, err := c.Get(t.Context(), at[0], at[1], at[2]); !errors.Is(err, share.ErrNotFound) {
			t.Errorf("Get %q: %v", at, err)
		}
	}
	if got := mustList(t, c, "laptop"); got != nil {
		t.Errorf("List of another host returns %v", got)
	}
}

// injections are texts that would change a query if they were not quoted.
var injections = []string{
	`"`, `\`, `\"`, `"}){host}}}`, `",operator:NotEqual`, `x"]},p9:MemoryItem(tenant:"` + tenantB + `"){content}`, "a\nb", "\x00", "\x7f",
	"\u2028", "\ufeff", "😀", `""" block """`, `\u0022`, "#comment", "${x}", "a,b", "\xff",
}

func testInjection(t *testing.T, c *Client) {
	mustPut(t, c, item(tenantB, 99, map[string]any{"content": "canary", "terms": "a b x"}))
	for n, text := range injections {
		text = strings.ToValidUTF8(text, "\ufffd")
		mustPut(t, c, item(tenantA, n, map[string]any{"host": text, "type": text, "tags": []any{text}}))
	}
	for n, text := range injections {
		q := share.Query{Tenants: []string{tenantA}, Types: []string{text}, Tags: []string{text}}
		wantIDs(t, fmt.Sprintf("type and tag %q", text), mustSearch(t, c, q), n)
		q.NotHost = text
		wantIDs(t, fmt.Sprintf("without the host %q", text), mustSearch(t, c, q))
		wantIDs(t, fmt.Sprintf("list of the host %q", text), mustList(t, c, strings.ToValidUTF8(text, "\ufffd")), n)
		if strings.TrimSpace(text) == "" {
			continue // the newest objects
		}
		wantIDs(t, fmt.Sprintf("terms %q", text), mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: text}))
	}
}

// testTenants checks that the answer about one tenant does not depend on the
// objects of another.
func testTenants(t *testing.T, c *Client) {
	var public, private []share.Object
	words := strings.Fields("port cable disk apple 中文 night plan light")
	for n := range 60 {
		text := words[n%8] + " " + words[n%7] + " " + words[n%5]
		public = append(public, item(tenantA, n, map[string]any{"terms": text, "content": text}))
	}
	for n := range 400 {
		text := words[n%3] + " " + words[n%2] + " secret"
		private = append(private, item(tenantB, 1000+n, map[string]any{"terms": text, "content": text}))
	}
	mustPut(t, c, public...)
	answers := func() (all [][]share.Object) {
		for _, word := range append(words, "port cable", "secret") {
			all = append(all, mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: word}))
		}
		all = append(all, mustSearch(t, c, share.Query{Tenants: []string{tenantA}}))
		return append(all, mustList(t, c, "desk")[:len(public)])
	}
	before := answers()
	mustPut(t, c, private...)
	if diff := gocmp.Diff(before, answers()); diff != "" {
		t.Errorf("after writes to another tenant, answers differ (-before +after):\n%s", diff)
	}
}

func testList(t *testing.T, c *Client) {
	var all []share.Object
	for n := range 2*pageSize + 10 {
		host := "desk"
		if n%4 == 3 {
			host = "laptop"
		}
		all = append(all, item(tenantA, n, map[string]any{"host": host, "content": "text"}))
	}
	mustPut(t, c, all...)
	mustPut(t, c, item(tenantB, 1, nil))
	list := mustList(t, c, "desk")
	seen := map[string]share.Object{}
	for _, o := range list {
		seen[o.Tenant+o.ID] = o
	}
	if len(list) != len(all)*3/4+2 || len(seen) != len(list) {
		t.Fatalf("List returns %d objects, %d different ones", len(list), len(seen))
	}
	want := all[0].Properties
	delete(want, "content")
	delete(want, "updated")
	if diff := gocmp.Diff(want, seen[tenantA+id(0)].Properties); diff != "" {
		t.Errorf("properties of a listed object (-want +got):\n%s", diff)
	}
	n := 0
	for range c.List(t.Context(), "desk") {
		n++
		if n == 5 {
			break
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range c.List(ended, "desk") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List with a canceled context: %v", err)
		}
	}
}

// FuzzQuote checks that any text in a query stays one string of it.
func FuzzQuote(f *testing.F) {
	for _, text := range injections {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := weaviatetest.Parse("{Get{a:B(c:" + quote(text) + "){d}}}")
		must(t, err)
		want := []weaviatetest.Field{{Alias: "Get", Name: "Get", Fields: []weaviatetest.Field{{Alias: "a", Name: "B",
			Args: map[string]any{"c": strings.ToValidUTF8(text, "\ufffd")}, Fields: []weaviatetest.Field{{Alias: "d", Name: "d"}}}}}}
		if diff := gocmp.Diff(want, fields); diff != "" && !strings.Contains(strings.ToValidUTF8(text, "\ufffd"), "\ufffd") {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
