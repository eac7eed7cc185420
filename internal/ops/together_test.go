package ops

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestPutsTogether checks that puts of one caller that wait for a change become one change,
// that each is answered with its own item or error, and that the last one of a key wins.
func TestPutsTogether(t *testing.T) {
	const path = "_longterms/owner/fact.md"
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte("---\nsubject_id: owner\n---\n- **key 3**: by hand\n")}}}).disk(t)
	c := d.callAs(t, "owner", "private")
	parse, waiting := d.memory.Parse, make(chan struct{})
	var once sync.Once
	d.memory.Parse = func(f vault.File) *memory.Document {
		once.Do(func() { <-waiting }) // in the first change
		return parse(f)
	}
	const puts = 20
	var done sync.WaitGroup
	put := func(key, value string) {
		done.Go(func() {
			a, err := d.memory.writeOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: key, Value: &value})
			if err != nil || a.Item.Key != key || a.Item.Value != value || a.Item.Line == 0 {
				t.Errorf("%s: %+v, %v", key, a, err)
			}
		})
	}
	q := &d.memory.waiting
	await := func(callers int) {
		for {
			q.mu.Lock()
			n := 0
			for _, f := range q.files {
				n += f.uses
			}
			q.mu.Unlock()
			if n == callers {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	put("first", "1")
	await(1)
	for i := range puts {
		put(fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	await(1 + puts)
	put("key 5", "another value")
	await(2 + puts)
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
	if n := len(d.memory.Writer.Journal.List(time.Time{}, "", 0)); n != 3 {
		t.Errorf("%d changes", n)
	}
	if len(q.files) != 0 {
		t.Errorf("files are waited for: %v", q.files)
	}
}
