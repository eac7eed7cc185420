package vault

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A leftover is a change that is not over yet: it is unknown whether it was made, or
// a program may still write to its temporary file.
type leftover struct {
	entry    *dirEntry // open so that a renamed directory does not matter; nil if it could not be opened
	record   journal.Record
	decided  bool // it is known whether the change was made
	made     bool
	recorded bool // the journal has the change as complete
	crashed  bool // an earlier process began the change

	settling sync.Mutex // serializes settle
	due      time.Time  // when the temporary file is looked at first
	seen     bool       // it was looked at; guarded by Writer.mu
	copied   string     // the conflict copy that the temporary file became

	// The contents before and after the change; nil after a crash. Once text that another
	// program wrote to the temporary file is merged, that text takes their place.
	before, after []byte
}

// base returns the content of the temporary file that other programs may have had open, or
// nil if it is unknown, as after a crash if lines of it were forgotten.
func (w *Writer) base(l *leftover) []byte {
	base, digest := l.before, l.record.Before
	if !l.made {
		base, digest = l.after, l.record.After
	}
	if base != nil {
		return base
	}
	stored, err := w.Journal.Version(digest)
	if err != nil || journal.Digest(stored) != digest {
		return nil
	}
	return stored
}

const (
	// settleDelay is the delay before a file that was in place is removed: a
	// program that had it open, or was opening it, may still write to it.
	settleDelay = 50 * time.Millisecond
	// maxSettleDelay bounds the delay between attempts at a temporary file that
	// cannot be cleared.
	maxSettleDelay = time.Minute
)

// Run waits until the context ends, and then until each temporary file has been
// looked at once, as changes do that end later. Files that could not be cleared are left
// to the next start.
func (w *Writer) Run(ctx context.Context) error {
	setClosed := func(closed bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closed = closed
	}
	setClosed(false)
	<-ctx.Done()
	setClosed(true)
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

// settleNow records whether a change was made, and settles it later if its temporary
// file may still be written, or something failed. The caller holds the lock of the
// file.
func (w *Writer) settleNow(l *leftover) error {
	err := w.decide(l)
	if err == nil && (!l.made || l.record.Before == "" || l.record.Temp == "") {
		err = w.clear(l, true)
		if err == nil {
			err = w.finish(l)
		}
		if err == nil {
			return nil
		}
	}
	pause := cmp.Or(w.settleDelay, settleDelay)
	l.due = time.Now().Add(pause)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leftovers = append(w.leftovers, l)
	time.AfterFunc(pause, func() { w.settleRepeatedly(l, pause, false) })
	if errors.Is(err, errConcurrentSave) {
		return nil
	}
	return err
}

// settleRepeatedly settles a change, or tries again later.
func (w *Writer) settleRepeatedly(l *leftover, pause time.Duration, logged bool) {
	err := w.settle(l)
	w.mu.Lock()
	l.seen = true
	closed := w.closed
	w.mu.Unlock()
	if err == nil || closed {
		return
	}
	if !logged && !errors.Is(err, errConcurrentSave) {
		w.logger().Warn("cannot clean up after a change, retrying later", "path", l.record.Path, "err", err)
		logged = true
	}
	pause = min(2*pause, maxSettleDelay)
	time.AfterFunc(pause, func() { w.settleRepeatedly(l, pause, logged) })
}

// settle decides whether a change was made and clears its temporary file. On
// errConcurrentSave a program may still write to that file.
func (w *Writer) settle(l *leftover) error {
	l.settling.Lock()
	defer l.settling.Unlock()
	if !w.isLeftover(l) {
		return nil
	}
	release, err := w.lockFile(context.Background(), l.record.Path)
	if err != nil {
		return err
	}
	err = w.decide(l)
	release()
	if err != nil {
		return err
	}
	if err := w.clear(l, false); err != nil {
		return err
	}
	return w.finish(l)
}

func (w *Writer) isLeftover(l *leftover) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.leftovers, l)
}

