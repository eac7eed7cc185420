package daemon

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// cacheBytes bounds the estimated size of the cached documents: enough for the
// files that requests are about, and little beside the index.
const cacheBytes = 12 << 20

// While a file is being written and no earlier version of it is known, load
// rereads it up to tries times, tryAgain apart.
const (
	tries    = 4
	tryAgain = 10 * time.Millisecond
)

// documents loads the current files, parsed, and caches the most recently used
// ones. While a file is being written, has just vanished or cannot be read,
// documents returns its last version: a half-written file is never returned. It
// is safe for concurrent use.
type documents struct {
	vault *vault.Vault
	parse func(vault.File) *memory.Document

	mu    sync.Mutex
	kept  map[string]*list.Element // of *keptDocument
	order list.List                // most recently used first
	bytes int
	taken map[string]*keptDocument // indexed while still being written, because the writing does not pause

	// forgotten counts the calls of forget. A file parsed before such a call
	// may be attributed to the wrong user and is not cached.
	forgotten int
}

type keptDocument struct {
	path  string
	stamp memory.Stamp
	hash  [sha256.Size]byte
	doc   *memory.Document
}

// Stamp returns the current stamp of a file, or the last known one while the
// file is missing or unreadable for a moment.
func (d *documents) Stamp(path string) (memory.Stamp, error) {
	stamp, err := d.vault.Stat(path)
	if err == nil {
		return stamp, nil
	}
	if k, ok := d.lookUp(path); ok && lasting(err) {
		return k.stamp, nil
	}
	return memory.Stamp{}, missing(path)
}

// Load returns the current version of a file, or its last one. A file of which
// no version is known counts as missing.
func (d *documents) Load(path string) (*memory.Document, error) {
	doc, _, err := d.load(path)
	return doc, err
}

// load is Load with the hash of the file's bytes.
func (d *documents) load(path string) (*memory.Document, [sha256.Size]byte, error) {
	stamp, err := d.vault.Stat(path)
	k, known := d.lookUp(path)
	if err == nil && known && k.stamp == stamp {
		return k.doc, k.hash, nil
	}
	d.mu.Lock()
	forgotten := d.forgotten
	d.mu.Unlock()
	var file vault.File
	for try := 0; err == nil; try++ {
		file, err = d.vault.Read(path)
		if known || err != nil || !file.Unsettled || try == tries {
			break
		}
		time.Sleep(tryAgain) // no earlier version can be returned
	}
	switch {
	case err == nil && !file.Unsettled:
		k = &keptDocument{path, file.Stamp, sha256.Sum256(file.Data), d.parse(file)}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.forgotten == forgotten {
			d.keepLocked(k)
		}
		return k.doc, k.hash, nil
	case known && (err == nil || lasting(err)):
		return k.last(err), k.hash, nil
	}
	return nil, [sha256.Size]byte{}, missing(path)
}

// lasting reports whether the last version of a file may still be valid after
// err: editors move a file away before they rewrite it, and an unreadable file
// is not empty.
func lasting(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || !vault.Absent(err)
}

// last returns the document, marked as stale if the file cannot be read. A file
// that is being written or missing for a moment does not make the document
// stale.
func (k *keptDocument) last(err error) *memory.Document {
	if err == nil || vault.Absent(err) || errors.Is(err, vault.ErrChanging) {
		return k.doc
	}
	stale := *k.doc
	stale.Stale = true
	return &stale
}

func (d *documents) lookUp(path string) (*keptDocument, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := d.taken[path]; ok {
		return k, true
	}
	e, ok := d.kept[path]
	if !ok {
		return nil, false
	}
	d.order.MoveToFront(e)
	return e.Value.(*keptDocument), true
}

// keep caches a complete file.
func (d *documents) keep(k *keptDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepLocked(k)
}

func (d *documents) keepLocked(k *keptDocument) {
	d.forgetLocked(k.path)
	d.kept[k.path] = d.order.PushFront(k)
	d.bytes += cost(k)
	for d.bytes > cacheBytes && d.order.Len() > 1 {
		d.forgetLocked(d.order.Back().Value.(*keptDocument).path)
	}
}

// take records a file that was indexed while still being written. Every reader
// gets this version.
func (d *documents) take(k *keptDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(k.path)
	d.taken[k.path] = k
}

// cost estimates the bytes that a parsed file and its excerpt occupy.
func cost(k *keptDocument) int {
	n := 1024
	for _, doc := range []*memory.Document{k.doc, k.doc.Excerpt()} {
		if doc != nil {
			n += 3*len(doc.Source) + 512*len(doc.Entries)
		}
	}
	return n
}

// drop removes a deleted file from the cache.
func (d *documents) drop(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(path)
}

// forget drops the files below a directory that now belongs to another user.
func (d *documents) forget(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgotten++
	for _, paths := range []iter.Seq[string]{maps.Keys(d.kept), maps.Keys(d.taken)} {
		for path := range paths {
			if strings.HasPrefix(path, dir+"/") {
				d.forgetLocked(path)
			}
		}
	}
}

func (d *documents) forgetLocked(path string) {
	delete(d.taken, path)
	if e, ok := d.kept[path]; ok {
		d.order.Remove(e)
		delete(d.kept, path)
		d.bytes -= cost(e.Value.(*keptDocument))
	}
}

// missing returns the error for a file that cannot be loaded: the caller cannot
// distinguish it from a missing file.
func missing(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}
