package weaviate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
	"github.com/memwatchd/memwatchd/internal/share"
)

var timesRE = regexp.MustCompile(`TimeUnix":[0-9]+`)

func newNodeClient(t *testing.T, n *weaviatetest.Node, prefix string) *Client {
	c := &Client{URL: n.URL, Prefix: prefix, Timeout: patience,
		Key: func() (string, error) { return weaviatetest.ClusterKey, nil }}
	t.Cleanup(c.Close)
	return c
}

// TestCluster runs the tests of the protocol on a real server.
func TestCluster(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 1)
	testStore(t, func(t *testing.T, prefix string) *Client { return newNodeClient(t, cluster.Nodes[0], prefix) })
}

// TestClusterRestart checks that 10,000 objects are found, and survive kill -9.
func TestClusterRestart(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 1)
	c := newNodeClient(t, cluster.Nodes[0], "")
	for range 2 {
		if _, err := c.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const total = 10_000
	var objects []share.Object
	for n := range total {
		tenant := []string{tenantA, tenantB}[n%2]
		text := fmt.Sprintf("entry number%d of port %d", n, 8000+n%97)
		objects = append(objects, item(tenant, n, map[string]any{"content": text, "terms": text, "tags": []any{fmt.Sprint("t", n%7)}}))
	}
	start := time.Now()
	mustPut(t, c, objects...)
	t.Logf("%d objects in %v", total, time.Since(start).Round(time.Millisecond))
	check := func() {
		t.Helper()
		var took []time.Duration
		for n := 0; n < total; n += 101 {
			start := time.Now()
			found := mustSearch(t, c, share.Query{Tenants: []string{tenantA, tenantB}, Terms: fmt.Sprint("number", n)})
			took = append(took, time.Since(start))
			if diff := gocmp.Diff([]share.Object{objects[n]}, found); diff != "" {
				t.Fatalf("object %d (-want +got):\n%s", n, diff)
			}
		}
		slices.Sort(took)
		start := time.Now()
		list := mustList(t, c, "desk")
		t.Logf("Search p50 %v, p99 %v; List %v", took[len(took)/2], took[len(took)*99/100], time.Since(start).Round(time.Millisecond))
		want := map[string]any{}
		for _, o := range objects {
			want[o.Tenant+o.ID] = o.Properties["hash"]
		}
		got := map[string]any{}
		for _, o := range list {
			got[o.Tenant+o.ID] = o.Properties["hash"]
		}
		if diff := gocmp.Diff(want, got); diff != "" || len(list) != total {
			t.Fatalf("List returns %d objects (-want +got):\n%.1000s", len(list), diff)
		}
	}
	check()
	cluster.Nodes[0].Kill()
	if _, err := c.Ready(t.Context()); err == nil {
		t.Error("a killed node is ready")
	}
	if err := errors.Join(cluster.Nodes[0].Start(), cluster.Nodes[0].AwaitReady(t.Context())); err != nil {
		t.Fatal(err)
	}
	check()
	mustPut(t, c, objects[:200]...)
}

// TestClusterTenants checks that the requests and responses about a tenant are equal
// byte for byte, with and without 400 objects of another tenant.
func TestClusterTenants(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 1)
	traffic := func(prefix string, private int) []string {
		proxy, err := weaviatetest.NewProxy(cluster.Nodes[0].URL)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		c := newNodeClient(t, cluster.Nodes[0], prefix)
		c.URL = proxy.URL
		if _, err := c.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields("port cable disk apple 中文 night plan light")
		var others []share.Object
		for n := range private {
			text := words[n%3] + " " + words[n%2] + " canary"
			others = append(others, item(tenantB, 1000+n, map[string]any{"terms": text, "content": text}))
		}
		mustPut(t, c, others...)
		for _, of := range share.Collections[1:] { // messages about missing tenants have no fixed order
			mustPut(t, c, share.Object{Collection: of.Name, Tenant: tenantA, ID: id(1), Properties: map[string]any{"host": "desk",
				"gone": false, "rev": 1.0, "terms": "port", "updated": "2026-01-01T00:00:00Z"}})
		}
		proxy.Take()
		for n := range 60 {
			text := words[n%8] + " " + words[n%7] + " " + words[n%5]
			mustPut(t, c, item(tenantA, n, map[string]any{"terms": text, "content": text}))
		}
		writes := proxy.Take()
		for i := range writes { // the server adds the time of the write
			writes[i] = timesRE.ReplaceAllString(writes[i], `TimeUnix":0`)
		}
		for _, word := range append(words, "port cable", "canary") {
			mustSearch(t, c, share.Query{Tenants: []string{tenantA}, Terms: word})
		}
		mustSearch(t, c, share.Query{Tenants: []string{tenantA}})
		if _, err := c.Get(t.Context(), "MemoryItem", tenantA, id(1000)); !errors.Is(err, share.ErrNotFound) {
			t.Errorf("an id of another tenant: %v", err)
		}
		return slices.Concat(writes, proxy.Take())
	}
	with, without := traffic("TrafficA", 400), traffic("TrafficB", 0)
	for i := range without {
		without[i] = strings.NewReplacer("TrafficB", "TrafficA", "trafficb", "traffica").Replace(without[i])
	}
	if diff := gocmp.Diff(without, with); diff != "" {
		t.Errorf("traffic of a tenant, without and with objects of another (-without +with):\n%s", diff)
	}
	for _, body := range with {
		if strings.Contains(body, tenantB) {
			t.Errorf("traffic of a tenant names another: %.300s", body)
		}
	}
	t.Logf("%d requests and responses compared", len(with))
}

