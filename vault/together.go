package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// maxTogether bounds the files that are created together, because other changes
// wait meanwhile.
const maxTogether = 32

// WriteAll makes several changes as [Writer.Write] does, and returns an error for
// each that failed. It creates new files together, which takes much less time,
// because the disk syncs many files at once. It makes all other changes one after
// the other.
func (w *Writer) WriteAll(ctx context.Context, changes []Change) []error {
	errs := make([]error, 0, len(changes))
	for part := range slices.Chunk(changes, maxTogether) {
		created := w.createTogether(ctx, part)
		for i, c := range part {
			var err error
			if !created[i] {
				_, err = w.Write(ctx, c)
			}
			errs = append(errs, err)
		}
	}
	return errs
}

// A newFile is a file that is created, maybe together with others.
type newFile struct {
	index   int // of the change
	change  *Change
	data    []byte // nil if the file is not to be created
	entry   *dirEntry
	made    int // number of created directories
	draft   *tempFile
	record  journal.Record
	disown  func() // reverts [Writer.recordOwnVersion]
	err     error
	created bool
}

func (f *newFile) written() Written {
	return Written{ID: f.record.ID, Changed: true}
}

// createTogether creates the files of the changes that can be created together,
// and reports which of them. The other changes are not made.
func (w *Writer) createTogether(ctx context.Context, changes []Change) (created []bool) {
	created = make([]bool, len(changes))
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	// All callers take their turns in the same order, so that they never wait for
	// each other.
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(changes[i].Path, changes[j].Path) })
	var files []*newFile
	turn, last := ctx, ""
	for _, i := range order {
		c := changes[i]
		if !c.Requested || c.Path == last {
			continue
		}
		release, err := w.takeTurn(turn, &c)
		if err != nil {
			continue
		}
		defer release()
		turn, last = context.WithValue(ctx, callerKey{}, nil), c.Path // the caller has its turn
		w.prepareEdit(&c)
		if p := c.prepared; p != nil && p.old == nil && p.err == nil && p.data != nil {
			files = append(files, &newFile{index: i, change: &c})
		}
	}
	if len(files) < 2 {
		return created
	}
	_, err := withSemaphore(ctx, w, func() (none struct{}, err error) {
		if !w.repaired {
			err = w.rechecks().repairRoot(ctx)
		}
		if err == nil {
			w.createFiles(files)
		}
		return none, err
	})
	if err != nil { // createFiles may still be running
		return created
	}
	for _, f := range files {
		created[f.index] = f.created
		if f.created {
			w.recordOutcome(f.change.Path, f.written(), nil)
		}
	}
	return created
}

// createFiles creates files, each step for all files before the next one: drafts,
// records in the journal, names, directories.
func (w *Writer) createFiles(files []*newFile) {
	all := files
	defer func() {
		for _, f := range all {
			if f.entry != nil {
				f.entry.close()
			}
		}
	}()
	for _, f := range files {
		f.err = w.prepareFile(f)
	}
	files = w.withoutFailed(files)
	var group sync.WaitGroup
	for _, f := range files {
		group.Go(func() { f.draft, f.err = w.createTemp(f.entry, f.data, nil) })
	}
	group.Wait()
	files = w.withoutFailed(files)
	if len(files) == 0 {
		return
	}
	var records []journal.Record
	for _, f := range files {
		r := newRecord(f.change, f.draft.tempName(), nil, f.data)
		r.Made = f.made
		records = append(records, r)
	}
	records, err := w.Journal.BeginAll(records)
	if err != nil {
		for _, f := range files {
			f.err = fmt.Errorf("%w: %w", errJournal, err)
			w.discardTemp(f.entry, f.draft)
			w.removeMade(f.change.Path, f.made)
		}
		return
	}
	synced := map[string]error{} // by directory
	for i, f := range files {
		f.record = records[i]
		f.disown = w.recordOwnVersion(f.change.Path, hashOf(f.data), time.Time{})
		f.err = w.nameFile(f.entry, f.draft)
	}
	for _, f := range files {
		dir, _ := cutLast(f.change.Path)
		err, done := synced[dir]
		if f.err == nil && !done {
			err = w.syncDir(f.entry)
			synced[dir] = err
		}
		if f.err == nil && err != nil {
			f.err = errors.Join(err, w.undoName(f.entry, f.draft))
		}
		if f.err != nil {
			f.created = w.resolveFailed(f.entry, f.change, f.record, f.err, f.disown)
			if !f.created {
				w.removeMade(f.change.Path, f.made)
			}
		}
	}
	var ids []string
	files = slices.DeleteFunc(files, func(f *newFile) bool { return f.err != nil })
	for _, f := range files {
		ids = append(ids, f.record.ID)
	}
	for i, err := range w.Journal.DoneAll(ids) {
		f := files[i]
		f.created = true
		if err != nil {
			w.rechecks().finishChange(f.entry, f.change, f.record)
		} else if !f.change.Requested {
			w.countWrite(f.change.Path)
		}
	}
}

// prepareFile computes the content of a file and opens its directory.
func (w *Writer) prepareFile(f *newFile) (err error) {
	path := f.change.Path
	if err := w.rechecks().finishRechecks(path); err != nil {
		return err
	}
	f.data, err = w.callEdit(f.change, nil)
	if errors.Is(err, ErrRemove) {
		return nil
	}
	if err != nil || f.data == nil {
		return err
	}
	if err := w.writePolicy().checkContent(path, f.data); err != nil {
		return err
	}
	if err := w.writePolicy().checkIdle(f.change, time.Time{}); err != nil {
		return err
	}
	f.entry, f.made, err = w.createParent(path)
	return err
}

// withoutFailed returns the files without those that failed, for which it removes
// the created directories, and without those that are not to be created.
func (w *Writer) withoutFailed(files []*newFile) []*newFile {
	return slices.DeleteFunc(slices.Clone(files), func(f *newFile) bool {
		if f.err != nil {
			w.removeMade(f.change.Path, f.made)
		}
		return f.err != nil || f.entry == nil
	})
}
