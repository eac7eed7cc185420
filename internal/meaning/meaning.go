// Package meaning keeps the vectors of the texts of memory up to date and compares
// queries with them.
//
// An [Embedder] requests the vector of each text once from an embeddings endpoint
// and stores it by the text's partition and key, so that moved or restored text
// is not sent again. If the model changes, all texts are sent again.
package meaning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
)

// An Index knows the present texts.
type Index interface {
	HasText(t index.TextRef) bool
	FileTexts(path string) []index.TextRef
	FilesLacking(has func(index.TextRef) bool) []string
	CountTexts() map[memory.Partition]int
}

// An Embedder keeps the vectors of the texts in an index. Its exported fields must
// not change after [Embedder.Open].
type Embedder struct {
	Dir         string      // of the vectors
	Client      *llm.Client // of the endpoint
	TextPrefix  string      // of the texts that are sent
	QueryPrefix string
	Index       Index
	Load        func(path string) (*memory.Document, error)

	Private      bool          // private texts and queries are sent, too
	Batch        int           // maximum number of texts of a request
	QueryTimeout time.Duration // maximum time to wait for the vector of a query
	Now          func() time.Time
	Logger       *slog.Logger

	comparing sync.Mutex // serializes the comparisons of index and vectors
	storing   sync.Mutex // held while files of vectors appear, change or go

	mu         sync.Mutex // guards the following fields; not held while the index is called
	space      space
	partitions map[memory.Partition]*partitionFile
	missing    map[memory.Partition]map[index.TextKey]bool // present texts without a vector
	rejected   map[index.TextRef]bool                      // texts that the model rejects, or that are never sent
	queue      queue
	failures   int           // consecutive ones
	resume     time.Time     // no request before
	pause      time.Duration // after the first failure
	problem    string        // last error
	problemAt  time.Time

	wake    chan struct{} // there may be work
	queries queries
}

// A space describes the stored vectors.
type space struct {
	Version    int    `json:"version"`
	Model      string `json:"model"`
	TextPrefix string `json:"text_prefix"`
	Dimensions int    `json:"dimensions"` // 0 before the first response
}

const (
	spaceName    = "space.json"
	spaceVersion = 1
)

// Open opens the vectors in the directory. It removes those of another model.
// Texts are not sent before [Embedder.Run]. After an error, the embedder is closed.
func (e *Embedder) Open() error {
	e.partitions, e.rejected = map[memory.Partition]*partitionFile{}, map[index.TextRef]bool{}
	e.wake, e.pause, e.queue.size = make(chan struct{}, 1), time.Second, max(e.Batch, 1)
	e.queries.open()
	err := state.PrivateDir(e.Dir)
	if err == nil {
		err = e.openVectors()
	}
	if err != nil {
		e.Close()
		return err
	}
	e.compareTexts()
	return nil
}

