package meaning

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/memory"
)

type fakeIndex struct {
	mu    sync.Mutex
	files map[string]*memory.Document
	order []string // most recently changed first
}

func (x *fakeIndex) Load(path string) (*memory.Document, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if doc := x.files[path]; doc != nil {
		return doc, nil
	}
	return nil, fs.ErrNotExist
}

func (x *fakeIndex) FileTexts(path string) (list []index.TextRef) {
	if doc, err := x.Load(path); err == nil {
		for t := range index.Texts(doc) {
			list = append(list, t.TextRef)
		}
	}
	return list
}

func (x *fakeIndex) all() map[memory.Partition]map[index.TextKey]bool {
	x.mu.Lock()
	paths := slices.Collect(maps.Keys(x.files))
	x.mu.Unlock()
	found := map[memory.Partition]map[index.TextKey]bool{}
	for _, path := range paths {
		for _, t := range x.FileTexts(path) {
			if found[t.Partition] == nil {
				found[t.Partition] = map[index.TextKey]bool{}
			}
			found[t.Partition][t.Key] = true
		}
	}
	return found
}

func (x *fakeIndex) HasText(t index.TextRef) bool { return x.all()[t.Partition][t.Key] }

func (x *fakeIndex) CountTexts() map[memory.Partition]int {
	counts := map[memory.Partition]int{}
	for p, keys := range x.all() {
		counts[p] = len(keys)
	}
	return counts
}

func (x *fakeIndex) FilesLacking(has func(index.TextRef) bool) (paths []string) {
	x.mu.Lock()
	order := slices.Clone(x.order)
	x.mu.Unlock()
	for _, path := range order {
		lacks := false
		for _, t := range x.FileTexts(path) {
			lacks = !has(t) || lacks
		}
		if lacks {
			paths = append(paths, path)
		}
	}
	return paths
}

type world struct {
	*Embedder
	t      *testing.T
	index  *fakeIndex
	server *llmtest.Server
	stop   func()
}

// newWorld returns a world that is not started.
func newWorld(t *testing.T) *world {
	w := &world{t: t, index: &fakeIndex{files: map[string]*memory.Document{}}, server: llmtest.NewServer(t)}
	w.Embedder = &Embedder{
		Dir: filepath.Join(t.TempDir(), "vectors"), Index: w.index, Load: w.index.Load, Batch: 8,
		QueryTimeout: 10 * time.Second, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Client: &llm.Client{Endpoint: w.server.URL, Model: "m"},
	}
	return w
}

// start opens the embedder and runs it until stop, or the end of the test.
func (w *world) start() *world {
	w.t.Helper()
	if err := w.Open(); err != nil {
		w.t.Fatal(err)
	}
	w.pause = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() { w.stop() })
	return w
}

// restart stops the embedder and starts another one with the same directory.
func (w *world) restart(change func(*Embedder)) {
	w.t.Helper()
	w.stop()
	old := w.Embedder
	client := &llm.Client{Endpoint: old.Client.Endpoint, Model: old.Client.Model}
	w.Embedder = &Embedder{Dir: old.Dir, Client: client, TextPrefix: old.TextPrefix, QueryPrefix: old.QueryPrefix,
		Index: old.Index, Load: old.Load, Private: old.Private, Batch: old.Batch,
		QueryTimeout: old.QueryTimeout, Now: old.Now, Logger: old.Logger}
	change(w.Embedder)
	w.start()
}

// save writes a file of the owner; an empty text removes it.
func (w *world) save(path, text string) {
	w.index.mu.Lock()
	w.index.order = slices.DeleteFunc(w.index.order, func(p string) bool { return p == path })
	delete(w.index.files, path)
	if text != "" {
		layout := memory.Layout{Owner: "owner"}
		w.index.files[path] = layout.Parse(path, []byte(text), memory.Meta{ModTime: time.Now()})
		w.index.order = slices.Insert(w.index.order, 0, path)
	}
	w.index.mu.Unlock()
	if w.stop != nil {
		w.Changed(path, true)
	}
}

// public returns a public file with the lines as entries.
func public(lines ...string) string {
	return "---\nvisibility: public_ok\n---\n\n- " + strings.Join(lines, "\n- ") + "\n"
}

// await waits until a condition holds.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited for %s: %+v", what, w.Status())
		}
	}
}

func (w *world) awaitDone() {
	w.t.Helper()
	w.await("all vectors", func() bool { s := w.Status(); return s.Pending == 0 })
}

// sent returns the texts that were sent since the last call.
func (w *world) sent() []string {
	texts := w.server.Texts()
	w.server.Reset()
	return texts
}

// vectors returns the number of stored vectors.
func (w *world) vectors() (n int) {
	for _, p := range w.listPartitions() {
		n += p.len()
	}
	return n
}

// find returns the nearest text to a query.
func (w *world) find(query string) string {
	w.t.Helper()
	nearest, err := w.Query(w.t.Context(), query, false)
	if err != nil {
		w.t.Fatal(err)
	}
	best, bestText := float32(-1), ""
	for p, keys := range w.index.all() {
		for _, hit := range nearest(p, 1, func(k index.TextKey) bool { return keys[k] }) {
			if hit.Cosine > best {
				best, bestText = hit.Cosine, w.textOf(p, hit.Key)
			}
		}
	}
	return bestText
}

func (w *world) textOf(p memory.Partition, key index.TextKey) string {
	for _, doc := range w.index.files {
		for t := range index.Texts(doc) {
			if t.Partition == p && t.Key == key {
				return t.Text
			}
		}
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
