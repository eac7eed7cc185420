package vault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// A new version is written next to the file as a draft, which other programs
// ignore and may remove. Before the exchange the draft is renamed to its
// temporary name. The file with that name may contain a person's version after
// the exchange, so it is removed only if its content is known.
const (
	tempPrefix    = ".memwatchd-"
	tempSuffix    = ".tmp"
	stagingSuffix = ".part"
)

// A tempFile is a complete new version of a file, durable on disk.
type tempFile struct {
	name    string
	version fileVersion
}

// tempName returns the temporary name, which the draft has during the exchange.
func (d *tempFile) tempName() string { return strings.TrimSuffix(d.name, stagingSuffix) + tempSuffix }

func stagingNameOf(temp string) string { return strings.TrimSuffix(temp, tempSuffix) + stagingSuffix }

func newStagingName() string { return tempPrefix + strings.ToLower(rand.Text()[:13]) + stagingSuffix }

// createTemp writes data to a draft next to the file at s. The draft has the
// attributes of the old file but new times. Without an old file, its mode is 0600.
func (w *Writer) createTemp(s *dirEntry, data []byte, old *source) (*tempFile, error) {
	d := &tempFile{name: newStagingName()}
	var f *os.File
	err := w.runSyscall("create temporary file", func() error {
		fd, err := openAt(s.dir, d.name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
		if err == nil {
			f = os.NewFile(uintptr(fd), d.name)
		}
		return err
	})
	if err == nil {
		if err = w.fillTemp(f, data, old); err == nil {
			d.version, err = readOpenVersion(int(f.Fd()))
		}
	}
	if f != nil {
		f.Close()
	}
	if err != nil {
		w.discardTemp(s, d)
		return nil, err
	}
	return d, nil
}

func (w *Writer) fillTemp(f *os.File, data []byte, old *source) error {
	for rest := data; len(rest) > 0; {
		err := w.runSyscall("write temporary file", func() error {
			n, err := unix.Write(int(f.Fd()), rest)
			rest = rest[max(n, 0):]
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := w.copyMetadata(f, old); err != nil {
		return err
	}
	return w.runSyscall("sync temporary file", f.Sync)
}

// copyMetadata gives a draft the owner, attributes and mode of the old file.
// Without an old file, only the user of the process can access the draft.
func (w *Writer) copyMetadata(f *os.File, old *source) error {
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	mode := func(bits uint32) error {
		return w.runSyscall("set mode of temporary file", func() error { return unix.Fchmod(fd, bits) })
	}
	if old == nil {
		return mode(0o600) // whatever the umask and the directory's default ACL
	}
	if st.Uid != old.stat.Uid || st.Gid != old.stat.Gid {
		err := w.runSyscall("set owner of temporary file",
			func() error { return unix.Fchown(fd, int(old.stat.Uid), int(old.stat.Gid)) })
		if err != nil {
			return fmt.Errorf("%w: %w", errMetadata, err)
		}
	}
	if err := w.runSyscall("copy", func() error { return copyAttributes(old.fd, fd) }); err != nil {
		return fmt.Errorf("%w: %w", errMetadata, err)
	}
	return mode(uint32(old.stat.Mode) & 0o7777)
}

// errMetadata reports that the new file would lack attributes of the old file.
var errMetadata = errors.New("cannot preserve owner and attributes")

// discardTemp removes a useless draft, and schedules a recheck if that fails.
func (w *Writer) discardTemp(s *dirEntry, d *tempFile) {
	if w.unlinkFile(s.dir, d.name) != nil {
		w.rechecks().scheduleRecheck(recheck{entry: s.reopen(), pause: recheckDelay,
			record: journal.Record{Path: s.path, Temp: d.tempName()}})
	}
}

func (w *Writer) unlinkFile(dir int, name string) error {
	return w.runSyscall("remove "+name, func() error {
		err := unix.Unlinkat(dir, name, 0)
		if err == unix.ENOENT {
			return nil
		}
		return err
	})
}

// errNoExchange reports that the file system cannot exchange two files
// atomically. No other method of replacing is safe.
var errNoExchange = errors.New("the file system cannot exchange two files atomically, so a concurrent save could " +
	"be lost; edit the file yourself, or move the memory to another file system")
