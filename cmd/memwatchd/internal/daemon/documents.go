package daemon

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// cacheBytes bounds the estimated size of the cached documents, without the
// pinned ones: enough for the files that requests are about, and little compared
// with the index.
const cacheBytes = 16 << 20

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
	cached map[string]*list.Element // of *cachedDocument
	order  list.List                // most recently used first
	bytes  int
	pinned map[string]*cachedDocument // indexed while still being written, because the writing does not pause

	parsed []parsedFile // for changes; newest first

	// invalidations counts the calls of drop. A file parsed before such a call
	// may have the wrong user or time and is not cached.
	invalidations int
}

// A parsedFile is a document that was parsed before its file was written.
type parsedFile struct {
	modTime       time.Time
	doc           *memory.Document
	size          int
	invalidations int // before it was parsed
}

const smallFile = 4 << 10 // bytes of a file that is parsed faster than it is looked for

// findParsed returns the document that was recorded for the content of a file, or nil.
func (d *documents) findParsed(file *vault.File) *memory.Document {
	if file.Unstable || len(file.Data) < smallFile {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.parsed {
		if k.invalidations == d.invalidations && k.doc.Place.Path == file.Path &&
			bytes.Equal(k.doc.Source, file.Data) &&
			// Entries without a time of their own have that of the file.
			(k.modTime.Equal(file.ModTime) || !slices.ContainsFunc(k.doc.Entries, func(e memory.Entry) bool {
				return e.Time.Equal(k.modTime)
			})) {
			return k.doc
		}
	}
	return nil
}

// recordParsed records a document for findParsed, with the number of invalidations before it
// was parsed. It keeps the last documents, within the size of the cache.
func (d *documents) recordParsed(file *vault.File, doc *memory.Document, invalidations int) {
	if file.Unstable || len(file.Data) < smallFile {
		return
	}
	k := parsedFile{file.ModTime, doc, doc.MemorySize(), invalidations}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parsed = slices.Insert(slices.DeleteFunc(d.parsed, func(old parsedFile) bool { return old.doc == doc }), 0, k)
	size := 0
	for i, k := range d.parsed {
		size += k.size
		if i > 0 && size > cacheBytes {
			d.parsed = d.parsed[:i]
			break
		}
	}
}

type cachedDocument struct {
	path  string
	stamp memory.Stamp
	doc   *memory.Document
	size  int // in memory, estimated; set when it is cached
}

// Load returns the current version of a file, or its last one. A file of which
// no version is known counts as missing.
func (d *documents) Load(path string) (*memory.Document, error) {
	k, known := d.lookUp(path)
	var err error
	// What a conflict copy adds depends on another file, too.
	if _, copied := memory.CopyOf(path); known && !copied {
		var stamp memory.Stamp
		stamp, err = d.files.Stat(path)
		if err == nil && k.stamp == stamp {
			return k.doc, nil
		}
	}
	d.mu.Lock()
	forgotten := d.invalidations
	d.mu.Unlock()
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
		k = &cachedDocument{path: path, stamp: file.Stamp, doc: doc.(*memory.Document)}
		k.size = k.doc.MemorySize()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.invalidations == forgotten {
			d.cacheLocked(k)
		}
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

func (d *documents) lookUp(path string) (*cachedDocument, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := d.pinned[path]; ok {
		return k, true
	}
	e, ok := d.cached[path]
	if !ok {
		return nil, false
	}
	d.order.MoveToFront(e)
	return e.Value.(*cachedDocument), true
}

// cacheDocument caches a complete file.
func (d *documents) cacheDocument(k *cachedDocument) {
	k.size = k.doc.MemorySize()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cacheLocked(k)
}

func (d *documents) cacheLocked(k *cachedDocument) {
	d.dropLocked(k.path)
	d.cached[k.path] = d.order.PushFront(k)
	d.bytes += k.size
	for d.bytes > cacheBytes && d.order.Len() > 1 {
		d.dropLocked(d.order.Back().Value.(*cachedDocument).path)
	}
}

// pinVersion records a file that was indexed while still being written. Every
// reader gets this version.
func (d *documents) pinVersion(k *cachedDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(k.path)
	d.pinned[k.path] = k
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
	for _, paths := range []iter.Seq[string]{maps.Keys(d.cached), maps.Keys(d.pinned)} {
		for path := range paths {
			if which(path) {
				d.dropLocked(path)
			}
		}
	}
}

func (d *documents) dropLocked(path string) {
	delete(d.pinned, path)
	if e, ok := d.cached[path]; ok {
		d.order.Remove(e)
		delete(d.cached, path)
		d.bytes -= e.Value.(*cachedDocument).size
	}
}

// notExistError returns the error for a file that cannot be loaded: the caller
// cannot distinguish it from a missing file.
func notExistError(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}