// finish ends a change whose temporary file is gone.
func (w *Writer) finish(l *leftover) error {
	r := &l.record
	switch {
	case !l.made:
		if err := w.Journal.Abandon(r.ID); err != nil && !errors.Is(err, journal.ErrNoRecord) {
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

// removeEmptyParents removes the directories above a path that changes in the journal
// created, if they are empty.
func (w *Writer) removeEmptyParents(path string) {
	created := map[string]bool{}
	for _, r := range w.Journal.List(time.Time{}, "", 0) {
		dir := r.FilePath()
		for range r.Made {
			dir, _ = cutLast(dir)
			created[dir] = true
		}
	}
	n := 0
	for dir, _ := cutLast(path); created[dir]; dir, _ = cutLast(dir) {
		n++
	}
	w.removeMade(path, n)
}

// open returns the directory of a change, and reports whether the caller must close it.
func (w *Writer) open(l *leftover) (s *dirEntry, opened bool, err error) {
	if l.entry != nil {
		return l.entry, false, nil
	}
	s, err = w.openParent(l.record.Path)
	return s, err == nil, err
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
	if l.made && !l.recorded {
		if err := w.Journal.Done(l.record.ID); err != nil && !errors.Is(err, journal.ErrNoRecord) {
			return err
		}
		l.recorded = true
	}
	return nil
}

// resolve reports whether a change was made that may be half done. It compares the
// file and the temporary file with the recorded digests, and puts a version that
// another program saved back in place:
//
//	temporary file  file     the change
//	new version     any      was not made, or was reverted
//	old version     any      was made
//	other version   missing  is reverted: the other version is put back
//	other version   new      is reverted: the other version is put back
//	other version   other    is reverted; a conflict copy has the former version
//	missing         -        a replacement was not made, unless the process was killed
//	                         and the file has the new version; a creation was made
//	                         if the file is there and no draft is
func (w *Writer) resolve(l *leftover) (made bool, err error) {
	r := &l.record
	if r.To != "" {
		return w.resolveMove(r)
	}
	s, opened, err := w.open(l)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // the directory is gone, too
	} else if err != nil {
		return false, err
	}
	if opened {
		defer s.close()
	}
	file, there, err := w.findVersion(s.dir, s.base)
	if err != nil {
		return false, err
	}
	temp, tempThere, err := w.findVersion(s.dir, r.Temp)
	if err != nil {
		return false, err
	}
	_, drafted, err := w.findVersion(s.dir, draftNameOf(r.Temp))
	if err != nil {
		return false, err
	}
	switch {
	case !tempThere && r.Before == "":
		return there && !drafted, nil
	case !tempThere && (!l.crashed || r.After == ""): // this process has not removed it yet
		return l.crashed && !there, nil
	case !tempThere:
		return file.hasDigest(r.After) || !drafted && !file.hasDigest(r.Before), nil
	case temp.hasDigest(r.After):
		return false, nil
	case temp.hasDigest(r.Before):
		return true, nil
	case !there:
		return false, w.runSyscall("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
	case !file.hasDigest(r.After):
		return false, w.makeConflictCopy(s, l)
	}
	if err := w.putBack(s, r.Temp, file); err != nil {
		return false, err
	}
	_, tempThere, err = w.findVersion(s.dir, r.Temp)
	if err != nil || !tempThere {
		return false, err
	}
	return w.resolve(l) // the temporary file is now this writer's version, or a later save
}

// findVersion is readVersion for a file that may be missing.
func (w *Writer) findVersion(dir int, base string) (l fileVersion, there bool, err error) {
	l, err = w.readVersion(dir, base)
	if errors.Is(err, fs.ErrNotExist) {
		return l, false, nil
	}
	return l, err == nil, err
}

// resolveMove reports whether a move was made. A new file may exist at the old
// path.
func (w *Writer) resolveMove(r *journal.Record) (made bool, err error) {
	find := func(path string) (fileVersion, bool, error) {
		s, err := w.openParent(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fileVersion{}, false, nil
		} else if err != nil {
			return fileVersion{}, false, err
		}
		defer s.close()
		return w.findVersion(s.dir, s.base)
	}
	from, stays, err := find(r.Path)
	if err != nil {
		return false, err
	}
	to, arrived, err := find(r.To)
	return arrived && (!stays || to.hasDigest(r.After) && !from.hasDigest(r.Before)), err
}

// clear removes the draft and the temporary file of a change. It merges text that
// another program wrote to the temporary file. With now, it leaves such a file, and
// one that a program may have open, for later.
func (w *Writer) clear(l *leftover, now bool) error {
	r := &l.record
	s, opened, err := w.open(l)
	if errors.Is(err, fs.ErrNotExist) || r.Temp == "" {
		return nil
	} else if err != nil {
		return err
	}
	if opened {
		defer s.close()
	}
	if err := w.unlinkFile(s.dir, draftNameOf(r.Temp)); err != nil {
		return err
	}
	fd, err := openAt(s.dir, r.Temp, readOnly)
	switch err {
	case nil:
		defer unix.Close(fd)
	case unix.ENOENT:
		return nil
	case unix.EACCES, unix.ELOOP:
		return w.makeConflictCopy(s, l)
	default:
		return err
	}
	hold, err := w.leaseSource(fd)
	if err != nil {
		return err
	}
	defer hold.release()
	temp, err := w.readVersion(s.dir, r.Temp)
	known := temp.hasDigest(r.Before) || temp.hasDigest(r.After) ||
		l.before != nil && temp.hash == hashOf(l.before)
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
	_, there, err := w.findVersion(s.dir, s.base)
	if err == nil && !there {
		return w.runSyscall("put back", func() error { return renameNew(s.dir, r.Temp, s.dir, s.base) })
	} else if err != nil {
		return err
	}
	data, err := readAll(fd, temp.stamp.Size, w.maxSize())
	if len(data) == 0 && err == nil && hold == nil {
		err = w.Vault.checkEmpty(joinPath(s.path, r.Temp), temp.stamp)
	}
	switch {
	case errors.Is(err, ErrChanging), err == nil && hashOf(data) != temp.hash:
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
	_, err := w.Write(context.Background(), Change{
		Path: r.Path, Cause: mergeCause, Reason: "text that another program saved meanwhile", Requested: true, copies: true,
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
	})
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

// Repair resolves the remains of a crash: pending changes in the journal, and
// temporary files. A version that is neither the old nor the new one of a
// change was written by another program. Repair puts that version back or, if
// there is a newer one, makes it a conflict copy. Changes that cannot be resolved
// yet are tried again later. No write is made before a successful repair: the
// first write repairs if necessary.
//
// The error is an [ErrRoot], or the context's.
func (w *Writer) Repair(ctx context.Context) error {
	_, err := withTimeout(ctx, w.Vault, func(ctx context.Context) (none struct{}, _ error) {
		w.repair.Lock()
		defer w.repair.Unlock()
		return none, w.repairRoot(ctx)
	})
	return err
}

// repairOnce repairs the root unless that is done.
func (w *Writer) repairOnce(ctx context.Context) error {
	w.repair.Lock()
	defer w.repair.Unlock()
	if w.repaired {
		return nil
	}
	return w.repairRoot(ctx)
}

func (w *Writer) repairRoot(ctx context.Context) error {
	found, empty, err := w.findTempFiles(ctx)
	if err != nil {
		return err
	}
	pending := w.Journal.Pending()
	if empty && len(pending) > 0 {
		return rootError(w.Vault.Dir, errEmpty)
	}
	w.repaired = true
	records := append(pending, w.Journal.List(time.Time{}, "", 0)...)
	for _, r := range records {
		dir, there := found[r.Temp]
		done := r.State != journal.StateIntent
		if done && !there {
			continue
		}
		if there { // its directory may have been renamed
			delete(found, r.Temp)
			_, base := cutLast(r.Path)
			r.Path = joinPath(dir, base)
		}
		if err := w.settleNow(&leftover{record: r, decided: done, made: done, recorded: done, crashed: true}); err != nil {
			w.logger().Warn("cannot resolve an interrupted change, retrying later", "path", r.Path, "err", err)
		}
	}
	for name, dir := range found {
		path := joinPath(dir, name)
		if strings.HasSuffix(name, tempSuffix) {
			w.logger().Warn("a temporary file is of no known change; compare it with the files beside it, then remove it",
				"path", path)
		} else if s, err := w.openParent(path); err == nil {
			w.unlinkFile(s.dir, s.base)
			s.close()
		}
	}
	return nil
}

// errEmpty reports a root without any files although changes are pending.
// Missing files then prove nothing about the changes. Most probably the disk is
// not mounted.
var errEmpty = errors.New("empty, but changes of its files are pending; mount the disk, or create a file in the " +
	"directory")

// findTempFiles returns the directories of drafts and temporary files by name. It
// reports whether nothing at all is below the root.
func (w *Writer) findTempFiles(ctx context.Context) (found map[string]string, empty bool, err error) {
	var root int
	err = w.Vault.runStep(func() (err error) { root, err = w.Vault.openRoot(); return err })
	if err != nil {
		return nil, false, err
	}
	defer unix.Close(root)
	found, empty = map[string]string{}, true
	for todo := []string{""}; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var entries []fs.DirEntry
		err := w.Vault.runStep(func() error {
			fd, err := openDir(root, dir, unix.O_RDONLY)
			if err == nil {
				f := os.NewFile(uintptr(fd), dir)
				defer f.Close()
				entries, _ = f.ReadDir(-1)
			}
			return err
		})
		if isFileLimit(err) {
			return nil, false, rootError(w.Vault.Dir, err)
		}
		// Where a directory cannot be read, the writer could not write either.
		empty = empty && err == nil && len(entries) == 0
		for _, e := range entries {
			name := e.Name()
			switch {
			case e.IsDir() && w.Vault.Skips(joinPath(dir, name), true) == "":
				todo = append(todo, joinPath(dir, name))
			case !strings.HasPrefix(name, tempPrefix) || !e.Type().IsRegular():
			case strings.HasSuffix(name, tempSuffix), strings.HasSuffix(name, draftSuffix):
				found[name] = dir
			}
		}
	}
	return found, empty, nil
}

func joinPath(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}
