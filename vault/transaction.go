package vault

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// A transaction is one attempt at a change. It creates, replaces, removes or moves
// a file:
//
//	create   write the draft, name it
//	replace  write the draft, exchange it with the file
//	remove   give the file the temporary name
//	move     rename the file
//
// The old file then has the temporary name, until [Writer.settle] has looked
// at it once more.
type transaction struct {
	*Writer
	change   *Change
	entry    *dirEntry // of the file
	target   *dirEntry // of the new path of a moved file
	old      *source   // nil if there is no file
	data     []byte    // the new content; nil to remove or move the file
	made     int       // number of created directories
	record   journal.Record
	renamed  bool      // rename has changed the names
	external time.Time // when another program last changed the file
}

func (t *transaction) close() {
	for _, s := range []*dirEntry{t.entry, t.target} {
		if s != nil {
			s.close()
		}
	}
	if t.old != nil {
		t.old.close()
	}
}

// openParent opens the directory of a file for reading, which syncing requires.
func (w *Writer) openParent(path string) (s *dirEntry, err error) {
	err = w.Vault.runStep(func() (err error) { s, err = w.Vault.openParent(path, unix.O_RDONLY); return err })
	return s, err
}

// inParent calls do with the directory of a file, unless the directory is gone.
func (w *Writer) inParent(path string, do func(s *dirEntry) error) error {
	s, err := w.openParent(path)
	if err != nil {
		return ignoreError(err, fs.ErrNotExist)
	}
	defer s.close()
	return do(s)
}

