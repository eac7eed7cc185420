package ops

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/share"
	"github.com/memwatchd/memwatchd/memory"
)

// hits returns hits of which the first ones are the best and newest.
func hits(prefix string, n int) (list []index.Hit) {
	for i := range n {
		doc := &memory.Document{Place: memory.Place{Path: fmt.Sprint(prefix, i)}, Entries: make([]memory.Entry, 1)}
		list = append(list, index.Hit{Doc: doc, Entry: &doc.Entries[0], Score: float64(n - i), Time: time.Unix(int64(100*(n-i)), 0)})
	}
	return list
}

func paths(list []index.Hit) []string {
	return convertEach(list, func(h index.Hit) string { return h.Doc.Place.Path })
}

// TestMergedPages checks that pages of merged hits are parts of one order, without
// gaps and repetitions, in every mode.
func TestMergedPages(t *testing.T) {
	for _, mode := range []index.Mode{index.Relevance, index.Overlap, index.Recent} {
		for _, sizes := range [][2]int{{7, 3}, {3, 7}, {0, 4}, {4, 0}, {0, 0}} {
			local, other := hits("local", sizes[0]), hits("other:", sizes[1])
			page := func(offset, limit int) index.Result {
				first := index.Result{Hits: local[:min(offset+limit, len(local))], Total: len(local)}
				if len(local) > offset+limit {
					first.Next = offset + limit
				}
				return mergeResults(&index.Query{Mode: mode, Offset: offset, Limit: limit}, first,
					index.Result{Hits: slices.Clone(other), Total: len(other)})
			}
			all := page(0, 100)
			if all.Total != sizes[0]+sizes[1] || len(all.Hits) != all.Total || all.Next != 0 {
				t.Errorf("%v %v: total %d, %d hits, next %d", mode, sizes, all.Total, len(all.Hits), all.Next)
			}
			r := page(0, 2)
			got := r.Hits
			for r.Next > 0 {
				r = page(r.Next, 2)
				got = append(got, r.Hits...)
			}
			if diff := cmp.Diff(paths(all.Hits), paths(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v %v: pages (-whole +pages):\n%v", mode, sizes, diff)
			}
		}
	}
	merged := mergeResults(&index.Query{Limit: 10, ByFile: true}, index.Result{Hits: hits("local", 2)},
		index.Result{Hits: slices.Concat(hits("other:", 1), hits("other:", 2))})
	if diff := cmp.Diff([]string{"local0", "other:0", "local1", "other:1"}, paths(merged.Hits)); diff != "" {
		t.Errorf("best entries of files (-want +got):\n%s", diff)
	}
}

// idlePublisher stands for a store without entries.
type idlePublisher struct{}

func (idlePublisher) Status() api.ShareStatusAnswer { return api.ShareStatusAnswer{} }

func (idlePublisher) Plan(context.Context, func(memory.Partition) bool) (*api.SharePlan, error) {
	return &api.SharePlan{}, nil
}

func (idlePublisher) Push(context.Context, string) (share.Comparison, error) {
	return share.Comparison{}, nil
}

func (idlePublisher) ForgetHost(context.Context, string) (int, error) { return 0, nil }

// TestLastMergedPage checks that pages skip no hits of this machine where those of other
// machines end.
func TestLastMergedPage(t *testing.T) {
	for _, c := range []struct{ offset, other, next int }{
		{850, 3, 950}, {900, 3, 0}, {950, 3, 0}, {900, 0, 1000}, {950, 0, 1050},
	} {
		local := index.Result{Hits: hits("local", c.offset+100), Next: c.offset + 100}
		got := mergeResults(&index.Query{Offset: c.offset, Limit: 100}, local, index.Result{Hits: hits("other:", c.other)})
		if got.Next != c.next || len(got.Hits) != 100 {
			t.Errorf("offset %d, %d hits of others: next %d, want %d", c.offset, c.other, got.Next, c.next)
		}
	}
	m := readOps{Reading: &Reading{Layout: new(memory.Layout), Index: newDisk(t, nil).memory.Index, Shared: &share.Reader{Store: emptyStore{}, Breaker: new(share.Breaker),
		Timeout: 20 * time.Second, Terms: func(q index.Query) string { return q.Text }}}}
	view, err := new(memory.Directories).View(memory.Scope{Subject: "alice", Context: memory.Private})
	checkError(t, err)
	for offset, want := range map[int]string{0: "included", 950: "included", 1000: ""} {
		_, state, err := m.searchAll(t.Context(), Call{View: view}, index.Query{Text: "bike", Offset: offset, Limit: 100})
		if err != nil || state != want {
			t.Errorf("offset %d: entries of other machines are %q, want %q; %v", offset, state, want, err)
		}
	}
}

// An emptyStore is a [share.Store] without objects.
type emptyStore struct{ share.Store }

func (emptyStore) Search(context.Context, share.Query) ([]share.Object, error) { return nil, nil }
