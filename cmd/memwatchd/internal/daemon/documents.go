package daemon

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// cacheBytes bounds the estimated size of the cached documents, without the
// pinned ones: enough for the files that requests are about, and little compared
// with the index.
const cacheBytes = 16 << 20

// minCached documents are cached at any size. Otherwise a search that finds a file with
// tens of thousands of headings and another file would parse both each time.
const minCached = 4

// While a file is being written and no earlier version of it is known, load
// rereads it up to tries times, readRetryPause apart.
const (
	maxReads       = 4
	readRetryPause = 10 * time.Millisecond
)

// documents loads the current files, parsed, and caches the most recently used
// ones. While a file is being written, has just vanished or cannot be read,
// documents returns its last version: a half-written file is never returned. It
// is safe for concurrent use.
type documents struct {
	files *files
	parse func(vault.File) *memory.Document

	parses singleflight.Group // in progress

	mu     sync.Mutex
	cached map[string]*cachedDocument // by path, and the planned ones by plannedKey
	order  list.List                  // of those that may be evicted, most recently used first
	bytes  int                        // of these

	// invalidations counts the calls of drop. A file parsed before such a call
	// may have the wrong user or time and is not cached.
	invalidations int
}

type cachedDocument struct {
	key     string
	stamp   disk.Stamp
	modTime time.Time // of a planned document
	doc     *memory.Document
	size    int           // in memory, estimated
	element *list.Element // of order; nil for a pinned one
}

var contentSeed = maphash.MakeSeed()

// plannedKey returns the key of a document that was parsed for a change, before its file
// was written. The next changes of the file may be planned before it is read.
func plannedKey(file *vault.File) string {
	return fmt.Sprintf("%s\x00%x", file.Path, maphash.Bytes(contentSeed, file.Data))
}

const smallFile = 4 << 10 // bytes of a file that is parsed faster than it is looked for

// findPlanned returns the planned document for the content of a file, or nil.
func (d *documents) findPlanned(file *vault.File) *memory.Document {
	if file.Unstable || len(file.Data) < smallFile {
		return nil
	}
	k, ok := d.lookUp(plannedKey(file))
	if !ok || !bytes.Equal(k.doc.Source, file.Data) {
		return nil
	}
	// Entries without a time of their own have that of the file.
	if !k.modTime.Equal(file.ModTime) && slices.ContainsFunc(k.doc.Entries, func(e memory.Entry) bool {
		return e.Time.Equal(k.modTime)
	}) {
		return nil
	}
	return k.doc
}

// cachePlanned caches a document for findPlanned, with the number of invalidations before it
// was parsed.
func (d *documents) cachePlanned(file *vault.File, doc *memory.Document, invalidations int) {
	if !file.Unstable && len(file.Data) >= smallFile {
		d.cacheDocument(&cachedDocument{key: plannedKey(file), modTime: file.ModTime, doc: doc}, invalidations)
	}
}

// Load returns the current version of a file, or its last one. A file of which
// no version is known counts as missing.
func (d *documents) Load(path string) (*memory.Document, error) {
	k, known := d.lookUp(path)
	var err error
	// What a conflict copy adds depends on another file, too.
	if _, copied := memory.CopyOf(path); known && !copied {
		var stamp disk.Stamp
		r, below := d.files.find(path)
		stamp, err = r.Stat(below)
		if err == nil && k.stamp == stamp {
			return k.doc, nil
		}
	}
	invalidations := d.countInvalidations()
	var file vault.File
	for try := 0; err == nil; try++ {
		file, err = d.files.Read(path)
		if known || err != nil || !file.Unstable || try == maxReads {
			break
		}
		time.Sleep(readRetryPause) // no earlier version can be returned
	}
	switch {
	case err == nil && !file.Unstable:
		doc, _, _ := d.parses.Do(fmt.Sprint(path, file.Stamp), func() (any, error) { return d.parse(file), nil })
		k = &cachedDocument{key: path, stamp: file.Stamp, doc: doc.(*memory.Document)}
		d.cacheDocument(k, invalidations)
		return k.doc, nil
	case known && (err == nil || isTransient(err)):
		return k.lastVersion(err), nil
	}
	return nil, notExistError(path)
}

// isTransient reports whether the last version of a file may still be valid after
// err: editors move a file away before they rewrite it, and an unreadable file
// is not empty.
func isTransient(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || !vault.Absent(err)
}

// lastVersion returns the document, marked as stale if the file cannot be read.
// A file that is being written or missing for a moment does not make the
// document stale.
func (k *cachedDocument) lastVersion(err error) *memory.Document {
	if err == nil || vault.Absent(err) || errors.Is(err, vault.ErrChanging) {
		return k.doc
	}
	stale := *k.doc
	stale.Stale = true
	return &stale
}

func (d *documents) lookUp(key string) (*cachedDocument, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.cached[key]
	if ok && k.element != nil {
		d.order.MoveToFront(k.element)
	}
	return k, ok
}

func (d *documents) countInvalidations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.invalidations
}

// cacheDocument caches a complete file, unless files were invalidated since it was parsed.
func (d *documents) cacheDocument(k *cachedDocument, invalidations int) {
	k.size = k.doc.MemorySize()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.invalidations != invalidations {
		return
	}
	d.dropLocked(k.key)
	d.cached[k.key], k.element = k, d.order.PushFront(k)
	d.bytes += k.size
	for d.bytes > cacheBytes && d.order.Len() > minCached {
		d.dropLocked(d.order.Back().Value.(*cachedDocument).key)
	}
}

// pinVersion records a file that was indexed while still being written. Every
// reader gets this version.
func (d *documents) pinVersion(k *cachedDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(k.key)
	d.cached[k.key] = k
}

// dropFile removes a deleted file from the cache.
func (d *documents) dropFile(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(path)
}

// drop drops the files that are parsed differently now.
func (d *documents) drop(which func(path string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.invalidations++
	for key := range d.cached {
		if path, _, _ := strings.Cut(key, "\x00"); which(path) {
			d.dropLocked(key)
		}
	}
}

func (d *documents) dropLocked(key string) {
	k, ok := d.cached[key]
	if ok && k.element != nil {
		d.order.Remove(k.element)
		d.bytes -= k.size
	}
	delete(d.cached, key)
}

// notExistError returns the error for a file that cannot be loaded: the caller
// cannot distinguish it from a missing file.
func notExistError(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}
