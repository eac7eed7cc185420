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

// A spot is the open directory of a file and the name of the file in it.
type spot struct {
	path string
	dir  int
	base string
}

func (s *spot) close() { unix.Close(s.dir) }

// open opens the directory of a file. Unlike [at], it opens the directory for
// reading, which syncing requires.
func (w *Writer) open(path string) (*spot, error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	parent, base := cutLast(path)
	dir, err := openDir(root, parent, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &spot{path, dir, base}, nil
}

// attempt makes a change once. If another program saves the file meanwhile, the
// error is errLost.
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

	refusal := w.gate().refuses(old)
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
	if err := w.gate().fits(c.Path, data); err != nil {
		return Written{}, err
	}
	foreign := w.gate().changed(old)
	if err := w.gate().mayTouch(c, foreign); err != nil {
		return Written{}, err
	}
	if remove {
		return w.remove(s, old, c, foreign)
	}
	return w.replace(s, old, c, data, foreign)
}

// A source is an open file that is to be changed.
type source struct {
	File
	fd   int
	stat unix.Stat_t
	hash [32]byte
}

func (o *source) close() { unix.Close(o.fd) }

// read reads a file that is to be changed. If the content may be incomplete,
// the error is errLost.
func (w *Writer) read(ctx context.Context, s *spot, asked bool) (*source, error) {
	if err := w.believe(ctx, s, asked); err != nil {
		return nil, err
	}
	o, err := w.openSource(s)
	switch {
	case errors.Is(err, ErrChanging), errors.Is(err, fs.ErrNotExist): // it was there a moment ago
		return nil, errLost
	case err != nil:
		return nil, err
	case o.Unsettled:
		err = errOpen
	case o.Stamp != stampOf(&o.stat):
		err = errLost
	default:
		return o, nil
	}
	o.close()
	return nil, err
}