// TestClusterFaults checks that an accepted write is never lost or undone while
// nodes are frozen, killed, wiped and all down.
func TestClusterFaults(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 3)
	c := newNodeClient(t, cluster.Nodes[0], "")
	c.Timeout, c.Replicas = DefaultTimeout, 3
	if _, err := c.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]share.Object{}
	n, failures := 0, 0
	// put repeats a write until it is accepted, as the outbox does.
	put := func(o share.Object) {
		t.Helper()
		for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			refused, err := c.Put(t.Context(), []share.Object{o})
			if err == nil {
				if refused != nil {
					t.Fatalf("refused: %v", refused)
				}
				want[o.ID] = o
				return
			}
			failures++
			if time.Now().After(end) {
				t.Fatalf("write %s: %v", o.ID, err)
			}
		}
	}
	write := func(count int) {
		t.Helper()
		start := time.Now()
		for range count {
			n++
			put(item(tenantA, n, map[string]any{"terms": fmt.Sprint("number", n), "content": fmt.Sprint("text ", n)}))
			switch old := id(n / 2); {
			case n%5 == 0: // overwritten
				put(item(tenantA, n/2, map[string]any{"terms": "again", "content": fmt.Sprint("again ", n), "rev": 1.8e15 + float64(n)}))
			case n%7 == 0:
				put(share.Object{Collection: "MemoryItem", Tenant: tenantA, ID: old,
					Properties: map[string]any{"host": "desk", "rev": 1.8e15 + float64(n), "hash": "", "gone": true}})
			}
		}
		t.Logf("%d writes in %v, %d repeated so far", count, time.Since(start).Round(time.Millisecond), failures)
	}
	restart := func(nodes ...*weaviatetest.Node) {
		t.Helper()
		for _, node := range nodes {
			if err := node.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for _, node := range nodes {
			if err := node.AwaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(100)

	t.Log("one node is frozen")
	if err := cluster.Nodes[2].Freeze(); err != nil {
		t.Fatal(err)
	}
	write(50)
	if err := cluster.Nodes[2].Thaw(); err != nil {
		t.Fatal(err)
	}

	t.Log("one node is killed")
	cluster.Nodes[1].Kill()
	write(50)
	restart(cluster.Nodes[1])

	t.Log("two nodes are killed")
	cluster.Nodes[1].Kill()
	cluster.Nodes[2].Kill()
	for _, o := range []share.Object{item(tenantA, 1_000_000, nil), item(tenantA, 1_000_001, map[string]any{"updated": "no"})} {
		if refused, err := c.Put(t.Context(), []share.Object{o}); err == nil {
			t.Errorf("without a quorum, Put is accepted, refused %v", refused)
		} else {
			t.Logf("without a quorum: %v", err)
		}
	}
	restart(cluster.Nodes[1:]...)
	write(20)

	t.Log("the disk of one node is wiped")
	cluster.Nodes[2].Kill()
	if err := cluster.Nodes[2].Wipe(); err != nil {
		t.Fatal(err)
	}
	restart(cluster.Nodes[2])
	write(50)

	t.Log("all nodes are down")
	cluster.Close()
	if _, err := c.Put(t.Context(), []share.Object{item(tenantA, 1, nil)}); err == nil {
		t.Error("without nodes, Put is accepted")
	}
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(20)

	// Reads of an object are consistent at once, through every node. Lists and
	// searches are so in time.
	complete := func() {
		t.Helper()
		for i, node := range cluster.Nodes {
			missing, extra, start := 1, 1, time.Now()
			for missing+extra > 0 && time.Since(start) < 2*time.Minute {
				missing, extra = compareList(t, newNodeClient(t, node, ""), want)
				if time.Since(start) < time.Second {
					t.Logf("node %d: of %d objects, its list lacks %d, and has %d others", i, len(want), missing, extra)
				}
				time.Sleep(time.Second)
			}
			t.Logf("node %d: after %v, its list lacks %d, and has %d others", i, time.Since(start).Round(time.Second), missing, extra)
			if missing+extra > 0 {
				t.Errorf("the list of node %d is not complete", i)
			}
		}
	}
	complete()
	var gone []string
	for _, key := range slices.Sorted(maps.Keys(want))[:40] {
		o := want[key]
		o.Delete = true
		if refused, err := c.Put(t.Context(), []share.Object{o}); err != nil || refused != nil {
			t.Fatalf("removal: %v, refused %v", err, refused)
		}
		gone = append(gone, key)
		delete(want, key)
	}
	for i, node := range cluster.Nodes {
		through := newNodeClient(t, node, "")
		for _, o := range want {
			got, err := through.Get(t.Context(), o.Collection, o.Tenant, o.ID)
			if diff := gocmp.Diff(o, got); err != nil || diff != "" {
				t.Fatalf("node %d: %v (-want +got):\n%s", i, err, diff)
			}
		}
		for _, key := range gone {
			if got, err := through.Get(t.Context(), "MemoryItem", tenantA, key); !errors.Is(err, share.ErrNotFound) {
				t.Errorf("node %d: a removed object is read: %v, %v", i, got, err)
			}
		}
	}
	complete()
}

// compareList returns the number of objects that a list lacks or has in another
// version, and the number of those that it should not have.
func compareList(t *testing.T, c *Client, want map[string]share.Object) (missing, extra int) {
	t.Helper()
	found := 0
	for _, o := range mustList(t, c, "desk") {
		w, ok := want[o.ID]
		switch {
		case !ok:
			extra++
		case w.Properties["rev"] == o.Properties["rev"] && w.Gone() == o.Gone():
			found++
		}
	}
	return len(want) - found, extra
}
