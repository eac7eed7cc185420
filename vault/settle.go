package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A leftover is a change that is not over yet: it is unknown whether it was made, or
// a program may still write to its temporary file.
type leftover struct {
	entry   *dirEntry // open so that a renamed directory does not matter; nil if it could not be opened
	record  journal.Record
	decided bool // it is known whether the change was made
	made    bool
	failed  bool // the change is to be reverted
	crashed bool // an earlier process began the change

	due    time.Time // when the temporary file is looked at first
	seen   bool      // it was looked at; guarded by Writer.mu
	copied string    // the conflict copy that the temporary file became

	// The contents before and after the change; nil after a crash. Once text that another
	// program wrote to the temporary file is merged, that text takes their place.
	before, after []byte
}

// base returns the content of the temporary file that other programs may have had open, or
// nil if it is unknown, as after a crash if it was forgotten.
func (w *Writer) base(l *leftover) []byte {
	base, digest := l.before, l.record.Before
	if !l.made {
		base, digest = l.after, l.record.After
	}
	if base != nil {
		return base
	}
	stored, _ := w.Journal.Version(digest)
	return stored
}

const (
	// settleDelay is the delay before a file that was in place is removed: a
	// program that had it open, or was opening it, may still write to it.
	settleDelay = 50 * time.Millisecond
	// leaseTime bounds the lease on a file whose name changes, which takes about a
	// millisecond, if the disk does not respond.
	leaseTime = 2 * time.Second
	// maxSettleDelay bounds the delay between attempts at a temporary file that
	// cannot be cleared.
	maxSettleDelay = time.Minute
)

// Run waits until the context ends, and then until each temporary file has been
// looked at once, as changes do that end later. Files that could not be cleared are left
// to the next start.
func (w *Writer) Run(ctx context.Context) error {
	w.closed.Store(false)
	<-ctx.Done()
	w.closed.Store(true)
	w.waitSettled()
	return nil
}

// waitSettled waits until each temporary file has been looked at once, or the disk does not
// respond.
func (w *Writer) waitSettled() {
	unseen := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.leftovers, func(l *leftover) bool { return !l.seen })
	}
	for unseen() && !w.Vault.steps.isStuck() {
		time.Sleep(settleDelay / 10)
	}
}

// settleNow settles a change, or settles it later if it has a temporary file, or something
// failed. The caller holds the lock of the file.
func (w *Writer) settleNow(l *leftover) error {
	err := w.settleLocked(l, true)
	if err == nil {
		return nil
	}
	pause := cmp.Or(w.settleDelay, settleDelay)
	l.due = time.Now().Add(pause)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leftovers = append(w.leftovers, l)
	time.AfterFunc(pause, func() { w.settleRepeatedly(l, pause, false) })
	return ignoreError(err, errConcurrentSave)
}

// settleRepeatedly settles a change, or tries again later.
func (w *Writer) settleRepeatedly(l *leftover, pause time.Duration, logged bool) {
	err := w.settle(l)
	w.mu.Lock()
	l.seen = true
	w.mu.Unlock()
	if err == nil || w.closed.Load() {
		return
	}
	if !logged && !errors.Is(err, errConcurrentSave) {
		w.logger().Warn("cannot clean up after a change, retrying later", "path", l.record.Path, "err", err)
		logged = true
	}
	pause = min(2*pause, maxSettleDelay)
	time.AfterFunc(pause, func() { w.settleRepeatedly(l, pause, logged) })
}

// settle settles a change that was not settled at once. On errConcurrentSave a program may
// still write to its temporary file.
func (w *Writer) settle(l *leftover) error {
	release, err := w.lockFile(context.Background(), l.record.Path)
	if err != nil {
		return err
	}
	defer release()
	if !slices.Contains(w.leftoversOf(l.record.Path), l) {
		return nil
	}
	return w.settleLocked(l, false)
}

// settleLocked decides whether a change was made, and clears its temporary file. With now,
// it leaves for later what a program may have open. The caller holds the lock of the file.
func (w *Writer) settleLocked(l *leftover, now bool) error {
	err := w.decide(l)
	if err == nil {
		err = w.clear(l, now)
	}
	if err == nil {
		err = w.finish(l)
	}
	return err
}

// finish ends a change whose temporary file is gone.
func (w *Writer) finish(l *leftover) error {
	r := &l.record
	switch {
	case !l.made:
		if err := w.Journal.Abandon(r.ID); err != nil {
			return err
		}
		w.removeMade(r.FilePath(), r.Made)
	case len(r.Undoes) > 0 && (r.After == "" || r.To != ""):
		w.removeEmptyParents(r.Path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leftovers = slices.DeleteFunc(w.leftovers, func(other *leftover) bool { return other == l })
	if l.entry != nil {
		l.entry.close()
		l.entry = nil
	}
	return nil
}

// inDir calls do with the directory of a change, unless that is gone.
func (w *Writer) inDir(l *leftover, do func(s *dirEntry) error) error {
	if l.entry != nil {
		return do(l.entry)
	}
	return w.inParent(l.record.Path, do)
}

// leftoversOf returns the leftovers of a file.
func (w *Writer) leftoversOf(path string) []*leftover {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.leftovers), func(l *leftover) bool {
		return l.record.Path != path && l.record.To != path
	})
}