// openVectors opens the stored vectors. It removes those of another model or version.
func (e *Embedder) openVectors() error {
	want := space{Version: spaceVersion, Model: e.Client.Model, TextPrefix: e.TextPrefix}
	path := filepath.Join(e.Dir, spaceName)
	if err := state.Load(path, spaceVersion, &e.space); err == nil {
		want.Dimensions = e.space.Dimensions
	} else if _, there := os.Lstat(path); there == nil {
		return err // it cannot be read now
	}
	if e.space != want || want.Dimensions < 1 || want.Dimensions > maxDimensions {
		want.Dimensions = 0
		e.space = want
		return e.removeFiles(nil)
	}
	paths, err := state.Glob(e.Dir, "*"+vectorExt)
	if err != nil {
		return err
	}
	for _, path := range paths {
		p, err := openPartition(path, e.space.Dimensions)
		if errors.Is(err, errDamaged) {
			e.Logger.Warn("a damaged file of vectors is removed", "path", path)
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
		if p != nil {
			e.partitions[p.of] = p
		}
	}
	return e.removeFiles(paths)
}

// removeFiles removes the files of vectors in the directory except those in keep.
func (e *Embedder) removeFiles(keep []string) error {
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(e.Dir, entry.Name())
		ext := filepath.Ext(path)
		if (ext == vectorExt || ext == state.TempSuffix) && !slices.Contains(keep, path) {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// setDimensions records the number of dimensions of the vectors that the model
// returns. If there are others, of a model that had the same name, it removes them,
// and all texts are sent again.
func (e *Embedder) setDimensions(n int) error {
	e.storing.Lock()
	e.mu.Lock()
	same, first := e.space.Dimensions == n, e.space.Dimensions == 0
	old := e.partitions
	if !same {
		e.space.Dimensions, e.partitions = n, map[memory.Partition]*partitionFile{}
	}
	saved := e.space
	e.mu.Unlock()
	var err error
	if !same {
		for _, p := range old {
			err = errors.Join(err, p.drop())
		}
		err = errors.Join(err, state.Save(filepath.Join(e.Dir, spaceName), saved))
	}
	e.storing.Unlock()
	if !same && !first {
		e.Logger.Info("the model returns other vectors, all texts are embedded again", "dimensions", n)
		e.queries.forget()
		e.compareTexts()
	}
	return err
}

// Run sends texts until the context ends. It closes the vectors when it returns.
func (e *Embedder) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		e.mu.Lock()
		wait := time.Until(e.resume)
		e.mu.Unlock()
		if wait <= 0 {
			if b := e.takeBatch(); len(b) > 0 {
				e.embedBatch(ctx, b)
				continue
			}
			wait = time.Hour
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-time.After(wait):
		}
	}
	e.Close()
	return ctx.Err()
}

// Close ends queries in flight and closes the vectors.
func (e *Embedder) Close() {
	e.queries.close()
	e.storing.Lock()
	defer e.storing.Unlock()
	for _, p := range e.listPartitions() {
		p.close()
	}
}

func (e *Embedder) listPartitions() []*partitionFile {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.partitions))
}

func (e *Embedder) mayEmbed(p memory.Partition) bool {
	return e.Private || p.Visibility == memory.PublicOK
}

// lacksLocked reports whether there is no vector of a text that may be sent.
func (e *Embedder) lacksLocked(t index.TextRef) bool {
	p := e.partitions[t.Partition]
	return e.mayEmbed(t.Partition) && !e.rejected[t] && (p == nil || !p.has(t.Key))
}

func (e *Embedder) addMissingLocked(t index.TextRef) {
	if e.missing[t.Partition] == nil {
		e.missing[t.Partition] = map[index.TextKey]bool{}
	}
	e.missing[t.Partition][t.Key] = true
}

// Changed records that the index has another version of a file, or none. Its texts
// are sent next if it was just saved.
func (e *Embedder) Changed(path string, saved bool) {
	e.comparing.Lock()
	defer e.comparing.Unlock()
	texts := e.Index.FileTexts(path)
	e.mu.Lock()
	lacks := false
	for _, t := range texts {
		if e.lacksLocked(t) {
			e.addMissingLocked(t)
			lacks = true
		}
	}
	if lacks {
		e.queue.add(path, saved)
	}
	e.mu.Unlock()
	e.pruneMissing(maxPruned)
	e.wakeUp()
}

func (e *Embedder) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// maxPruned is the number of missing texts up to which a change removes those that
// are gone. With more, the number of pending texts is not exact for a while.
const maxPruned = 1000

// pruneMissing removes the texts that are gone from the missing ones, if they are not
// more than a number.
func (e *Embedder) pruneMissing(most int) {
	var list []index.TextRef
	e.mu.Lock()
	if e.countMissingLocked() <= most {
		for p, keys := range e.missing {
			for key := range keys {
				list = append(list, index.TextRef{Partition: p, Key: key})
			}
		}
	}
	e.mu.Unlock()
	list = slices.DeleteFunc(list, e.Index.HasText)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range list {
		delete(e.missing[t.Partition], t.Key)
	}
}

func (e *Embedder) countMissingLocked() (n int) {
	for _, keys := range e.missing {
		n += len(keys)
	}
	return n
}

// Rescan compares all texts of the index with the vectors, once every file has been
// compared with the index. It removes the vectors of texts that are gone if there are
// many; until then they wait for the return of their texts.
func (e *Embedder) Rescan() error {
	e.compareTexts()
	stored, present := 0, 0
	for _, p := range e.listPartitions() {
		stored += p.len()
	}
	for _, n := range e.Index.CountTexts() {
		present += n
	}
	if stored <= 2*present+10_000 {
		return nil
	}
	return e.Purge()
}

