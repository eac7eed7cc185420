package ops

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// cachedFiles parses each version of a file once, as the daemon does.
type cachedFiles struct {
	*diskCase
	mu    sync.Mutex
	stamp map[string]memory.Stamp
	docs  map[string]*memory.Document
}

func (f *cachedFiles) Load(path string) (*memory.Document, error) {
	stamp, err := f.vault.Stat(path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stamp[path] != stamp {
		f.docs[path], err = f.diskCase.Load(path)
		if err != nil {
			return nil, err
		}
		f.stamp[path] = stamp
	}
	return f.docs[path], nil
}

// BenchmarkItems measures item operations on a subject with a thousand items in
// one namespace, every tenth of them public. It also measures the parts of a
// put: reading the text, and writing it safely, which is mostly waiting for the
// disk.
func BenchmarkItems(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		visibility := "private_only"
		if i%10 == 0 {
			visibility = "public_ok"
		}
		fmt.Fprintf(&text, "- **key_%d**: what is remembered of something <!-- id=i%d visibility=%s confidence=0.9 source=msg:%d created=2026-01-01T00:00:00Z updated=2026-01-01T00:00:00Z -->\n", i, i, visibility, i)
	}
	// A file that has just changed is rechecked before its next change. With
	// this many subjects each recheck is over by then.
	const subjects = 16
	subject := func(n int) string { return fmt.Sprintf("acct:%d", n%subjects) }
	source := func(n int) []byte { return append(memory.NewItems(subject(n)), text.String()...) }
	archive := &txtar.Archive{}
	for n := range subjects {
		archive.Files = append(archive.Files, txtar.File{Name: itemPath(subject(n), "fact"), Data: source(n)})
	}
	d := readOpsCase(b, archive).disk(b)
	d.memory.Files = &cachedFiles{diskCase: d, stamp: map[string]memory.Stamp{}, docs: map[string]*memory.Document{}}
	d.memory.Scopes = d.opsRoot
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(b.Context())
	go func() { ended <- d.memory.Writer.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	private, public := d.callAs(b, subject(0), "private"), d.callAs(b, subject(0), "public")
	path := itemPath(subject(0), "fact")
	for name, c := range map[string]Call{"private": private, "public": public} {
		b.Run("get/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.memory.adminOps().itemGet(b.Context(), c, &api.ItemGetRequest{Namespace: "fact", Key: "key_500"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("list/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.memory.adminOps().itemList(b.Context(), c, &api.ItemListRequest{Limit: 50}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	n := 0
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			n++
			c := Call{Scope: memory.Scope{Subject: subject(n), Context: memory.Private}}
			if err := d.memory.readOps().renewView(&c); err != nil {
				b.Fatal(err)
			}
			if _, err := d.memory.adminOps().itemPut(b.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "key_500", Value: new(fmt.Sprint(n))}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part/parse", func(b *testing.B) {
		for b.Loop() {
			d.parse(vault.File{Path: path, Data: source(0)})
		}
	})
	doc := d.parse(vault.File{Path: path, Data: source(0)})
	b.Run("part/revise", func(b *testing.B) { // without parsing
		after := doc
		for b.Loop() {
			r := doc.Revise()
			put := &itemEdit{m: d.memory.writeOps(), call: private, request: &api.ItemPutRequest{Namespace: "fact"}, value: "x", name: itemName{"fact", "key_500"}}
			if err := put.insertItem(doc, r); err != nil {
				b.Fatal(err)
			}
			if _, err := r.Apply(func(source []byte) *memory.Document {
				if len(source) < 1000 {
					return d.parse(vault.File{Path: path, Data: source}) // the item alone
				}
				if after == doc {
					after = d.parse(vault.File{Path: path, Data: source})
				}
				return after
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part/write", func(b *testing.B) {
		for b.Loop() {
			n++
			if _, err := d.memory.Writer.Write(b.Context(), vault.Change{Path: itemPath(subject(n), "fact"), Cause: "bench", Requested: true, Edit: func(*vault.File) ([]byte, error) {
				return fmt.Appendf(source(n), "- **n**: %d\n", n), nil
			}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
