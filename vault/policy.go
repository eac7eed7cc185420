package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// checkPath returns why a file is not to be changed because of its path, or nil.
func (w *Writer) checkPath(path string) error {
	reason := w.Vault.Skips(path, false)
	if reason == "" || slices.Contains(w.Settings, path) {
		return nil
	}
	return &RefusedError{path, reason + ": excluded from memory"}
}

// checkWritable returns why a file is not to be changed, or nil.
func (w *Writer) checkWritable(old *source) error {
	st := &old.stat
	reason := ""
	switch {
	case st.Nlink > 1:
		reason = fmt.Sprintf("the file has %d hard links, and the other links would keep the old text; replace "+
			"the links by copies", st.Nlink)
	case int(st.Uid) != os.Geteuid():
		reason = fmt.Sprintf("the file belongs to user %d, but memwatchd runs as user %d; change the owner with "+
			"chown, or edit the file yourself", st.Uid, os.Geteuid())
	case st.Mode&0o200 == 0:
		reason = "read-only; allow writing with chmod u+w, or edit the file yourself"
	case !utf8.Valid(old.Data):
		reason = "not valid UTF-8; save the file as UTF-8"
	case hasConflictMarkers(old.Data):
		reason = "the file has conflict markers (<<<<<<<); resolve the conflict"
	default:
		return nil
	}
	return &RefusedError{old.Path, reason}
}

// checkContent returns why a new version is not to be written, or nil.
func (w *Writer) checkContent(path string, data []byte) error {
	switch {
	case int64(len(data)) > w.Vault.maxFileSize():
		return &RefusedError{path,
			fmt.Sprintf("the file would have %d bytes, more than the limit of %d; split the text", len(data),
				w.Vault.maxFileSize())}
	case !utf8.Valid(data):
		return &RefusedError{path, "the new text is not valid UTF-8; write UTF-8 text"}
	}
	return nil
}

var conflictRE = lazyregexp.New(`(?ms)^<{7} .*^={7}\r*$.*^>{7} `)

// hasConflictMarkers reports whether data contains the conflict markers of a version
// control system.
func hasConflictMarkers(data []byte) bool {
	return bytes.Contains(data, []byte("<<<<<<< ")) && conflictRE().Match(data)
}

// writeError converts an error to the error that Write returns for the file.
func writeError(path string, err error) error {
	_, wait := errors.AsType[*WaitError](err)
	_, refused := errors.AsType[*RefusedError](err)
	switch {
	case err == nil, wait, refused:
		return err
	case errors.Is(err, errNoExchange):
		return &RefusedError{path, errNoExchange.Error()}
	case errors.Is(err, ErrSymlink):
		return &RefusedError{path, "the path contains a symbolic link; replace the link by the file itself"}
	case errors.Is(err, ErrNotRegular):
		return &RefusedError{path, "not a regular file"}
	case errors.Is(err, ErrTooLarge):
		return &RefusedError{path, "the file is larger than the limit for reading; split the file"}
	case errors.Is(err, unix.EXDEV):
		return &RefusedError{path, "the new path is on another file system; move the file yourself"}
	case errors.Is(err, errMetadata) && !isResourceError(err):
		return &RefusedError{path, fmt.Sprintf("%v; edit the file yourself", err)}
	case errors.Is(err, errJournal):
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return &RefusedError{path,
			fmt.Sprintf("%v; allow memwatchd to write the file and its directory, or edit the file yourself", err)}
	}
	return pathError("write", path, err)
}

// isResourceError reports whether an error does not concern the file but a lack of
// resources or a failing disk.
func isResourceError(err error) bool {
	causes := []error{unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.ENOMEM, unix.EMFILE, unix.ENFILE}
	return slices.ContainsFunc(causes, func(errno error) bool { return errors.Is(err, errno) })
}

// checkIdle returns why a file must not be changed now, or nil. external is the
// time of the last change by another program. Requested changes are always allowed.
func (w *Writer) checkIdle(c *Change, external time.Time) error {
	if c.Requested {
		return nil
	}
	if err := w.checkRate(c.Path); err != nil {
		return err
	}
	// A time far in the future is that of another clock.
	if left := w.Quiet - w.now().Sub(external).Abs(); left > 0 && !c.Urgent {
		return &WaitError{c.Path, "the file was changed a moment ago", left}
	}
	if sign := w.findEditor(c.Path); sign != "" {
		return &WaitError{c.Path, sign, max(w.Quiet, shortWait)}
	}
	return nil
}
