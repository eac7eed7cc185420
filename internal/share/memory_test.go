package share

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

type memoryStore struct {
	mu       sync.Mutex
	objects  map[string]Object // by collection, tenant and id
	requests []string          // as JSON
	refuse   func(Object) string
	fail     error // result of every request
	hang     bool  // requests end with their context
	lose     bool  // objects are written, but answers are lost
	unlisted bool  // lists are empty
	answer   []Object
	puts     int
}

func (m *memoryStore) begin(ctx context.Context, request any) error {
	text, _ := json.Marshal(request)
	m.mu.Lock()
	m.requests = append(m.requests, string(text))
	hang, fail := m.hang, m.fail
	m.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return fail
}

func (m *memoryStore) Init(context.Context) error { return nil }

func (m *memoryStore) Ready(context.Context) error { return nil }

func keyIn(collection, tenant, id string) string { return collection + " " + tenant + " " + id }

func (m *memoryStore) Put(ctx context.Context, batch []Object) (refused []Refusal, err error) {
	if err := m.begin(ctx, batch); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts += len(batch)
	for _, o := range batch {
		k := keyIn(o.Collection, o.Tenant, o.ID)
		switch {
		case o.Delete:
			delete(m.objects, k)
		case m.refuse != nil && m.refuse(o) != "":
			refused = append(refused, Refusal{o.ID, m.refuse(o)})
		default:
			m.objects[k] = o
		}
	}
	if m.lose {
		return nil, errors.New("no answer")
	}
	return refused, nil
}

func (m *memoryStore) Search(ctx context.Context, q Query) (found []Object, err error) {
	if err := m.begin(ctx, q); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answer != nil {
		return m.answer, nil
	}
	counts := map[string]int{}
	for _, k := range slices.Sorted(maps.Keys(m.objects)) {
		o := m.objects[k]
		updated, _ := time.Parse(time.RFC3339, o.text("updated"))
		matches := q.Terms == "" || slices.ContainsFunc(strings.Fields(q.Terms), func(term string) bool {
			return slices.Contains(strings.Fields(o.text("terms")+" "+o.text("title_terms")), term)
		})
		if o.Gone() || o.text("host") == q.NotHost || !slices.Contains(q.Tenants, o.Tenant) || !matches ||
			!q.Since.IsZero() && updated.Before(q.Since) || !q.Until.IsZero() && updated.After(q.Until) ||
			counts[o.Collection+o.Tenant] == q.Limit {
			continue
		}
		counts[o.Collection+o.Tenant]++
		found = append(found, o)
	}
	return found, nil
}

func (m *memoryStore) Get(ctx context.Context, collection, tenant, id string) (Object, error) {
	if err := m.begin(ctx, []string{collection, tenant, id}); err != nil {
		return Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[keyIn(collection, tenant, id)]
	if !ok {
		return o, ErrNotFound
	}
	return o, nil
}

func (m *memoryStore) List(ctx context.Context, host string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := m.begin(ctx, host); err != nil {
			yield(Object{}, err)
			return
		}
		m.mu.Lock()
		objects := maps.Clone(m.objects)
		m.mu.Unlock()
		for _, k := range slices.Sorted(maps.Keys(objects)) {
			if o := objects[k]; !m.unlisted && o.text("host") == host && !yield(o, nil) {
				return
			}
		}
	}
}

// contents returns the text of the objects that are not tombstones, sorted.
func (m *memoryStore) contents() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.objects {
		if !o.Gone() {
			list = append(list, o.text("host")+" "+o.text("memory_id")+" "+o.text("content"))
		}
	}
	slices.Sort(list)
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