// compareTexts queues the files that lack vectors, the most recently changed first.
// Changed reports later changes.
func (e *Embedder) compareTexts() {
	e.comparing.Lock()
	defer e.comparing.Unlock()
	e.mu.Lock()
	e.missing = map[memory.Partition]map[index.TextKey]bool{}
	e.mu.Unlock()
	paths := e.Index.FilesLacking(func(t index.TextRef) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.lacksLocked(t) {
			return true
		}
		e.addMissingLocked(t)
		return false
	})
	e.mu.Lock()
	e.queue.reset(paths)
	e.mu.Unlock()
	e.wakeUp()
}

// Purge removes the vectors of all texts that are no longer present. It returns when
// no file contains them.
func (e *Embedder) Purge() error {
	e.storing.Lock()
	defer e.storing.Unlock()
	e.queries.forget()
	var errs []error
	for _, p := range e.listPartitions() {
		errs = append(errs, p.retain(func(key index.TextKey) bool {
			return e.Index.HasText(index.TextRef{Partition: p.of, Key: key})
		}))
	}
	return errors.Join(errs...)
}

// storeVectors stores the vectors of the texts that are still present.
func (e *Embedder) storeVectors(texts []index.Text, list [][]float32) error {
	if err := e.setDimensions(len(list[0])); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	e.storing.Lock()
	defer e.storing.Unlock()
	keys, vectors := map[memory.Partition][]index.TextKey{}, map[memory.Partition][][]float32{}
	for i, t := range texts {
		if e.Index.HasText(t.TextRef) {
			keys[t.Partition] = append(keys[t.Partition], t.Key)
			vectors[t.Partition] = append(vectors[t.Partition], list[i])
		}
	}
	for of := range keys {
		if err := e.partition(of).append(keys[of], vectors[of]); err != nil {
			return fmt.Errorf("store vectors: %w", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range texts {
		delete(e.missing[t.Partition], t.Key)
	}
	return nil
}

// partition returns the file of a partition, which it creates with the first vector.
func (e *Embedder) partition(of memory.Partition) *partitionFile {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.partitions[of]
	if p == nil {
		sum := sha256.Sum256([]byte(partitionName(of)))
		p = &partitionFile{path: filepath.Join(e.Dir, hex.EncodeToString(sum[:16])+vectorExt), of: of,
			dimensions: e.space.Dimensions, rows: map[index.TextKey]bool{}}
		e.partitions[of] = p
	}
	return p
}

// Status returns the state of the embedder, without the endpoint.
func (e *Embedder) Status() api.EmbedStatus {
	total := 0
	for p, n := range e.Index.CountTexts() {
		if e.mayEmbed(p) {
			total += n
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := api.EmbedStatus{Endpoint: e.Client.Endpoint, Model: e.Client.Model, Private: e.Private, Rejected: len(e.rejected),
		Pending: e.countMissingLocked(), Dimensions: e.space.Dimensions, LastError: e.problem,
		FailedAt: e.problemAt.UTC()}
	s.Embedded = max(total-s.Pending-s.Rejected, 0)
	return s
}

// Count implements [index.Vectors].
func (e *Embedder) Count(p memory.Partition) (ready, pending int) {
	if !e.mayEmbed(p) {
		return 0, 0
	}
	total := e.Index.CountTexts()[p]
	e.mu.Lock()
	defer e.mu.Unlock()
	pending = len(e.missing[p])
	for t := range e.rejected {
		if t.Partition == p {
			total--
		}
	}
	return max(total-pending, 0), pending
}

// recordLocked records the result of a request. After a failure, no request is
// sent for a time.
func (e *Embedder) recordLocked(err error) {
	if err == nil {
		e.failures, e.problem, e.resume = 0, "", time.Time{}
		return
	}
	wait := min(e.pause<<min(e.failures, 10), maxPause)
	e.failures++
	e.problem, e.problemAt = err.Error(), e.Now()
	e.resume = time.Now().Add(cmp.Or(llm.RetryAfter(err), wait))
	if e.failures == 1 {
		e.Logger.Warn("texts are not embedded, retrying", "err", err)
	}
}

// maxPause bounds the time between two requests to an endpoint that fails.
const maxPause = time.Minute