// ignoreError returns err, or nil if err is the given one.
func ignoreError(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// A source is an open file that is to be changed.
type source struct {
	File
	fd   int
	stat unix.Stat_t
	hash [32]byte
}

func (o *source) close() { unix.Close(o.fd) }

func (o *source) version() fileVersion { return fileVersion{o.Stamp.Inode, journal.DigestOf(o.hash)} }

// read opens and reads the file. If the content may be incomplete, the error is
// errConcurrentSave; if there is no file, it is fs.ErrNotExist.
func (t *transaction) read(ctx context.Context) (err error) {
	t.entry, err = t.openParent(t.change.Path)
	if err == nil {
		err = t.waitPresent(ctx, t.entry, t.change.Requested)
	}
	if err != nil {
		return err
	}
	old := &source{fd: -1}
	err = t.Vault.runStep(func() (err error) {
		old.fd, err = t.Vault.openFile(t.entry)
		if err == nil {
			err = unix.Fstat(old.fd, &old.stat)
		}
		if err == nil {
			old.File, err = t.Vault.readAt(t.entry)
		}
		return err
	})
	switch {
	case errors.Is(err, ErrChanging), errors.Is(err, fs.ErrNotExist): // it was there a moment ago
		err = errConcurrentSave
	case err != nil:
	case old.Unstable:
		err = ErrOpen
	case old.Stamp != stampOf(&old.stat):
		err = errConcurrentSave
	}
	if err != nil {
		unix.Close(old.fd)
		return err
	}
	old.hash = hashOf(old.Data)
	t.old = old
	return nil
}

// waitPresent returns fs.ErrNotExist if the file is missing. If the file existed
// until recently, waitPresent first waits, because a program may be saving it by
// moving the old file away; for an automatic change it returns a [*WaitError]
// instead.
func (w *Writer) waitPresent(ctx context.Context, s *dirEntry, requested bool) error {
	for {
		var st unix.Stat_t
		err := w.Vault.runStep(func() error { return fstatat(s.dir, s.base, &st) })
		if !errors.Is(err, fs.ErrNotExist) {
			w.recordPresent(s.path)
			return err
		}
		left := w.timeToDeletion(s.path)
		switch {
		case left <= 0:
			return fs.ErrNotExist
		case !requested:
			return &WaitError{s.path, "the file is missing, possibly because of a save in progress", left}
		case ctx.Err() != nil:
			return ctx.Err()
		}
		sleepContext(ctx, min(left, conflictPause))
	}
}

// A new version is written next to the file as a draft, which other programs
// ignore and may remove. Before the exchange the draft is renamed to its
// temporary name. The file with that name may contain a person's version after
// the exchange, so it is removed only if its content is known.
const (
	tempPrefix  = ".memwatchd-"
	tempSuffix  = ".tmp"
	draftSuffix = ".part"
)

func newTempName() string { return tempPrefix + strings.ToLower(rand.Text()[:13]) + tempSuffix }

func draftNameOf(temp string) string { return strings.TrimSuffix(temp, tempSuffix) + draftSuffix }

// commit makes the change. On errConcurrentSave another program saved the file,
// and its version is in place.
//
// The draft and the record in the journal are durable before the file gets a new
// name, and the new name is durable before commit returns. Whether an operation
// that failed has changed the files all the same is decided by [Writer.resolve].
func (t *transaction) commit() (written Written, err error) {
	path, temp := t.change.Path, newTempName()
	switch {
	case t.change.to != "":
		path, temp = t.change.to, ""
		t.target, t.made, err = t.createParent(path)
	case t.entry == nil:
		t.entry, t.made, err = t.createParent(path)
	}
	if err != nil {
		return Written{}, err
	}
	t.record = t.newRecord(temp)
	if err = t.prepare(); err != nil {
		return Written{}, err
	}
	var hash [32]byte
	switch {
	case t.data != nil:
		hash = hashOf(t.data)
	case t.change.to != "":
		hash = t.old.hash
	}
	disown := t.recordOwnVersion(path, ownVersion{hash, t.external})
	err = t.rename()
	for _, s := range []*dirEntry{t.target, t.entry} {
		if s != nil && err == nil {
			err = t.runSyscall("sync directory", func() error { return unix.Fsync(s.dir) })
		}
	}
	l := t.leave(err == nil)
	l.made = err == nil
	if failure := t.settleNow(l); err != nil && !l.made {
		disown()
		if failure != nil {
			t.logger().Warn("cannot clean up after a change, retrying later", "path", path, "err", failure)
		}
		return Written{}, err
	} else if err != nil {
		t.logger().Warn("change took effect despite an error", "path", path, "err", err)
	}
	return Written{ID: t.record.ID, Changed: true}, nil
}

// leave returns what is left of the attempt, which then owns the open directory.
func (t *transaction) leave(decided bool) *leftover {
	l := &leftover{entry: t.entry, record: t.record, decided: decided, failed: t.renamed && !decided, after: t.data}
	if t.old != nil {
		l.before = t.old.Data
	}
	t.entry = nil
	return l
}

func (t *transaction) newRecord(temp string) journal.Record {
	c := t.change
	r := journal.Record{
		Group: c.Group, Path: c.Path, To: c.to, Cause: c.Cause, Reason: c.Reason, Undoes: c.Undoes, Made: t.made,
		After: journal.Digest(t.data), New: t.data, Temp: temp, Forgotten: c.Secret,
		Automatic: !c.Requested, Program: c.by.program, Session: c.by.session,
	}
	if t.old != nil {
		r.Before, r.Old = journal.DigestOf(t.old.hash), t.old.Data
	}
	if c.to != "" {
		r.After, r.New = r.Before, r.Old
	}
	if c.Secret {
		r.Old, r.New = nil, nil
	}
	return r
}

// errJournal reports an error of the journal, not of the file.
var errJournal = errors.New("cannot record the change in the journal")

// prepare writes the draft and the record in the journal, at the same time, so
// that the disk can sync them together. On error it leaves neither.
func (t *transaction) prepare() error {
	var group sync.WaitGroup
	var recorded error
	r := t.record
	group.Go(func() { r, recorded = t.Journal.Begin(r) })
	var err error
	if t.data != nil {
		err = t.writeDraft(draftNameOf(t.record.Temp))
	}
	group.Wait()
	if recorded == nil {
		t.record = r
	} else {
		recorded = fmt.Errorf("%w: %w", errJournal, recorded)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errConcurrentSave // the directory was removed
	}
	if err == nil && recorded == nil {
		return nil
	}
	if failure := t.settleNow(t.leave(true)); failure != nil {
		t.logger().Warn("cannot clean up after a change, retrying later", "path", t.record.Path, "err", failure)
	}
	return errors.Join(recorded, err)
}

// writeDraft writes the new content to a draft with the attributes of the old file
// but new times. Without an old file, its mode is 0600.
func (t *transaction) writeDraft(name string) error {
	var f *os.File
	err := t.runSyscall("create temporary file", func() error {
		fd, err := openAt(t.entry.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
		if err == nil {
			f = os.NewFile(uintptr(fd), name)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	err = t.runSyscall("write temporary file", func() error {
		_, err := f.WriteAt(t.data, 0)
		return err
	})
	if err == nil {
		err = t.copyMetadata(int(f.Fd()))
	}
	if err == nil {
		err = t.runSyscall("sync temporary file", f.Sync)
	}
	return err
}

// errMetadata reports that the new file would lack attributes of the old file.
var errMetadata = errors.New("cannot preserve owner and attributes")

// copyMetadata gives a draft the owner, attributes and mode of the old file.
// Without an old file, only the user of the process can access the draft.
func (t *transaction) copyMetadata(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	bits := uint32(0o600) // whatever the umask and the directory's default ACL
	if old := t.old; old != nil {
		bits = uint32(old.stat.Mode) & 0o7777
		var err error
		if st.Uid != old.stat.Uid || st.Gid != old.stat.Gid {
			err = t.runSyscall("set owner of temporary file",
				func() error { return unix.Fchown(fd, int(old.stat.Uid), int(old.stat.Gid)) })
		}
		if err == nil {
			err = t.runSyscall("copy", func() error { return copyAttributes(old.fd, fd) })
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errMetadata, err)
		}
	}
	return t.runSyscall("set mode of temporary file", func() error { return unix.Fchmod(fd, bits) })
}

// rename gives the files their new names. On errConcurrentSave another program saved
// the file, and [Writer.resolve] puts its version in place again.
func (t *transaction) rename() error {
	s, temp, aside := t.entry, t.record.Temp, &dirEntry{dir: t.entry.dir, base: t.record.Temp}
	switch {
	case t.target != nil:
		err := t.displace("move", t.target, func() error {
			return renameNew(s.dir, s.base, t.target.dir, t.target.base)
		})
		if errors.Is(err, fs.ErrExist) {
			return &RefusedError{s.path, fmt.Sprintf("%s already exists; move one of the two files", t.target.path)}
		}
		return err
	case t.old == nil:
		err := t.runSyscall("name file", func() error {
			return exchangeError(renameNew(s.dir, draftNameOf(temp), s.dir, s.base))
		})
		if errors.Is(err, fs.ErrExist) {
			return errConcurrentSave
		}
		t.renamed = err == nil
		return err
	case t.data == nil:
		return t.displace("move aside", aside, func() error { return renameNew(s.dir, s.base, s.dir, temp) })
	}
	err := t.runSyscall("name temporary file", func() error {
		return exchangeError(renameNew(s.dir, draftNameOf(temp), s.dir, temp))
	})
	if err != nil {
		return err
	}
	return t.displace("exchange", aside, func() error { return exchange(s.dir, temp, s.base) })
}

// displace calls do to give the old file the name of target, and verifies that this file is
// still the version read. A lease, where there are any, blocks programs that open the file for
// writing meanwhile; they get it back before they can write.
func (t *transaction) displace(what string, target *dirEntry, do func() error) error {
	hold, err := t.Vault.leaseFile(t.old.fd, leaseTime)
	if errors.Is(err, errWriter) {
		return ErrOpen
	} else if err != nil {
		hold = nil
	}
	defer hold.release()
	err = t.runSyscall("stat "+t.entry.base, func() error {
		var st unix.Stat_t
		err := fstatat(t.entry.dir, t.entry.base, &st)
		if err == nil && (stampOf(&st) != t.old.Stamp || !hold.held()) {
			err = errConcurrentSave
		}
		return err
	})
	if err == nil {
		err = t.runSyscall(what, func() error { return exchangeError(do()) })
		t.renamed = err == nil
	}
	if errors.Is(err, errConcurrentSave) || errors.Is(err, fs.ErrNotExist) { // changed or moved away
		return errConcurrentSave
	} else if err != nil {
		return err
	}
	out, err := t.readVersion(target.dir, target.base)
	if err == nil && (out != t.old.version() || !hold.held()) {
		err = errConcurrentSave
	}
	return err
}

// exchangeError returns errNoExchange if err means that the file system never
// supports the operation, and err otherwise.
func exchangeError(err error) error {
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP {
		return errNoExchange
	}
	return err
}

// errNoExchange reports that the file system cannot exchange two files
// atomically. No other method of replacing is safe.
var errNoExchange = errors.New("the file system cannot exchange two files atomically, so a concurrent save could " +
	"be lost; edit the file yourself, or move the memory to another file system")

// A fileVersion identifies a file and its content at one moment.
type fileVersion struct {
	inode  uint64
	digest string // "" if there is no file
}

// unreadable is the digest of a file that is not regular or not readable.
const unreadable = "unreadable"

// readVersion returns the version of a file of any size.
func (w *Writer) readVersion(dir int, base string) (v fileVersion, err error) {
	err = w.runSyscall("stat "+base, func() error {
		var st unix.Stat_t
		if err := fstatat(dir, base, &st); err != nil {
			v = fileVersion{}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		v = fileVersion{st.Ino, unreadable}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil
		}
		fd, err := openAt(dir, base, readOnly)
		if err == unix.EACCES || err == unix.ELOOP {
			return nil
		} else if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), base)
		defer f.Close()
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, f)
		v = fileVersion{st.Ino, hex.EncodeToString(hash.Sum(nil))}
		return err
	})
	return v, err
}
