package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	zapapi "github.com/blevesearch/scorch_segment_api/v2"
)

// The goroutines of a store.
const (
	saver  = "save index"
	merger = "merge index"
)

// start starts the goroutines. The last merges of an earlier process may be missing.
func (s *store) start() {
	s.loops.Add(2)
	go s.repeatStep(saver, s.changed, s.hurry, s.save)
	go s.repeatStep(merger, s.saves, nil, s.merge)
	signal(s.saves)
}

// closeLimit bounds the time that close waits for the goroutines.
const closeLimit = 10 * time.Second

// unfinished contains the directories of closed stores whose goroutines still run, such
// as one that writes to a disk that does not respond. They cannot be opened again yet.
var unfinished sync.Map

// errUnfinished is the error of opening such a directory.
var errUnfinished = errors.New("the closed index is still writing to its disk")

// close stops the goroutines and closes the segments, which open snapshots keep. It
// does not save changes.
func (s *store) close() error {
	close(s.closing)
	ended := make(chan struct{})
	unfinished.Store(s.dir, nil)
	go func() {
		s.loops.Wait()
		unfinished.Delete(s.dir)
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-time.After(closeLimit):
		err = fmt.Errorf("close index: not finished after %v", closeLimit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return errors.Join(err, s.members.close())
}

// signal sends to a channel of capacity 1 unless it is full.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// The first and the longest pause before a retry.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// repeatStep calls step after each signal, and again if it fails, until the store closes or
// step panics. Hurry ends the pause before a retry.
func (s *store) repeatStep(name string, wake, hurry <-chan struct{}, step func() error) {
	defer s.loops.Done()
	pause := time.Duration(0)
	for {
		if pause == 0 {
			select {
			case <-wake:
			case <-s.closing:
				return
			}
		}
		err := recoverPanic(name, step)
		select {
		case <-s.closing:
			return
		default:
		}
		s.recordResult(name, err)
		switch {
		case err == nil:
			pause = 0
		case isFinal(err):
			return
		default:
			pause = min(max(firstPause, 2*pause), lastPause)
			s.pause(pause, hurry)
		}
	}
}

// pause waits until the time has passed, the channel receives, or the store closes.
func (s *store) pause(wait time.Duration, hurry <-chan struct{}) {
	select {
	case <-time.After(wait):
	case <-hurry:
	case <-s.closing:
	}
}

// recordResult records the result of a step, and reports a failure or the recovery.
func (s *store) recordResult(name string, err error) {
	s.mu.Lock()
	before := s.failureLocked()
	if err != nil {
		s.failures[name] = err
		if isFinal(err) {
			s.breakOnce.Do(func() { close(s.broken) })
		}
	} else {
		delete(s.failures, name)
	}
	after := s.failureLocked()
	s.mu.Unlock()
	switch {
	case err != nil:
		s.report(s, err, before == nil)
	case before != nil && after == nil:
		s.report(s, nil, true)
	}
}

// failureLocked returns the error of the saver, or otherwise of the merger, or nil. The
// caller must hold s.mu.
func (s *store) failureLocked() error {
	if err := s.failures[saver]; err != nil {
		return err
	}
	return s.failures[merger]
}

// failure returns the error of the saver, or otherwise of the merger, or nil.
func (s *store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failureLocked()
}

// saveDelay is the least time between two writes to disk. Batches that arrive in this
// time are written together.
const saveDelay = 200 * time.Millisecond

// errReplaced is the error of a store whose directory was removed or replaced.
var errReplaced = errors.New("the directory of the index was removed or replaced")

// isFinal reports whether the step that returned err must not be repeated.
func isFinal(err error) bool { return errors.Is(err, errPanic) || errors.Is(err, errReplaced) }

// checkDir returns errReplaced unless the directory of the store is still there.
func (s *store) checkDir() error {
	info, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.info) {
		return errReplaced
	}
	return err
}

// save writes the current list to disk, unless it is there. Then it waits for further
// changes, except in a build.
func (s *store) save() error {
	building, changed, err := s.saveChanges()
	if err != nil || !changed {
		return err
	}
	signal(s.saves)
	if !building {
		s.pause(saveDelay, s.hurry)
	}
	return nil
}

// saveChanges writes the current list to disk and removes the files of segments that are no
// longer in it. It answers the callers that wait for the disk. It reports whether there
// is a build, and whether the list had changed.
func (s *store) saveChanges() (building, changed bool, err error) {
	s.mu.Lock()
	list, err := s.openSnapshotLocked()
	version, waiting, unlisted := s.version, s.waiting, s.unlisted
	building, changed = s.building, s.version != s.saved
	s.waiting, s.unlisted = nil, nil
	s.mu.Unlock()
	defer list.close()
	if err == nil && changed {
		err = s.saveList(list, building)
	}
	s.mu.Lock()
	if err != nil {
		s.unlisted = append(unlisted, s.unlisted...)
	} else {
		s.saved = version
	}
	s.mu.Unlock()
	if err == nil {
		for _, name := range unlisted {
			os.Remove(name) // or readFiles does
		}
	}
	for _, w := range waiting {
		w <- err
	}
	return building, changed, err
}

// saveList makes list the state on disk. If it has several segments in memory, saveList
// merges them, except in a build, which merges everything at its end.
func (s *store) saveList(list members, building bool) error {
	if err := s.checkDir(); err != nil {
		return err
	}
	var onDisk, inMemory members
	for _, m := range list {
		if m.number != 0 {
			onDisk = append(onDisk, m)
		} else {
			inMemory = append(inMemory, m)
		}
	}
	if building || len(inMemory) == 1 {
		for _, m := range inMemory {
			written, err := s.writeSegment(m)
			if err != nil {
				return err
			}
			onDisk = append(onDisk, written)
		}
	} else if len(inMemory) > 1 {
		merged, err := s.mergeSegments(inMemory)
		if err != nil {
			return err
		}
		onDisk = append(onDisk, merged...)
	}
	return writeList(s.dir, onDisk)
}

// newFile returns the number and the name of a new file.
func (s *store) newFile() (number uint64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastFile++
	return s.lastFile, s.fileName(s.lastFile)
}

// writeSegment writes a segment to disk as it is, and puts it in place of the one in
// memory.
func (s *store) writeSegment(m member) (member, error) {
	number, name := s.newFile()
	if err := m.Segment.(zapapi.UnpersistedSegment).Persist(name); err != nil {
		return member{}, err
	}
	z, err := format.Open(name)
	if err != nil {
		return member{}, errors.Join(err, os.Remove(name))
	}
	written := member{&segment{Segment: z, places: m.places, number: number}, m.deleted}
	s.replaceSegments(members{m}, members{written}, nil)
	return written, nil
}

// flush waits until all batches are on disk. It returns an error if the next attempt to
// write them fails, or is not finished after saveLimit; the attempts continue.
func (s *store) flush() error {
	saved := make(chan error, 1)
	s.mu.Lock()
	s.waiting = append(s.waiting, saved)
	s.mu.Unlock()
	signal(s.changed)
	signal(s.hurry)
	return s.await(saved)
}

// await waits for the result of a goroutine, up to saveLimit.
func (s *store) await(done <-chan error) (err error) {
	select {
	case err = <-done:
		select {
		case <-s.broken: // the next batch would fail
			err = s.failure()
		default:
		}
	case <-s.broken:
		err = s.failure()
	case <-s.closing:
		err = errClosed
	case <-time.After(saveLimit):
		err = fmt.Errorf("not on disk after %v", saveLimit)
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// saveLimit bounds the time in which a batch must reach the disk.
const saveLimit = 10 * time.Second

// diskFull reports whether err means that the disk or the quota is full.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// lacksResources reports whether err means a lack of system resources, a read-only file
// system or a disk that does not respond. Such an error is no evidence of a damaged index.
func lacksResources(err error) bool {
	causes := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS, errUnfinished}
	return diskFull(err) || slices.ContainsFunc(causes, func(e error) bool { return errors.Is(err, e) })
}
