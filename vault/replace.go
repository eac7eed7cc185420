package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
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

// A new version is written under a name of its own beside the file: a draft,
// which nobody else ever sees and anybody may remove. Before it changes places
// with the file it gets another name, because what is under that one may be a
// person's version, and is never removed unless it is known what it is.
const (
	tempPrefix  = ".memwatchd-"
	tempEnding  = ".tmp"
	draftSuffix = ".part"
)

// A draft is a new version of a file, whole and on the disk.
type draft struct {
	name string
	look look
}

// temp is the name under which it changes places with the file.
func (d *draft) temp() string { return strings.TrimSuffix(d.name, draftSuffix) + tempEnding }

// draftOf is the name that a temporary file had before.
func draftOf(temp string) string { return strings.TrimSuffix(temp, tempEnding) + draftSuffix }

func draftName() string { return tempPrefix + strings.ToLower(rand.Text()[:13]) + draftSuffix }

// makeDraft writes data into a file of its own beside the one at s: like the old
// one in everything but content and times, which are those of now, or, if there
// is none, as readable as the directory is, or its owner's alone.
func (w *Writer) makeDraft(s *spot, data []byte, old *source) (*draft, error) {
	d := &draft{name: draftName()}
	var f *os.File
	err := w.call("create temporary file", func() error {
		fd, err := retry(func() (int, error) {
			return unix.Openat(s.dir, d.name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		})
		if err == nil {
			f = os.NewFile(uintptr(fd), d.name)
		}
		return err
	})
	if err == nil {
		if err = w.fillDraft(f, s, data, old); err == nil {
			d.look, err = lookAt(int(f.Fd()))
		}
	}
	if f != nil {
		f.Close()
	}
	if err != nil {
		w.drop(s, d)
		return nil, err
	}
	return d, nil
}

func (w *Writer) fillDraft(f *os.File, s *spot, data []byte, old *source) error {
	for rest := data; len(rest) > 0; {
		err := w.call("write temporary file", func() error {
			n, err := unix.Write(int(f.Fd()), rest)
			rest = rest[max(n, 0):]
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := w.dress(f, s, old); err != nil {
		return err
	}
	return w.call("sync temporary file", f.Sync)
}

// dress gives a new file the owner, attributes and mode of the old one.
func (w *Writer) dress(f *os.File, s *spot, old *source) error {
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	mode := func(bits uint32) error {
		return w.call("set mode of temporary file", func() error { return unix.Fchmod(fd, bits) })
	}
	if old == nil {
		var parent unix.Stat_t
		if err := unix.Fstat(s.dir, &parent); err != nil {
			return err
		}
		if slices.Contains(w.Settings, s.path) {
			return mode(0o600)
		}
		return mode(uint32(parent.Mode) & 0o666)
	}
	if st.Uid != old.stat.Uid || st.Gid != old.stat.Gid {
		err := w.call("set owner of temporary file", func() error { return unix.Fchown(fd, int(old.stat.Uid), int(old.stat.Gid)) })
		if err != nil {
			return fmt.Errorf("%w: %w", errUndress, err)
		}
	}
	if err := w.call("copy", func() error { return copyAttributes(old.fd, fd) }); err != nil {
		return fmt.Errorf("%w: %w", errUndress, err)
	}
	return mode(uint32(old.stat.Mode) & 0o7777)
}

// errUndress: the new file would lack what the old one has.
var errUndress = errors.New("owner and attributes cannot be kept")

// drop removes a draft that is of no use, later if it cannot now.
func (w *Writer) drop(s *spot, d *draft) {
	if w.discard(s.dir, d.name) != nil {
		w.lookLater(lateLook{record: journal.Record{Path: s.path, Temp: d.temp()}, pause: lateAfter})
	}
}

// discard removes a file of ours.
func (w *Writer) discard(dir int, name string) error {
	return w.call("remove "+name, func() error {
		err := unix.Unlinkat(dir, name, 0)
		if err == unix.ENOENT {
			return nil
		}
		return err
	})
}

// errNoExchange: two files cannot change places here in one step, and nothing
// else is safe.
var errNoExchange = errors.New("the file system cannot exchange two files in one step, without which a save at the same moment could be lost; edit the file yourself, or keep memory on another file system")

// supported tells apart that a file system never does what it was asked for.
func supported(err error) error {
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP {
		return errNoExchange
	}
	return err
}

// A look is what a file is at one moment: which one, and its content. What is no
// regular file, or cannot be read by us, has none.
type look struct {
	stamp memory.Stamp
	hash  [32]byte
}

// same reports whether it is the same file with the same content.
func (l look) same(other look) bool {
	return l.stamp.Inode == other.stamp.Inode && l.hash == other.hash
}

// holds reports whether the content has that digest.
func (l look) holds(digest string) bool {
	return l.hash != [32]byte{} && journal.DigestOf(l.hash) == digest
}

// look sees what a file is, however large.
func (w *Writer) look(dir int, base string) (l look, err error) {
	err = w.call("look at "+base, func() error {
		var st unix.Stat_t
		if err := fstatat(dir, base, &st); err != nil {
			return err
		}
		if l.stamp = stampOf(&st); st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil
		}
		fd, err := retry(func() (int, error) {
			return unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		})
		if err == unix.EACCES || err == unix.ELOOP {
			return nil
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		l, err = lookAt(fd)
		return err
	})
	return l, err
}

// lookAt sees what an open file is.
func lookAt(fd int) (look, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return look{}, err
	}
	l := look{stamp: stampOf(&st)}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return l, nil
	}
	hash := sha256.New()
	buf := make([]byte, min(max(st.Size, 512), 256<<10))
	for offset := int64(0); ; {
		n, err := retry(func() (int, error) { return unix.Pread(fd, buf, offset) })
		if err != nil {
			return l, err
		}
		if n == 0 {
			hash.Sum(l.hash[:0])
			return l, nil
		}
		hash.Write(buf[:n])
		offset += int64(n)
	}
}

// swapsBack is how often what somebody has just saved is put back in a row: each
// time they would have to save once more in the same instant.
const swapsBack = 100

// putBack gives the file under the name temp, which somebody else has saved, its
// place again, where ours is. If what comes out is not what was put in before,
// they have saved once more meanwhile: then that is put in, and so on. Without an
// error, what is left under the name temp, if anything, is to be cleared away.
func (w *Writer) putBack(s *spot, temp string, ours look) error {
	in := ours // what lies in the file's place, as far as we know
	for range swapsBack {
		// Which file it is will do, where it cannot be read.
		back, err := w.look(s.dir, temp)
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = w.call("put back", func() error { return exchange(s.dir, temp, s.base) })
		if errors.Is(err, fs.ErrNotExist) {
			err = w.call("put back", func() error { return renameNew(s.dir, temp, s.dir, s.base) })
			if err == nil {
				return nil
			}
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
		out, err := w.look(s.dir, temp)
		switch {
		case err != nil:
			return err
		case !out.same(in):
			in = back
			continue
		case in != ours && back.stamp.Inode != ours.stamp.Inode:
			// Two saves, of which the later one replaced the whole file.
			w.discard(s.dir, temp)
		}
		return nil
	}
	return fmt.Errorf("put back: %w", errLost)
}
