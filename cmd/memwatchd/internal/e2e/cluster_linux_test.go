package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/weaviatetest"
	"github.com/memwatchd/memwatchd/internal/weaviate"
)

func newNodeClient(t *testing.T, n *weaviatetest.Node) *weaviate.Client {
	c := &weaviate.Client{URL: n.URL, Timeout: 20 * time.Second,
		Key: func() (string, error) { return weaviatetest.ClusterKey, nil }}
	t.Cleanup(c.Close)
	return c
}

// sharer is the owner of the machines in the tests of clusters.
var sharer = fields{"subject": "alice", "context": "private"}

// A machine is a daemon that shares the public entries of its memory.
type machine struct {
	*live
	name string
}

// patient is the setting of machines whose answers include the store, however busy it is.
const patient = "query_timeout: 10s"

// newMachine returns a machine that shares through the server at a URL. The server's
// settings are those of settings, in YAML.
func newMachine(t *testing.T, name, url, settings string) *machine {
	t.Helper()
	m := &machine{name: name}
	key := filepath.Join(t.TempDir(), "key")
	testkit.Must(t, os.WriteFile(key, []byte(weaviatetest.ClusterKey+"\n"), 0o600))
	m.live = newLive(t, t.TempDir(), fmt.Sprintf(`share:
  weaviate: {url: %q, key_file: %q, %s}
  publish: ["**"]
`, url, key, settings))
	m.env = append(m.env, "MEMWATCHD_MEMORY_OWNER=alice", "MEMWATCHD_MEMORY_HOST="+name, clockAhead+"=0s")
	return m
}

func isClockAhead(variable string) bool { return strings.HasPrefix(variable, clockAhead+"=") }

// push publishes all changes, in steps push or init.
func (m *machine) push(step string) (a struct{ Published, Objects, Missing, Extra, Refused int }, err error) {
	return a, m.ask("share_push", sharer.with(fields{"step": step}), &a)
}

func (m *machine) mustPush(step string) (published, missing, extra int) {
	m.t.Helper()
	a, err := m.push(step)
	if err != nil || a.Refused > 0 {
		m.t.Fatalf("%s: share %s: %v, %+v", m.name, step, err, a)
	}
	return a.Published, a.Missing, a.Extra
}

// sharedFile returns a file with entries, public or private.
func sharedFile(public bool, entries ...string) string {
	visibility := "private_only"
	if public {
		visibility = "public_ok"
	}
	return fmt.Sprintf("---\nvisibility: %s\n---\n# Notes\n\n- %s\n", visibility, strings.Join(entries, "\n- "))
}

// clusterTime is the duration of the edits and faults of TestClusterMachines.
func clusterTime(t *testing.T) time.Duration {
	d, err := time.ParseDuration(cmp.Or(os.Getenv("CLUSTER"), "1m"))
	if err != nil {
		t.Fatalf("CLUSTER: %v", err)
	}
	return d
}

// TestClusterMachines checks that after random edits on three machines, and faults
// of three servers, of the daemons and of their outboxes, the store contains the
// public entries of each machine and nothing else.
func TestClusterMachines(t *testing.T) {
	cluster := weaviatetest.NewCluster(t, 3)
	var machines []*machine
	model := map[*machine]map[string][]string{} // public entries by path
	for i, name := range []string{"desk", "laptop", "server"} {
		m := newMachine(t, name, cluster.Nodes[i].URL, patient)
		m.start()
		machines, model[m] = append(machines, m), map[string][]string{}
		m.mustPush("init")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	end := time.Now().Add(clusterTime(t))
	var group sync.WaitGroup
	for i, m := range machines {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		group.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				editFile(m, model[m], r, n)
				time.Sleep(time.Duration(20+r.IntN(200)) * time.Millisecond)
			}
		})
	}
	group.Go(func() {
		r := rand.New(rand.NewPCG(seed, 99))
		for n := 0; time.Now().Before(end); n++ {
			failServers(t, cluster, r, n)
		}
	})
	group.Go(func() {
		r := rand.New(rand.NewPCG(seed, 100))
		for n := 0; time.Now().Before(end); n++ {
			time.Sleep(time.Duration(2+r.IntN(8)) * time.Second)
			failDaemon(t, machines[r.IntN(3)], r, n)
		}
	})
	group.Wait()
	for _, m := range machines {
		m.ready()
		m.within(3*time.Minute, "all servers list the same entries", func() bool {
			first := listRevisions(t, cluster.Nodes[0], m.name)
			return slices.Equal(first, listRevisions(t, cluster.Nodes[1], m.name)) &&
				slices.Equal(first, listRevisions(t, cluster.Nodes[2], m.name))
		})
		m.within(3*time.Minute, "the outbox is empty", func() bool { _, err := m.push("push"); return err == nil })
		for range 5 { // lists are consistent in time
			_, missing, extra := m.mustPush("init")
			t.Logf("%s: verify finds %d missing and %d extra", m.name, missing, extra)
			if missing+extra == 0 {
				break
			}
			time.Sleep(5 * time.Second)
		}
	}
	for i, m := range machines {
		want := slices.Sorted(maps.Keys(publicEntries(model[m])))
		var got []string
		client := newNodeClient(t, cluster.Nodes[i])
		for o, err := range client.List(t.Context(), m.name) {
			testkit.Must(t, err)
			full, err := client.Get(t.Context(), o.Collection, o.Tenant, o.ID)
			testkit.Must(t, err)
			content, _ := full.Properties["content"].(string)
			if full.Gone() && content != "" {
				t.Errorf("%s: a tombstone has the text %q", m.name, content)
			}
			if !full.Gone() {
				id, _ := full.Properties["memory_id"].(string)
				path, _, _ := strings.Cut(id, "#")
				got = append(got, path+" "+strings.TrimSpace(content))
			}
		}
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: entries in the store (-want +got):\n%s", m.name, diff)
		}
		t.Logf("%s: %d entries", m.name, len(got))
	}
}