// openSource opens and reads a file.
func (w *Writer) openSource(s *spot) (*source, error) {
	fd, err := w.Vault.openFile(s.dir, s.base)
	if err != nil {
		return nil, err
	}
	o := &source{fd: fd}
	err = unix.Fstat(fd, &o.stat)
	if err == nil {
		o.File, err = w.Vault.readAt(s.dir, s.base, s.path)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	o.hash = hashOf(o.Data)
	return o, nil
}

// believe returns fs.ErrNotExist if the file is missing. If the file existed
// until recently, believe first waits, because a program may be saving it by
// moving the old file away; for an unasked change it returns a [*WaitError]
// instead.
func (w *Writer) believe(ctx context.Context, s *spot, asked bool) error {
	for {
		var st unix.Stat_t
		err := fstatat(s.dir, s.base, &st)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		left := w.gate().missing(s.path)
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

// replace replaces the old file with data.
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

// journalled records a change in the journal, calls do to put the draft in
// place, and records the result. If do fails, journalled examines the files to
// find out whether the change was made, regardless of the error.
func (w *Writer) journalled(s *spot, c *Change, draft *draft, before, after []byte, foreign time.Time,
	do func() error) (Written, error) {
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
		w.rechecks().done(s, c, r, written.Hash)
		return written, nil
	}
	switch happened, unsettled := w.rechecks().settle(s, r, false); {
	case unsettled != nil:
		w.logger().Warn("what a change has left cannot be cleared away yet", "path", c.Path, "err", unsettled)
		w.rechecks().lookLater(lateLook{record: r, pause: lateAfter, told: true})
	case happened:
		w.happened(c, err, s)
		return written, nil
	default:
		disown()
	}
	return Written{}, err
}

// happened logs and syncs a change that was made although the operation
// reported an error.
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

// errJournal reports an error of the journal, not of the file.
var errJournal = errors.New("it is not changed without a note in the journal")

// record returns the journal's record of a change.
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

// swap exchanges the draft and the file, if the file is still the version read.
// On success the old file has the name d.temp(). On errLost another program
// saved the file, and its version is in place.
//
// With a lease, no program can have the file open for writing during the
// exchange. A program about to open the file is blocked; swap detects this
// before the program continues, and puts back the file that the program is
// going to write.
func (w *Writer) swap(s *spot, old *source, d *draft) error {
	temp := d.temp()
	if err := w.call("name temporary file",
		func() error { return supported(renameNew(s.dir, d.name, s.dir, temp)) }); err != nil {
		return err
	}
	hold, err := w.lease(old.fd)
	if err != nil {
		return err
	}
	defer hold.release()
	if err := w.unchanged(s, old, hold); err != nil {
		return err
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

// unchanged returns errLost unless the file is still the version read and no
// program waits to write it.
func (w *Writer) unchanged(s *spot, old *source, hold *lease) error {
	now, err := w.look(s.dir, s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || now.stamp != old.Stamp || now.hash != old.hash || !hold.held() {
		return errLost
	}
	return nil
}

// exchangeHold bounds the lease during an exchange, which takes about a
// millisecond. A limit as short as that for reading would force the writer to
// revert every exchange on an overloaded machine.
const exchangeHold = 300 * time.Millisecond

// lease takes a read lease on an open file. It returns nil where leases are
// unavailable, and errOpen if a program has the file open for writing.
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

// A new version is written next to the file as a draft, which other programs
// ignore and may remove. Before the exchange the draft is renamed to its
// temporary name. The file with that name may contain a person's version after
// the exchange, so it is removed only if its content is known.
const (
	tempPrefix  = ".memwatchd-"
	tempEnding  = ".tmp"
	draftSuffix = ".part"
)

// A draft is a complete new version of a file, durable on disk.
type draft struct {
	name string
	look look
}

// temp returns the temporary name, which the draft has during the exchange.
func (d *draft) temp() string { return strings.TrimSuffix(d.name, draftSuffix) + tempEnding }

// draftOf returns the draft name for a temporary name.
func draftOf(temp string) string { return strings.TrimSuffix(temp, tempEnding) + draftSuffix }

func draftName() string { return tempPrefix + strings.ToLower(rand.Text()[:13]) + draftSuffix }

// makeDraft writes data to a draft next to the file at s. The draft has the
// attributes of the old file but new times. Without an old file, the draft is
// as accessible as the directory, or private to its owner for one of
// [Writer.Settings].
func (w *Writer) makeDraft(s *spot, data []byte, old *source) (*draft, error) {
	d := &draft{name: draftName()}
	var f *os.File
	err := w.call("create temporary file", func() error {
		fd, err := openAt(s.dir, d.name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
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

// dress gives a draft the owner, attributes and mode of the old file.
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
		err := w.call("set owner of temporary file",
			func() error { return unix.Fchown(fd, int(old.stat.Uid), int(old.stat.Gid)) })
		if err != nil {
			return fmt.Errorf("%w: %w", errUndress, err)
		}
	}
	if err := w.call("copy", func() error { return copyAttributes(old.fd, fd) }); err != nil {
		return fmt.Errorf("%w: %w", errUndress, err)
	}
	return mode(uint32(old.stat.Mode) & 0o7777)
}

// errUndress reports that the new file would lack attributes of the old file.
var errUndress = errors.New("owner and attributes cannot be kept")

// drop removes a useless draft, and schedules a recheck if that fails.
func (w *Writer) drop(s *spot, d *draft) {
	if w.discard(s.dir, d.name) != nil {
		w.rechecks().lookLater(lateLook{record: journal.Record{Path: s.path, Temp: d.temp()}, pause: lateAfter})
	}
}

// discard removes a file of this writer.
func (w *Writer) discard(dir int, name string) error {
	return w.call("remove "+name, func() error {
		err := unix.Unlinkat(dir, name, 0)
		if err == unix.ENOENT {
			return nil
		}
		return err
	})
}

// errNoExchange reports that the file system cannot exchange two files
// atomically. No other method of replacing is safe.
var errNoExchange = errors.New("the file system cannot exchange two files in one step, without which a save at the same moment could be lost; edit the file yourself, or keep memory on another file system")

// supported returns errNoExchange if err means that the file system never
// supports the operation, and err otherwise.
func supported(err error) error {
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP {
		return errNoExchange
	}
	return err
}

// A look identifies a file and its content at one moment. The hash is zero if
// the file is not regular or not readable.
type look struct {
	stamp memory.Stamp
	hash  [32]byte
}

// same reports whether the file and its content are the same.
func (l look) same(other look) bool {
	return l.stamp.Inode == other.stamp.Inode && l.hash == other.hash
}

// holds reports whether the content has the given digest.
func (l look) holds(digest string) bool {
	return l.hash != [32]byte{} && journal.DigestOf(l.hash) == digest
}

// look returns the identity and hash of a file of any size.
func (w *Writer) look(dir int, base string) (l look, err error) {
	err = w.call("look at "+base, func() error {
		var st unix.Stat_t
		if err := fstatat(dir, base, &st); err != nil {
			return err
		}
		l.stamp = stampOf(&st)
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil
		}
		fd, err := openAt(dir, base, readOnly)
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

// lookAt returns the identity and hash of an open file.
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

// swapsBack bounds the exchanges in one call of putBack. Each repetition
// requires another save at the same instant.
const swapsBack = 100

// putBack exchanges the file named temp, which another program saved, with this
// writer's version in the file's place. If the exchange replaces a version
// other than the expected one, another program has saved the file again, and
// putBack repeats the exchange with the newer version. On success, the caller
// must clear any file still named temp.
func (w *Writer) putBack(s *spot, temp string, ours look) error {
	in := ours // the file expected at s.base
	for range swapsBack {
		// For an unreadable file, the inode is enough.
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
			// After two saves, the later one replaced the whole file.
			w.discard(s.dir, temp)
		}
		return nil
	}
	return fmt.Errorf("put back: %w", errLost)
}
