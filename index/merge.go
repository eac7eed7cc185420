package index

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	zapapi "github.com/blevesearch/scorch_segment_api/v2"
)

// endBuild ends the first build: from now on segments are merged, first all into one,
// because each term of a query is looked up in each segment, and rare terms take more
// space in many. When that is done, merged is called, unless it is nil.
func (s *store) endBuild(merged func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.building {
		return
	}
	s.building = false
	s.merged = func() {
		if merged != nil {
			go merged()
		}
	}
	signal(s.saves)
}

// manySegments is the number of segments from which they are merged in a build, too.
const manySegments = 400

// mergeOptions are those of bleve, which counts a segment of fewer documents than
// FloorSegmentSize as one of that size. Its 2000 would make each save of a small index
// write the whole index.
var mergeOptions = func() mergeplan.MergePlanOptions {
	o := mergeplan.DefaultMergePlanOptions
	o.FloorSegmentSize = 200
	return o
}()

// purge removes what has been deleted so far from the files on disk.
func (s *store) purge() error {
	if err := s.flush(); err != nil {
		return err
	}
	purged := make(chan error, 1)
	s.mu.Lock()
	s.purging = append(s.purging, purged)
	s.mu.Unlock()
	signal(s.saves)
	if err := s.await(purged); err != nil {
		return err
	}
	return s.flush()
}

// merge merges segments on disk, and answers the callers that wait for it.
func (s *store) merge() error {
	s.mu.Lock()
	purging := s.purging
	s.purging = nil
	s.mu.Unlock()
	err := s.mergeOnDisk(purging != nil)
	for _, purged := range purging {
		purged <- err
	}
	return err
}

// mergeOnDisk merges segments on disk, those with deleted documents too if purge is set.
func (s *store) mergeOnDisk(purge bool) error {
	s.mu.Lock()
	list, err := s.openSnapshotLocked()
	building, merged := s.building, s.merged
	s.mu.Unlock()
	if err != nil {
		return err
	}
	defer list.close()
	var all members
	var planned []mergeplan.Segment
	for _, m := range list {
		if m.number != 0 {
			all = append(all, m)
			planned = append(planned, m)
		}
	}
	if building && len(all) < manySegments && !purge {
		return nil
	}
	var tasks []members
	switch {
	case merged != nil && len(all) > 1:
		tasks = append(tasks, all)
	case purge:
		for _, m := range all {
			if m.deleted != nil {
				tasks = append(tasks, members{m})
			}
		}
	case merged == nil:
		plan, err := mergeplan.Plan(planned, &mergeOptions)
		if err != nil || plan == nil {
			return err
		}
		for _, t := range plan.Tasks {
			var task members
			for _, m := range t.Segments {
				task = append(task, m.(member))
			}
			tasks = append(tasks, task)
		}
	}
	if len(tasks) > 0 {
		if err := s.checkDir(); err != nil {
			return err
		}
	}
	for _, task := range tasks {
		if _, err := s.mergeSegments(task); err != nil {
			return err
		}
	}
	if merged != nil {
		s.mu.Lock()
		s.merged = nil
		s.mu.Unlock()
		merged()
	}
	return nil
}

// mergeSegments writes the documents of segments to one on disk, and puts it in place of
// them. It returns no segment if all documents are deleted.
func (s *store) mergeSegments(old members) (members, error) {
	var from []zapapi.Segment
	var deleted []*roaring.Bitmap
	live := int64(0)
	for _, m := range old {
		from = append(from, m.Segment)
		deleted = append(deleted, m.deleted)
		live += m.LiveSize()
	}
	if live == 0 {
		s.replaceSegments(old, nil, nil)
		return nil, nil
	}
	number, name := s.newFile()
	numbers, _, err := format.Merge(from, deleted, name, s.closing, nil)
	if err != nil {
		return nil, fmt.Errorf("merge segments: %w", err)
	}
	m, err := openSegment(name, number)
	if err != nil {
		return nil, errors.Join(err, os.Remove(name))
	}
	s.replaceSegments(old, members{m}, numbers)
	return members{m}, nil
}

// replaceSegments puts at most one segment in place of old ones, and deletes in it what was
// deleted since the old ones were read. The number of document n of old[i] is
// numbers[i][n], or n if numbers is nil. The caller must hold references to old: the
// numbers of deleted documents may be in the mapped files.
func (s *store) replaceSegments(old, with members, numbers [][]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		with.close()
		return
	}
	var list members
	deleted := roaring.New()
	for _, m := range s.members {
		i := slices.IndexFunc(old, func(o member) bool { return o.segment == m.segment })
		if i < 0 {
			list = append(list, m)
			continue
		}
		if m.number != 0 {
			s.unlisted = append(s.unlisted, s.fileName(m.number))
			s.version++
			signal(s.changed)
		}
		m.DecRef()
		switch {
		case m.deleted == nil:
		case numbers == nil:
			deleted = m.deleted
		default:
			for _, n := range m.deleted.ToArray() {
				if old[i].deleted == nil || !old[i].deleted.Contains(n) {
					deleted.Add(uint32(numbers[i][n]))
				}
			}
		}
	}
	for _, m := range with {
		m.deleted = nil
		if !deleted.IsEmpty() {
			m.deleted = deleted
		}
		list = append(list, m)
	}
	s.members = list
}
