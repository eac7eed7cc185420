package weaviate

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

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

// TestClusterTenants checks that the requests and responses about a tenant are equal
// byte for byte, with and without 400 objects of another tenant.
func TestClusterTenants(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 1)
	traffic := func(prefix string, private int) []string {
		proxy, err := weaviatetest.NewProxy(cluster.Nodes[0].URL)
		must(t, err)
		defer proxy.Close()
		c := newNodeClient(t, cluster.Nodes[0], prefix)
		c.URL = proxy.URL
		must(t, c.Init(t.Context()))
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
