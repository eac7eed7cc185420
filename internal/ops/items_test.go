package ops

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// put stores an item.
func put(t testing.TB, m *Memory, by api.Caller, namespace, key, value, visibility string) (*api.Item, error) {
	t.Helper()
	a, err := do[api.ItemAnswer](t, m, by, api.ItemPutRequest{Namespace: namespace, Key: key, Value: &value, Visibility: visibility})
	if err != nil {
		return nil, err
	}
	return a.Item, nil
}

// TestPutsTogether checks that puts of one caller that wait for a change become one change,
// that each is answered with its own item or error, and that the last one of a key wins.
func TestPutsTogether(t *testing.T) {
	const path, puts = "_longterms/owner/fact.md", 20
	d := newDisk(t, map[string]string{path: "---\nsubject_id: owner\n---\n- **key 3**: by hand\n"})
	parse, waiting := d.memory.Parse, make(chan struct{})
	var once sync.Once
	d.memory.Parse = func(f vault.File) *memory.Document {
		once.Do(func() { <-waiting }) // in the first change
		return parse(f)
	}
	var done sync.WaitGroup
	q, callers := &d.memory.waiting, 0
	start := func(key, value string) {
		callers++
		done.Go(func() {
			item, err := put(t, d.memory, owner, "fact", key, value, "")
			if err != nil || item.Key != key || item.Value != value || item.Line == 0 {
				t.Errorf("%s: %+v, %v", key, item, err)
			}
		})
		for n := 0; n < callers; time.Sleep(time.Millisecond) { // it waits
			q.mu.Lock()
			n = 0
			for _, f := range q.files {
				n += f.uses
			}
			q.mu.Unlock()
		}
	}
	start("first", "1")
	for i := range puts {
		start(fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	start("key 5", "another value")
	close(waiting)
	done.Wait()
	text := d.read(t, path)
	for i := range puts {
		want := fmt.Sprintf("- **key %d**: value %d ", i, i)
		if i == 5 {
			want = "- **key 5**: another value "
		}
		if strings.Count(text, fmt.Sprintf("**key %d**", i)) != 1 || !strings.Contains(text, want) {
			t.Errorf("no %q, or not once, in\n%s", want, text)
		}
	}
	if n := len(d.memory.Writer.Journal.List(time.Time{}, "", 0)); n != 3 || len(q.files) != 0 {
		t.Errorf("%d changes; files are waited for: %v", n, q.files)
	}
}