// listRevisions returns the entries of a machine that a server lists, and their revisions.
func listRevisions(t *testing.T, n *weaviatetest.Node, host string) (list []string) {
	for o, err := range newNodeClient(t, n).List(t.Context(), host) {
		if err != nil {
			t.Log(err)
			return []string{n.URL} // of this server only
		}
		list = append(list, fmt.Sprint(o.Tenant, o.ID, o.Properties["rev"]))
	}
	return list
}

// publicEntries returns the path and text of the entries of files.
func publicEntries(files map[string][]string) map[string]bool {
	entries := map[string]bool{}
	for path, list := range files {
		for _, e := range list {
			entries[path+" - "+e] = true
		}
	}
	return entries
}

// editFile writes, moves or removes a file, changes its visibility, or forgets one of its
// entries, and records its public entries.
func editFile(m *machine, files map[string][]string, r *rand.Rand, n int) {
	path := func() string { return fmt.Sprintf("notes/%d.md", r.IntN(40)) }
	at := path()
	switch r.IntN(10) {
	case 0:
		os.Remove(m.path(at))
		delete(files, at)
	case 1:
		to := path()
		if os.Rename(m.path(at), m.path(to)) == nil && at != to {
			delete(files, to)
			if list, ok := files[at]; ok {
				files[to] = list
			}
			delete(files, at)
		}
	case 2:
		if list := files[at]; len(list) > 0 {
			i := r.IntN(len(list))
			forgotten := list[i]
			list = slices.Delete(slices.Clone(list), i, i+1)
			if err := forgetEntry(m, at, forgotten); err != nil { // the daemon was killed before it or after it
				m.write(at, sharedFile(true, list...))
			}
			files[at] = list
		}
	default:
		public := r.IntN(4) > 0
		var entries []string
		for e := range 1 + r.IntN(5) {
			entries = append(entries, fmt.Sprintf("%s %d text%d", m.name, e, n))
		}
		m.write(at, sharedFile(public, entries...))
		delete(files, at)
		if public {
			files[at] = entries
		}
	}
}

func forgetEntry(m *machine, path, text string) error {
	var list, done api.ForgetAnswer
	if err := m.ask("forget", sharer.with(fields{"match": text}), &list); err != nil {
		return err
	}
	for _, e := range list.Entries {
		if e.Path == path && strings.TrimSpace(e.Text) == "- "+text {
			return m.ask("forget", sharer.with(fields{"ids": []string{e.ID}, "token": list.Token}), &done)
		}
	}
	return fmt.Errorf("%s is not listed: %+v", text, list.Entries)
}

// failServers makes servers fail for a while.
func failServers(t *testing.T, cluster *weaviatetest.Cluster, r *rand.Rand, n int) {
	node := cluster.Nodes[r.IntN(3)]
	away := time.Duration(2+r.IntN(1+int(min(clusterTime(t)/15, 40*time.Second)/time.Second))) * time.Second
	var err error
	switch n % 4 {
	case 0:
		t.Logf("a server is frozen for %v", away)
		err = node.Freeze()
		time.Sleep(away)
		err = errors.Join(err, node.Thaw())
	case 1:
		t.Logf("a server is killed for %v", away)
		node.Kill()
		time.Sleep(away)
		err = errors.Join(node.Start(), node.AwaitReady(t.Context()))
	case 2:
		t.Logf("the disk of a server is wiped, and it is away for %v", away)
		node.Kill()
		time.Sleep(away)
		err = errors.Join(node.Wipe(), node.Start(), node.AwaitReady(t.Context()))
	case 3:
		if n == 3 {
			away = min(clusterTime(t)/2, 5*time.Minute)
		}
		t.Logf("all servers are down for %v", away)
		cluster.Close()
		time.Sleep(away)
		err = cluster.Start(t.Context())
	}
	if err != nil {
		t.Errorf("servers: %v", err)
	}
	time.Sleep(time.Duration(1+r.IntN(5)) * time.Second)
}

// failDaemon kills a daemon, sometimes removes its outbox, and starts it again, sometimes
// with a clock that is an hour ahead.
func failDaemon(t *testing.T, m *machine, r *rand.Rand, n int) {
	m.kill()
	if n%4 == 3 {
		os.RemoveAll(filepath.Join(filepath.Dir(m.config), "state/memwatchd/memwatchd/share"))
	}
	ahead := time.Duration(r.IntN(3)/2) * time.Hour
	m.env[slices.IndexFunc(m.env, isClockAhead)] = fmt.Sprintf("%s=%v", clockAhead, ahead)
	t.Logf("%s: killed, clock ahead by %v", m.name, ahead)
	m.start()
}
