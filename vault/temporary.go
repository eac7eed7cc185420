package vault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

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