// decide finds out whether a change was made, and records it in the journal. The
// caller holds the lock of the file.
func (w *Writer) decide(l *leftover) error {
	if !l.decided {
		made, err := w.resolve(l)
		if err != nil {
			return err
		}
		l.decided, l.made = true, made
	}
	if !l.made {
		return nil
	}
	return w.Journal.Done(l.record.ID)
}

// A verdict is what is to be done about a change that may be half done.
type verdict int

const (
	notMade  verdict = iota
	made             // the change was made
	putBack          // the temporary file gets the name of the file
	swapBack         // both are exchanged
	takeBack         // the file gets the temporary name
	keepCopy         // the temporary file becomes a conflict copy
)

// judge decides about a change by the digests of the file and the temporary file. placed is
// the version that was put back last, and drafted reports whether there is a draft:
//
//	temporary file  file           the change
//	new version     any            was not made, or is reverted
//	old version     any            was made, or is reverted if it failed
//	other version   missing, new   is reverted: the other version is put back
//	other version   other          is reverted: the version becomes a conflict copy
//	missing         any            a creation was made if there is a file and no draft, a
//	                               removal or replacement if an earlier process removed the
//	                               temporary file; any other change was not made
func (l *leftover) judge(file, temp, placed fileVersion, drafted bool) verdict {
	r := &l.record
	gone, ours := file.digest == "", file.digest == r.After
	switch {
	case temp.digest == "" && r.Before == "" && !gone && !drafted && l.failed && ours:
		return takeBack
	case temp.digest == "" && r.Before == "" && !gone && !drafted,
		temp.digest == "" && r.Before != "" && l.crashed && ours,
		temp.digest == "" && r.Before != "" && l.crashed && r.After != "" && !drafted && file.digest != r.Before:
		return made
	case temp.digest == "", temp.digest == r.After:
		return notMade
	case temp.digest == r.Before && !(l.failed && (gone || ours)):
		return made
	case gone:
		return putBack
	case ours, file == placed:
		return swapBack
	}
	return keepCopy
}

// maxSwaps bounds the exchanges of resolve. Each repetition requires another save at the
// same instant.
const maxSwaps = 100

