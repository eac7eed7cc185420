package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/disk"
)

// ownerInPrivate are the fields of a request of the owner in private.
var ownerInPrivate = object{"subject": rootOwner, "context": "private"}

// withFolders returns a configuration with folders beside the memory directory.
func withFolders(folders ...config.Root) func(*config.Config, string) {
	return func(c *config.Config, _ string) { c.Memory.Roots = append(c.Memory.Roots, folders...) }
}

func (g *target) searchPaths(t testing.TB, c *http.Client, request object) []string {
	t.Helper()
	var answer struct {
		Hits  []struct{ Path string }
		Index struct{ Synced, Degraded bool }
	}
	testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, c, "search", mergeObjects(request, ownerInPrivate))), &answer))
	if !answer.Index.Synced || answer.Index.Degraded {
		t.Errorf("search %v: %+v", request, answer.Index)
	}
	paths := []string{}
	for _, h := range answer.Hits {
		paths = append(paths, h.Path)
	}
	return paths
}

// wantPaths checks the paths of the hits of a search, in any order.
func (g *target) wantPaths(t testing.TB, c *http.Client, request object, want ...string) {
	t.Helper()
	got := g.searchPaths(t, c, request)
	slices.Sort(got)
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("search %v (-want +got):\n%s", request, diff)
	}
}

// treeState returns the state of a directory tree: contents, modes and times, also of
// directories, which change with each temporary file.
func treeState(t testing.TB, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		state[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), text)
		return nil
	})
	testkit.Must(t, err)
	return state
}

// TestNothingIsWrittenToRoots checks that no operation and no job changes anything
// below a folder, and that each write to it is refused.
func TestNothingIsWrittenToRoots(t *testing.T) {
	main, dir := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "v")
	writeTree(t, main, map[string]string{
		"MEMORY.md": "- a zebra\n", "memory/2026-02-05.md": "## Tasks\n\n- [x] call the harbour\n", "memory/2026-02-06.md": "## Tasks\n\n- [ ] call the harbour\n",
	}, time.Now().Add(-time.Hour))
	// All that would make memwatchd write to files of the memory directory.
	writeTree(t, dir, map[string]string{
		"MEMORY.md": "---\nsubject_id: bob\n---\n- remember the lantern\n", "memory/2026-02-05.md": "## Tasks\n\n- [ ] call the harbour\n",
		"_longterms/bob/_index.md": strings.Repeat("- one of very many items\n", 200), "2026-02-05/s.md": "---\ntasks: 3/9\n---\n## Tasks\n\n- [ ] call the harbour\n",
		".obsidian/app.json": "{}", ".obsidian/templates.json": `{"folder": "Meta/Forms"}`, "Meta/Forms/day.md": "harbour form\n",
		".obsidian/plugins/templater-obsidian/data.json": `{"templates_folder": "Meta/Templater"}`, "Meta/Templater/week.md": "harbour form\n",
		"_longterms/_identities.yaml": "links:\n  telegram:1: owner\n", "image.png": "PNG", ".memwatchdignore": "ignored.md\n", "ignored.md": "harbour\n",
		"Area 1/Note 1.md": "# Note\n\n- the granite orchid, see [[Note 2]]\n\n## Tasks\n\n- [ ] call the harbour\n", "Area 1/Note 2.md": "- the velvet saddle\n",
	}, time.Now().Add(-time.Hour))
	before := treeState(t, dir)
	g := startTarget(t, main, func(c *config.Config, base string) {
		withFolders(config.Root{Name: "vault", Path: dir, Kind: "obsidian"})(c, base)
		c.Tuning.Quiet = 0
	})
	c := g.dial("s")
	const path = "vault:Area 1/Note 1.md"
	g.wantPaths(t, c, object{"query": "granite"}, path)
	g.wantPaths(t, c, object{"query": "form"})
	for _, hidden := range []string{"vault:ignored.md", "vault:Meta/Forms/day.md", "vault:Meta/Templater/week.md", "vault:.obsidian/app.json", "vault:image.png", "vault:../m/MEMORY.md"} {
		if status, body := g.sendRequest(t, c, "get", mergeObjects(object{"path": hidden}, ownerInPrivate)); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", hidden, status, body)
		}
	}
	var found struct{ Hits []struct{ ID string } }
	testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, c, "search", mergeObjects(object{"query": "granite"}, ownerInPrivate))), &found))
	id := found.Hits[0].ID
	var file struct{ Hash string }
	testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, c, "get", mergeObjects(object{"path": path}, ownerInPrivate))), &file))
	for _, p := range []probe{
		{"write", object{"path": "vault:new.md", "text": "x\n"}}, {"write", object{"path": "vault:notes/x/new.md", "text": "x\n"}},
		{"write", object{"path": path, "text": "x\n"}}, {"write", object{"path": path, "text": "x\n", "hash": file.Hash}},
		{"edit", object{"path": path, "old_text": "granite", "new_text": "x"}}, {"edit", object{"path": "vault:gone.md", "old_text": "a", "new_text": "b"}},
		{"todo", object{"id": id, "state": "done"}}, {"todo", object{"id": "vault:2026-02-05/s.md#x", "state": "done"}},
		{"forget", object{"ids": []string{id}}}, {"conflicts_merge", object{"path": path}},
		{"compact", object{"path": "vault:_longterms/bob/_index.md"}},
	} {
		if status, body := g.sendRequest(t, c, p.operation, mergeObjects(p.request, ownerInPrivate)); status == http.StatusOK {
			t.Errorf("%s %v: %s", p.operation, p.request, body)
		}
	}
	// These change the memory, or what is known of all files.
	for _, p := range []probe{
		{"todo", object{"text": "call the harbour", "state": "done"}}, {"forget", object{"match": "velvet"}},
		{"check", object{"fix": true}}, {"check", object{"fix": true, "path": "vault:2026-02-05"}}, {"compact", object{}},
		{"compress", object{"dry_run": false}}, {"rebuild", object{}}, {"conflicts_merge", object{}}, {"note", object{"text": "vault: lantern"}},
		{"remember", object{"text": "the lantern is new", "evidence": []string{path}}}, {"sync", object{}},
	} {
		g.sendRequest(t, c, p.operation, mergeObjects(p.request, ownerInPrivate))
	}
	g.daemon.memory.watcher.VerifyNow()
	g.mustSend(t, c, "sync", ownerInPrivate)
	testkit.Must(t, g.stop())
	if diff := cmp.Diff(before, treeState(t, dir)); diff != "" {
		t.Errorf("the folder has changed:\n%s", diff)
	}
	for path := range treeState(t, main) {
		if strings.Contains(path, "vault:") {
			t.Errorf("%s was created", path)
		}
	}
}

