package vault

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

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
