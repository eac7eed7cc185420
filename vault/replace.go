package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A dirEntry is the open directory of a file and the name of the file in it.
type dirEntry struct {
	path string
	dir  int
	base string
}

func (s *dirEntry) close() { unix.Close(s.dir) }

// reopen returns a copy to be closed separately, or nil without a free descriptor.
func (s *dirEntry) reopen() *dirEntry {
	fd, err := unix.FcntlInt(uintptr(s.dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &dirEntry{s.path, fd, s.base}
}

// openParent opens the directory of a file. Unlike [at], it opens the directory for
// reading, which syncing requires.
func (w *Writer) openParent(path string) (*dirEntry, error) {
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
	return &dirEntry{path, dir, base}, nil
}

// attemptWrite makes a change once. If another program saves the file meanwhile, the
// error is errConcurrentSave.
func (w *Writer) attemptWrite(ctx context.Context, c *Change) (Written, error) {
	s, err := w.openParent(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return w.createFile(c)
	}
	if err != nil {
		return Written{}, err
	}
	defer s.close()
	old, err := w.readSource(ctx, s, c.Requested)
	if errors.Is(err, fs.ErrNotExist) {
		return w.createFile(c)
	}
	if err != nil {
		return Written{}, err
	}
	defer old.close()

	refusal := w.writePolicy().checkWritable(old)
	data, err := w.callEdit(c, old)
	remove := errors.Is(err, ErrRemove)
	switch {
	case remove && refusal == nil:
	case err != nil && refusal != nil:
		return Written{}, refusal
	case err != nil:
		return Written{}, err
	case data == nil, bytes.Equal(data, old.Data):
		return Written{}, nil
	case refusal != nil:
		return Written{}, refusal
	}
	if err := w.writePolicy().checkContent(c.Path, data); err != nil {
		return Written{}, err
	}
	foreign := w.writePolicy().lastExternalChange(old)
	if err := w.writePolicy().checkIdle(c, foreign); err != nil {
		return Written{}, err
	}
	if remove {
		return w.removeFile(s, old, c, foreign)
	}
	return w.replaceFile(s, old, c, data, foreign)
}

// A source is an open file that is to be changed.
type source struct {
	File
	fd   int
	stat unix.Stat_t
	hash [32]byte
}

func (o *source) close() { unix.Close(o.fd) }

// readSource reads a file that is to be changed. If the content may be incomplete,
// the error is errConcurrentSave.
func (w *Writer) readSource(ctx context.Context, s *dirEntry, asked bool) (*source, error) {
	if err := w.waitPresent(ctx, s, asked); err != nil {
		return nil, err
	}
	o, err := w.openSource(s)
	switch {
	case errors.Is(err, ErrChanging), errors.Is(err, fs.ErrNotExist): // it was there a moment ago
		return nil, errConcurrentSave
	case err != nil:
		return nil, err
	case o.Unstable:
		err = errOpen
	case o.Stamp != stampOf(&o.stat):
		err = errConcurrentSave
	default:
		return o, nil
	}
	o.close()
	return nil, err
}

func (w *Writer) openSource(s *dirEntry) (*source, error) {
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

// waitPresent returns fs.ErrNotExist if the file is missing. If the file existed
// until recently, waitPresent first waits, because a program may be saving it by
// moving the old file away; for an automatic change it returns a [*WaitError]
// instead.
func (w *Writer) waitPresent(ctx context.Context, s *dirEntry, asked bool) error {
	for {
		var st unix.Stat_t
		err := fstatat(s.dir, s.base, &st)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		left := w.writePolicy().timeToDeletion(s.path)
		switch {
		case left <= 0:
			return fs.ErrNotExist
		case !asked:
			return &WaitError{s.path, "the file is missing, possibly because of a save in progress", left}
		case ctx.Err() != nil:
			return ctx.Err()
		}
		sleepContext(ctx, min(left, conflictPause))
	}
}

func (w *Writer) replaceFile(s *dirEntry, old *source, c *Change, data []byte, foreign time.Time) (Written, error) {
	draft, err := w.createTemp(s, data, old)
	if err != nil {
		return Written{}, err
	}
	return w.applyJournaled(s, c, draft, old.Data, data, foreign,
		func() error { return w.exchangeTemp(s, old, draft) },
		func() error { return w.putBack(s, draft.tempName(), draft.version) })
}

// applyJournaled records a change in the journal, calls do to put the draft in
// place, and records the result. If the directory cannot be synced, it calls undo.
// If one of these fails, applyJournaled examines the files to find out whether the
// change was made, regardless of the error.
func (w *Writer) applyJournaled(s *dirEntry, c *Change, draft *tempFile, before, after []byte, foreign time.Time,
	do, undo func() error) (Written, error) {
	r, err := w.Journal.Begin(newRecord(c, draft.tempName(), before, after))
	if err != nil {
		w.discardTemp(s, draft)
		return Written{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	var hash [32]byte
	if after != nil {
		hash = hashOf(after)
	}
	disown := w.recordOwnVersion(c.Path, hash, foreign)
	written := Written{ID: r.ID, Changed: true}
	err = do()
	if err == nil {
		err = w.syncDir(s)
		if err != nil {
			err = errors.Join(err, undo())
		}
	}
	if err == nil {
		w.rechecks().finishChange(s, c, r)
		return written, nil
	}
	if w.resolveFailed(s, c, r, err, disown) {
		return written, nil
	}
	return Written{}, err
}

// resolveFailed examines the files after a change failed, and reports whether the
// change was made all the same. disown reverts [Writer.recordOwnVersion].
func (w *Writer) resolveFailed(s *dirEntry, c *Change, r journal.Record, failure error, disown func()) bool {
	switch happened, unsettled := w.rechecks().resolveChange(s, r, false); {
	case unsettled != nil:
		w.logger().Warn("cannot clean up after a change, retrying later", "path", c.Path, "err", unsettled)
		w.rechecks().scheduleRecheck(recheck{entry: s.reopen(), record: r, pause: recheckDelay, logged: true})
	case happened:
		w.confirmDespiteError(c, failure, s)
		return true
	default:
		disown()
	}
	return false
}

// confirmDespiteError logs and syncs a change that was made although the operation
// reported an error.
func (w *Writer) confirmDespiteError(c *Change, said error, spots ...*dirEntry) {
	if !c.Requested {
		w.countWrite(c.Path)
	}
	w.logger().Warn("change took effect despite an error", "path", c.Path, "err", said)
	for _, s := range spots {
		if err := w.syncDir(s); err != nil {
			w.logger().Warn("change took effect, but may not survive a power failure", "path", c.Path, "err", err)
		}
	}
}

func (w *Writer) syncDir(s *dirEntry) error {
	return w.runSyscall("sync directory", func() error { return unix.Fsync(s.dir) })
}

// errJournal reports an error of the journal, not of the file.
var errJournal = errors.New("cannot record the change in the journal")

func newRecord(c *Change, temp string, before, after []byte) journal.Record {
	r := journal.Record{
		Group: c.Group, Path: c.Path, Cause: c.Cause, Reason: c.Reason, Undoes: c.Undoes,
		Before: journal.Digest(before), After: journal.Digest(after), Temp: temp, Forgotten: c.Secret,
		Automatic: !c.Requested, Program: c.program.name, Session: c.program.session,
	}
	if !c.Secret {
		r.Old, r.New = before, after
	}
	return r
}

// exchangeTemp exchanges the draft and the file, if the file is still the version read.
// On success the old file has the name d.temp(). On errConcurrentSave another program
// saved the file, and its version is in place.
//
// With a lease, no program can have the file open for writing during the
// exchange. A program about to open the file is blocked; exchangeTemp detects this
// before the program continues, and puts back the file that the program is
// going to write.
func (w *Writer) exchangeTemp(s *dirEntry, old *source, d *tempFile) error {
	temp := d.tempName()
	if err := w.runSyscall("name temporary file",
		func() error { return exchangeError(renameNew(s.dir, d.name, s.dir, temp)) }); err != nil {
		return err
	}
	return w.renameLeased(s, &dirEntry{dir: s.dir, base: temp}, old, "exchange",
		func() error { return exchange(s.dir, temp, s.base) },
		func() error { return w.putBack(s, temp, d.version) })
}

// renameLeased calls do to give a file the name of target, if the file is still the
// version read, or undo if another program saved the file meanwhile.
func (w *Writer) renameLeased(s, target *dirEntry, old *source, what string, do, undo func() error) error {
	hold, err := w.leaseSource(old.fd)
	if err != nil {
		return err
	}
	defer hold.release()
	if err := w.unchanged(s, old, hold); err != nil {
		return err
	}
	err = w.runSyscall(what, func() error { return exchangeError(do()) })
	if errors.Is(err, fs.ErrNotExist) {
		return errConcurrentSave // the file was moved away
	}
	if err != nil {
		return err
	}
	out, err := w.readVersion(target.dir, target.base)
	if err == nil && out.sameFile(fileVersion{old.Stamp, old.hash}) && hold.held() {
		return nil
	}
	// If another program has created a new file meanwhile, that file stays, and
	// resolveChange resolves the moved file by its content.
	err = errors.Join(err, undo())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errConcurrentSave
}

// unchanged returns errConcurrentSave unless the file is still the version read and no
// program waits to write it.
func (w *Writer) unchanged(s *dirEntry, old *source, hold *lease) error {
	now, err := w.readVersion(s.dir, s.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || now.stamp != old.Stamp || now.hash != old.hash || !hold.held() {
		return errConcurrentSave
	}
	return nil
}

// ExchangeLeaseTime bounds the lease during an exchange, which takes about a
// millisecond. A limit as short as that for reading would force the writer to
// revert every exchange on an overloaded machine, and make every automatic change wait.
// Tests set it before they write.
var ExchangeLeaseTime = 300 * time.Millisecond

// leaseSource takes a read lease on an open file. It returns nil where leases are
// unavailable, and errOpen if a program has the file open for writing.
func (w *Writer) leaseSource(fd int) (*lease, error) {
	l, err := w.Vault.leaseFile(fd, ExchangeLeaseTime)
	if errors.Is(err, errWriter) {
		return nil, errOpen
	}
	if err != nil {
		return nil, nil
	}
	return l, nil
}

// exchangeError returns errNoExchange if err means that the file system never
// supports the operation, and err otherwise.
func exchangeError(err error) error {
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP {
		return errNoExchange
	}
	return err
}

// A fileVersion identifies a file and its content at one moment. The hash is zero if
// the file is not regular or not readable.
type fileVersion struct {
	stamp memory.Stamp
	hash  [32]byte
}

func (l fileVersion) sameFile(other fileVersion) bool {
	return l.stamp.Inode == other.stamp.Inode && l.hash == other.hash
}

func (l fileVersion) hasDigest(digest string) bool {
	return l.hash != [32]byte{} && journal.DigestOf(l.hash) == digest
}

// readVersion returns the identity and hash of a file of any size.
func (w *Writer) readVersion(dir int, base string) (l fileVersion, err error) {
	err = w.runSyscall("stat "+base, func() error {
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
		l, err = readOpenVersion(fd)
		return err
	})
	return l, err
}

// readOpenVersion returns the identity and hash of an open file.
func readOpenVersion(fd int) (fileVersion, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileVersion{}, err
	}
	l := fileVersion{stamp: stampOf(&st)}
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

// maxPutBacks bounds the exchanges in one call of putBack. Each repetition
// requires another save at the same instant.
const maxPutBacks = 100

// putBack exchanges the file named temp, which another program saved, with this
// writer's version in the file's place. If the exchange replaces a version
// other than the expected one, another program has saved the file again, and
// putBack repeats the exchange with the newer version. On success, the file
// named temp, if any, has an earlier version, and the caller must resolve it.
func (w *Writer) putBack(s *dirEntry, temp string, ours fileVersion) error {
	in := ours // the file expected at s.base
	for range maxPutBacks {
		// For an unreadable file, the inode is enough.
		back, err := w.readVersion(s.dir, temp)
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = w.runSyscall("put back", func() error { return exchange(s.dir, temp, s.base) })
		if errors.Is(err, fs.ErrNotExist) {
			err = w.runSyscall("put back", func() error { return renameNew(s.dir, temp, s.dir, s.base) })
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
		out, err := w.readVersion(s.dir, temp)
		if err != nil || out.sameFile(in) {
			return err
		}
		in = back
	}
	return fmt.Errorf("put back: %w", errConcurrentSave)
}