// A blockedDisk is the disk of a folder whose walks end after its release.
type blockedDisk struct {
	*root
	release chan struct{}
}

// Walk implements [watcher.Disk].
func (d blockedDisk) Walk(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.release:
		return d.root.Walk(ctx, from, enter)
	}
}

// TestSlowRoot checks that nothing waits for a folder that is still being read, except
// answers that include it.
func TestSlowRoot(t *testing.T) {
	main, dir := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "v")
	writeTree(t, main, map[string]string{"a.md": "A zebra.\n"}, time.Now())
	writeTree(t, dir, map[string]string{"c.md": "A good zebra.\n"}, time.Now())
	release := make(chan struct{})
	g := &target{t: t, root: main, base: shortDir(t), beforeRun: func(d *daemon) {
		d.roots[1].watcher.Disk = blockedDisk{d.roots[1], release}
	}}
	g.startDaemon(func(c *config.Config, base string) {
		withFolders(config.Root{Name: "vault", Path: dir})(c, base)
		c.Tuning.SyncTimeout = 10 * time.Second
	})
	g.waitComplete()
	c := g.dial("s")
	synced := func(request object) bool {
		t.Helper()
		status, body := g.sendRequest(t, c, "search", mergeObjects(mergeObjects(object{"query": "zebra"}, request), ownerInPrivate))
		if status != http.StatusOK {
			t.Errorf("%v: %d %s", request, status, body)
		}
		return strings.Contains(body, `"synced":true`)
	}
	waitUntil(t, "the memory is searched", func() bool { return synced(object{"roots": []string{"memory"}}) })
	var group sync.WaitGroup // each of the requests waits as long as possible
	group.Go(func() {
		status, body := g.sendRequest(t, c, "forget", mergeObjects(object{"match": "okapi"}, ownerInPrivate))
		if status != http.StatusOK {
			t.Errorf("forget: %d %s", status, body)
		}
	})
	for _, request := range []object{{}, {"roots": []string{"vault"}}, {"roots": []string{"memory", "vault"}}} {
		group.Go(func() {
			if synced(request) {
				t.Errorf("%v: the answer is said to include all of the folder", request)
			}
		})
	}
	group.Wait()
	close(release)
	waitUntil(t, "the folder is searched", func() bool { return synced(object{}) })
	g.wantPaths(t, c, object{"query": "zebra"}, "a.md", "vault:c.md")
}