// resolve reports whether a change was made that may be half done. It reverts a change that
// failed, and puts a version that another program saved back in place.
func (w *Writer) resolve(l *leftover) (isMade bool, err error) {
	r := &l.record
	if r.To != "" {
		return w.resolveMove(l)
	}
	err = w.inDir(l, func(s *dirEntry) error {
		var placed fileVersion
		for range maxSwaps {
			var found [3]fileVersion
			for i, name := range []string{s.base, r.Temp, draftNameOf(r.Temp)} {
				var err error
				found[i], err = w.readVersion(s.dir, name)
				if err != nil {
					return err
				}
			}
			todo := l.judge(found[0], found[1], placed, found[2].digest != "")
			err := w.runSyscall("put back", func() error {
				switch todo {
				case putBack:
					return renameNew(s.dir, r.Temp, s.dir, s.base)
				case takeBack:
					return renameNew(s.dir, s.base, s.dir, r.Temp)
				case swapBack:
					return exchange(s.dir, r.Temp, s.base)
				}
				return nil
			})
			placed = found[1]
			switch {
			case todo == keepCopy:
				return w.makeConflictCopy(s, l)
			case todo == made, todo == notMade, todo == putBack && err == nil:
				isMade = todo == made
				return nil
			case err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		return fmt.Errorf("put back: %w", errConcurrentSave)
	})
	return isMade, err
}

// resolveMove reports whether a move was made. A new file may exist at the old path. A move
// that failed is reverted.
func (w *Writer) resolveMove(l *leftover) (isMade bool, err error) {
	r := &l.record
	var dirs [2]*dirEntry
	var found [2]fileVersion
	for i, path := range []string{r.Path, r.To} {
		s, err := w.openParent(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		defer s.close()
		dirs[i] = s
		found[i], err = w.readVersion(s.dir, s.base)
		if err != nil {
			return false, err
		}
	}
	from, to := found[0], found[1]
	isMade = to.digest != "" && (from.digest == "" || to.digest == r.After && from.digest != r.Before)
	if !isMade || !l.failed || dirs[0] == nil {
		return isMade, nil
	}
	err = w.runSyscall("move back", func() error {
		return renameNew(dirs[1].dir, dirs[1].base, dirs[0].dir, dirs[0].base)
	})
	if errors.Is(err, fs.ErrExist) {
		return true, nil
	}
	return err != nil, err
}

// clear removes the draft and the temporary file of a change. It merges text that another
// program wrote to the temporary file.
func (w *Writer) clear(l *leftover, now bool) error {
	if l.record.Temp == "" {
		return nil
	}
	return w.inDir(l, func(s *dirEntry) error {
		if err := w.unlinkFile(s.dir, draftNameOf(l.record.Temp)); err != nil {
			return err
		}
		fd, err := openAt(s.dir, l.record.Temp, readOnly)
		switch {
		case err == unix.ENOENT:
			return nil
		case now && l.made:
			err = errConcurrentSave
		case err == unix.EACCES, err == unix.ELOOP:
			return w.makeConflictCopy(s, l)
		case err == nil:
			err = w.clearTemp(l, s, fd, now)
		}
		unix.Close(fd)
		return err
	})
}

// clearTemp removes the open temporary file, or merges the text in it.
func (w *Writer) clearTemp(l *leftover, s *dirEntry, fd int, now bool) error {
	r := &l.record
	hold, err := w.Vault.leaseFile(fd, leaseTime)
	if errors.Is(err, errWriter) {
		return ErrOpen
	} else if err != nil {
		hold = nil
	}
	defer hold.release()
	temp, err := w.readVersion(s.dir, r.Temp)
	known := temp.digest == r.Before || temp.digest == r.After ||
		l.before != nil && temp.digest == journal.Digest(l.before)
	switch {
	case err != nil:
		return err
	case now && (hold == nil || !known):
		return errConcurrentSave
	case known:
		if !hold.held() { // a program is opening it
			return errConcurrentSave
		}
		return w.unlinkFile(s.dir, r.Temp)
	}
	file, err := w.readVersion(s.dir, s.base)
	if err == nil && file.digest == "" {
		return w.runSyscall("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	var data []byte
	if err == nil {
		data, err = readAll(fd, st.Size, w.Vault.maxFileSize())
	}
	switch {
	case err == nil && journal.Digest(data) != temp.digest,
		err == nil && len(data) == 0 && hold == nil && isRecentStamp(stampOf(&st)):
		return errConcurrentSave
	case errors.Is(err, ErrTooLarge):
		return w.makeConflictCopy(s, l)
	case err != nil:
		return err
	}
	hold.release()
	return w.mergeLate(s, l, data)
}

// errNotMerged reports that late text cannot be merged.
var errNotMerged = errors.New("conflicts with the file")

// mergeLate merges late, which another program wrote to the temporary file, into the
// file. If both changed the same lines, late replaces the file if the file has
// this writer's version and the journal keeps that, and becomes a conflict copy otherwise. On
// success mergeLate returns errConcurrentSave, as the program may write more.
func (w *Writer) mergeLate(s *dirEntry, l *leftover, late []byte) error {
	r := &l.record
	w.countLostRace(r.Path)
	base := w.base(l)
	c := Change{
		Path: r.Path, Cause: mergeCause, Reason: "text that another program saved meanwhile", Requested: true,
		Secret: r.Forgotten,
		Edit: func(old *File) ([]byte, error) {
			var now []byte
			if old != nil {
				now = old.Data
			}
			if base != nil && old != nil {
				if merged, line := diff.MergeText(base, now, late, 0); line == 0 {
					return merged, nil
				}
			}
			if journal.Digest(now) == r.After && !r.Forgotten {
				return late, nil
			}
			return nil, errNotMerged
		},
	}
	err := w.checkPath(r.Path)
	if err == nil {
		var written Written
		written, err = w.writeWithRetry(context.Background(), &c)
		err = w.recordOutcome(&c, written, err)
	}
	_, refused := errors.AsType[*RefusedError](err)
	switch {
	case refused, errors.Is(err, errNotMerged):
		return w.makeConflictCopy(s, l)
	case err != nil:
		return err
	}
	l.before, l.after = late, late
	return errConcurrentSave
}

// makeConflictCopy gives a temporary file the name of a conflict copy. The file
// contains a version saved by another program that a later save superseded.
func (w *Writer) makeConflictCopy(s *dirEntry, l *leftover) error {
	stem, _ := memory.CutMarkdown(s.base)
	mark := ".conflict-copy-" + strings.TrimSuffix(strings.TrimPrefix(l.record.Temp, tempPrefix), tempSuffix)
	name := cmp.Or(stem, s.base) + mark + s.base[len(cmp.Or(stem, s.base)):]
	err := w.runSyscall("keep", func() error { return renameNew(s.dir, l.record.Temp, s.dir, name) })
	if errors.Is(err, unix.ENAMETOOLONG) {
		name, err = l.record.Temp, nil
	}
	if err == nil {
		parent, _ := cutLast(s.path)
		l.copied = joinPath(parent, name)
		w.logger().Warn("text that another program saved during a change is in a conflict copy", "path", l.copied)
	}
	return err
}

func (w *Writer) unlinkFile(dir int, name string) error {
	return w.runSyscall("remove "+name, func() error {
		var st unix.Stat_t
		if err := fstatat(dir, name, &st); errors.Is(err, fs.ErrNotExist) {
			return nil // a read-only disk would report an error
		}
		return unix.Unlinkat(dir, name, 0)
	})
}
