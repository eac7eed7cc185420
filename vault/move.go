package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Move renames a file and creates the missing directories of the new path. The
// old directories stay. The conditions of [Writer.Write] apply; Move refuses an
// existing new path. It ignores c.Path. If c.Edit is not nil, Move calls it
// first; it may stop the move with an error but must not change the content.
func (w *Writer) Move(ctx context.Context, from, to string, c Change) (Written, error) {
	c.Path = from
	if _, copied := memory.CopyOf(to); copied {
		return Written{}, &RefusedError{from, fmt.Sprintf("cannot move to %s: name of a conflict copy", to)}
	}
	if reason := w.Vault.Skips(to, false); reason != "" {
		return Written{}, &RefusedError{from,
			fmt.Sprintf("cannot move to %s: %s: excluded from memory", to, reason)}
	}
	release, err := w.takeTurn(ctx, &c)
	if err != nil {
		return Written{}, err
	}
	defer release()
	return w.writeWithRetry(ctx, &c, func() (Written, error) { return w.attemptMove(ctx, &c, to) })
}

func (w *Writer) attemptMove(ctx context.Context, c *Change, to string) (Written, error) {
	s, err := w.openParent(c.Path)
	if err != nil {
		return Written{}, err
	}
	defer s.close()
	old, err := w.readSource(ctx, s, c.Requested)
	if err != nil {
		return Written{}, err
	}
	defer old.close()
	if c.Edit != nil {
		data, err := w.callEdit(c, old)
		if err == nil && data != nil && !bytes.Equal(data, old.Data) {
			err = errors.New("a move must not change the content")
		}
		if err != nil {
			return Written{}, err
		}
	}
	if err := w.writePolicy().checkWritable(old); err != nil {
		return Written{}, err
	}
	foreign := w.writePolicy().lastExternalChange(old)
	if err := w.writePolicy().checkIdle(c, foreign); err != nil {
		return Written{}, err
	}
	target, made, err := w.createParent(to)
	if err != nil {
		return Written{}, err
	}
	defer target.close()
	written, err := w.moveFile(s, target, old, c, made, foreign)
	if err != nil {
		w.removeMade(to, made)
	}
	return written, err
}

func (w *Writer) moveFile(s, target *dirEntry, old *source, c *Change, made int, foreign time.Time) (Written, error) {
	r := newRecord(c, "", old.Data, old.Data)
	r.To, r.Made = target.path, made
	r, err := w.Journal.Begin(r)
	if err != nil {
		return Written{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	disown := w.recordOwnVersion(target.path, old.hash, foreign)
	err = w.renameFile(s, target, old, "move", "move back")
	switch {
	case errors.Is(err, fs.ErrExist):
		err = &RefusedError{s.path, fmt.Sprintf("%s already exists; move one of the two files", target.path)}
	case err == nil:
		err = errors.Join(w.syncDir(target), w.syncDir(s))
		if err != nil {
			err = errors.Join(err, w.renameBack(s, target, "move back"))
		}
	}
	happened, unsettled := w.rechecks().resolveChange(s, r, false)
	written := Written{ID: r.ID, Changed: true}
	switch {
	case unsettled != nil:
		w.logger().Warn("cannot record the outcome of a change in the journal", "path", c.Path, "err", unsettled)
		w.rechecks().scheduleRecheck(recheck{record: r, pause: recheckDelay})
		if err == nil {
			return written, nil
		}
	case happened:
		if err != nil {
			w.confirmDespiteError(c, err, target, s)
		} else if !c.Requested {
			w.countWrite(c.Path)
		}
		return written, nil
	case err == nil:
		err = errConcurrentSave // the move was already reverted
	}
	disown()
	return Written{}, err
}

// renameFile moves a file to a name that does not exist, if the file is still
// the version read. On errConcurrentSave another program saved the file, which
// has its old name again. The system calls are named do and undo.
func (w *Writer) renameFile(s, target *dirEntry, old *source, do, undo string) error {
	return w.renameLeased(s, target, old, do,
		func() error { return renameNew(s.dir, s.base, target.dir, target.base) },
		func() error { return w.renameBack(s, target, undo) })
}

// renameBack reverts renameFile.
func (w *Writer) renameBack(s, target *dirEntry, undo string) error {
	return w.runSyscall(undo, func() error { return renameNew(target.dir, target.base, s.dir, s.base) })
}

// resolveMove reports whether a move was made. A new file may exist at the old
// path.
func (w *Writer) resolveMove(r journal.Record) (happened bool, err error) {
	find := func(path string) (l fileVersion, there bool, err error) {
		s, err := w.openParent(path)
		if err == nil {
			defer s.close()
			l, err = w.readVersion(s.dir, s.base)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return l, false, nil
		}
		return l, err == nil, err
	}
	from, stays, err := find(r.Path)
	if err != nil {
		return false, err
	}
	to, arrived, err := find(r.To)
	return arrived && (!stays || to.hasDigest(r.After) && !from.hasDigest(r.Before)), err
}
