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

// cacheBytes is how much text of parsed files is kept: enough for the files
// that questions are about, and little beside the index.
const cacheBytes = 12 << 20

// A file of which no earlier version is known is read so often again, after so
// long, if it is being written.
const (
	tries    = 4
	tryAgain = 10 * time.Millisecond
)

// documents gives files as they are now, parsed, and keeps the last ones. While
// a file is being written, has vanished a moment ago or cannot be read, it is
// given as it last was: what is half done is shown to nobody. It is safe for
// concurrent use.
type documents struct {
	vault *vault.Vault
	parse func(vault.File) *memory.Document

	mu    sync.Mutex
	kept  map[string]*list.Element // of *keptDocument
	order list.List                // most recently used first
	bytes int
	taken map[string]*keptDocument // read although they were being written, because they are written without pause

	// forgotten counts the calls of forget. A file that was parsed before one of
	// them may have been given to the wrong user, and is not kept.
	forgotten int
}

type keptDocument struct {
	path  string
	stamp memory.Stamp
	hash  [sha256.Size]byte
	doc   *memory.Document
}

// Stamp is what a file looks like now.
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

// Load is a file as it is now, or as it last was. A file of which nothing is
// known counts as missing.
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
		time.Sleep(tryAgain) // there is nothing else to show of it
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

// lasting reports whether, with this error, a file may still be what it was:
// editors move it away before they write it anew, and what cannot be read is
// not empty.
func lasting(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || !vault.Absent(err)
}

// last is the document, marked as stale if the file cannot be read. That it
// is being written, or gone for a moment, is no more than work under way.
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

// keep keeps a file that has settled.
func (d *documents) keep(k *keptDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepLocked(k)
}

func (d *documents) keepLocked(k *keptDocument) {
	d.forgetLocked(k.path)
	if d.kept == nil {
		d.kept = map[string]*list.Element{}
	}
	d.kept[k.path] = d.order.PushFront(k)
	d.bytes += cost(k)
	for d.bytes > cacheBytes && d.order.Len() > 1 {
		d.forgetLocked(d.order.Back().Value.(*keptDocument).path)
	}
}

// take keeps a file that was indexed although it had not settled: that is what
// it is for everybody now.
func (d *documents) take(k *keptDocument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(k.path)
	if d.taken == nil {
		d.taken = map[string]*keptDocument{}
	}
	d.taken[k.path] = k
}

// cost is roughly what a parsed file takes, with its excerpt.
func cost(k *keptDocument) int {
	n := 1024
	for _, doc := range []*memory.Document{k.doc, k.doc.Excerpt()} {
		if doc != nil {
			n += 3*len(doc.Source) + 512*len(doc.Entries)
		}
	}
	return n
}

// drop forgets a file that is gone.
func (d *documents) drop(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(path)
}

// forget drops the files below a directory: they belong to another user now.
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

// missing is what those who ask for files are told of one that may not be read:
// it is not there.
func missing(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}
