package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// A spot is the directory of a file, open, and the file's name in it.
type spot struct {
	path string
	dir  int
	base string
}

func (s *spot) close() { unix.Close(s.dir) }

// open goes to the directory of a file. Unlike [at] it opens it for reading,
// which is what syncing it needs.
func (w *Writer) open(path string) (*spot, error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	parent, base, nested := cutLast(path)
	if !nested {
		parent, base = "", path
	}
	dir, err := openDir(root, parent, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &spot{path, dir, base}, nil
}

// attempt makes a change once. The error is errLost if others were faster.
func (w *Writer) attempt(ctx context.Context, c *Change) (Written, error) {
	s, err := w.open(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return w.create(ctx, c)
	}
	if err != nil {
		return Written{}, err
	}
	defer s.close()
	old, err := w.read(ctx, s, c.Asked)
	if errors.Is(err, fs.ErrNotExist) {
		return w.create(ctx, c)
	}
	if err != nil {
		return Written{}, err
	}
	defer old.close()

	refusal := w.refuses(old)
	data, err := w.ask(c, old)
	remove := errors.Is(err, ErrRemove)
	switch {
	case remove && refusal == nil:
	case err != nil && refusal != nil:
		return Written{}, refusal
	case err != nil:
		return Written{}, err
	case data == nil, bytes.Equal(data, old.Data):
		return Written{Hash: old.hash}, nil
	case refusal != nil:
		return Written{}, refusal
	}
	if err := w.fits(c.Path, data); err != nil {
		return Written{}, err
	}
	foreign := w.changed(old)
	if err := w.mayTouch(c, foreign); err != nil {
		return Written{}, err
	}
	if remove {
		return w.remove(s, old, c, foreign)
	}
	return w.replace(s, old, c, data, foreign)
}

// A source is a file as it is to be changed, open.
type source struct {
	File
	fd   int
	stat unix.Stat_t
	hash [32]byte
}

func (o *source) close() { unix.Close(o.fd) }

// read reads a file that is to be changed. What may not be all of it is errLost.
func (w *Writer) read(ctx context.Context, s *spot, asked bool) (*source, error) {
	if err := w.believe(ctx, s, asked); err != nil {
		return nil, err
	}
	fd, err := w.Vault.openFile(s.dir, s.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost // it was there a moment ago
	}
	if err != nil {
		return nil, err
	}
	o := &source{fd: fd}
	if err := unix.Fstat(fd, &o.stat); err != nil {
		o.close()
		return nil, err
	}
	o.File, err = w.Vault.readAt(s.dir, s.base, s.path)
	switch {
	case err == nil && o.Unsettled:
		err = errOpen
	case errors.Is(err, ErrChanging), errors.Is(err, fs.ErrNotExist), err == nil && o.Stamp != stampOf(&o.stat):
		err = errLost
	case err == nil:
		o.hash = hashOf(o.Data)
		return o, nil
	}
	o.close()
	return nil, err
}

// believe waits until it can be believed that a file is gone that was there:
// somebody may be saving it by moving the old one away first.
func (w *Writer) believe(ctx context.Context, s *spot, asked bool) error {
	for {
		var st unix.Stat_t
		err := fstatat(s.dir, s.base, &st)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		left := w.missing(s.path)
		switch {
		case left <= 0:
			return fs.ErrNotExist
		case !asked:
			return &WaitError{s.path, "it is gone, and may be about to be saved", left}
		case ctx.Err() != nil:
			return ctx.Err()
		}
		sleep(ctx, min(left, lostPause))
	}
}

// replace puts data in the place of the old file.
func (w *Writer) replace(s *spot, old *source, c *Change, data []byte, foreign time.Time) (Written, error) {
	draft, err := w.makeDraft(s, data, old)
	if err != nil {
		return Written{}, err
	}
	return w.journalled(s, c, draft, old.Data, data, foreign, func() error {
		if err := w.swap(s, old, draft); err != nil {
			return err
		}
		err := w.syncDir(s)
		if err != nil {
			err = errors.Join(err, w.putBack(s, draft.temp(), draft.look))
		}
		return err
	})
}

// journalled does what puts a draft in its place, after the journal has been told
// that it is going to be done, and tells it what came of it. If that failed it is
// looked at what it has left, whatever the error says.
func (w *Writer) journalled(s *spot, c *Change, draft *draft, before, after []byte, foreign time.Time, do func() error) (Written, error) {
	r, err := w.Journal.Begin(record(c, draft.temp(), before, after))
	if err != nil {
		w.drop(s, draft)
		return Written{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	written := Written{ID: r.ID, Changed: true}
	if after != nil {
		written.Hash = hashOf(after)
	}
	disown := w.own(c.Path, written.Hash, foreign)
	err = do()
	if err == nil {
		w.done(s, c, r, written.Hash)
		return written, nil
	}
	switch happened, unsettled := w.settle(s, r, false); {
	case unsettled != nil:
		w.logger().Warn("what a change has left cannot be cleared away yet", "path", c.Path, "err", unsettled)
		w.lookLater(lateLook{record: r, pause: lateAfter, told: true})
	case happened:
		w.happened(c, err, s)
		return written, nil
	default:
		disown()
	}
	return Written{}, err
}

// happened notes that a change was made although something said that it was not.
func (w *Writer) happened(c *Change, said error, spots ...*spot) {
	if !c.Asked {
		w.spend(c.Path)
	}
	w.logger().Warn("a change was made although that was said to fail", "path", c.Path, "err", said)
	for _, s := range spots {
		if err := w.syncDir(s); err != nil {
			w.logger().Warn("a change was made, and may not outlast a power failure", "path", c.Path, "err", err)
		}
	}
}

func (w *Writer) syncDir(s *spot) error {
	return w.call("sync directory", func() error { return unix.Fsync(s.dir) })
}

// errJournal: the error is not one of the file.
var errJournal = errors.New("it is not changed without a note in the journal")

// record is what the journal is told of a change.
func record(c *Change, temp string, before, after []byte) journal.Record {
	r := journal.Record{
		Group: c.Group, Path: c.Path, Cause: c.Cause, Reason: c.Reason, Undoes: c.Undoes,
		Before: journal.Digest(before), After: journal.Digest(after), Temp: temp, Forgotten: c.Secret,
	}
	if !c.Secret {
		r.Hunks = journal.Hunks(before, after)
	}
	return r
}

// swap lets the draft and the file change places, if the file is still what was
// read. Without an error the old file is under the draft's name for changed
// places; with errLost, somebody saved it, and theirs is in its place.
//
// Where there are leases nobody can have the file open for writing meanwhile. A
// program that is just about to open it has to wait, which is found out before
// it may go on; then the file it is going to write is put where it belongs.
func (w *Writer) swap(s *spot, old *source, d *draft) error {
	temp := d.temp()
	if err := w.call("name temporary file", func() error { return supported(renameNew(s.dir, d.name, s.dir, temp)) }); err != nil {
		return err
	}
	hold, err := w.lease(old.fd)
	if err != nil {
		return err
	}
	defer hold.release()
	if now, err := w.look(s.dir, s.base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err != nil || now.stamp != old.Stamp || now.hash != old.hash || !hold.held() {
		return errLost
	}
	err = w.call("exchange", func() error { return supported(exchange(s.dir, temp, s.base)) })
	if errors.Is(err, fs.ErrNotExist) {
		return errLost // the file was moved away
	}
	if err != nil {
		return err
	}
	out, err := w.look(s.dir, temp)
	if err == nil && out.same(look{old.Stamp, old.hash}) && hold.held() {
		return nil
	}
	if err := errors.Join(err, w.putBack(s, temp, d.look)); err != nil {
		return err
	}
	return errLost
}

// exchangeHold is how long others may be kept from writing to a file while it is
// exchanged. It takes a millisecond, unless the machine has no time for us: then
// it would have to be taken back each time, if this were as short as for reading.
const exchangeHold = 300 * time.Millisecond

// lease keeps others from writing to an open file; it is nil where nothing can.
func (w *Writer) lease(fd int) (*lease, error) {
	l, err := w.Vault.lease(fd, exchangeHold)
	if errors.Is(err, errWriter) {
		return nil, errOpen
	}
	if err != nil {
		return nil, nil
	}
	return l, nil
}
