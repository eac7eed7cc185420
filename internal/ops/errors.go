package ops

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// errNoWriter reports that the daemon does not write to files.
var errNoWriter = api.Errorf(api.Unavailable, "the daemon cannot write files").
	WithHint("run `memwatchd status` for the reason")

// errNotAuthor rejects changes of a text that is neither the caller's nor written
// by the caller.
var errNotAuthor = api.Errorf(api.Forbidden, "the text was written by another author").
	WithHint("add a note, a session or an item instead")

// errReviewed reports that a hook or a model changes what waits for a review.
var errReviewed = api.Errorf(api.Forbidden, "texts that wait for a review are changed by people only").
	WithHint("ask the user to tick or delete the line")

// writeError returns the error of a change in the form for the caller, which can read
// all of the file.
func writeError(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	given := err // by the change, without the path
	path, isPath := errors.AsType[*fs.PathError](err)
	if isPath {
		given = path.Err
	}
	refused, isRefused := errors.AsType[*vault.RefusedError](err)
	wait, isWait := errors.AsType[*vault.WaitError](err)
	switch {
	case errors.Is(err, memory.ErrMasked):
		return api.Errorf(api.Secret, "%v", given).
			WithHint("keep or delete whole lines with a redaction, or remove their entry with `forget`")
	case errors.Is(err, memory.ErrText):
		return api.Errorf(api.Invalid, "%v", given)
	case errors.Is(err, vault.ErrOpen):
		return api.Errorf(api.Busy, "another program has the file open for writing").
			WithHint("close the file there, or retry later")
	case errors.Is(err, vault.ErrBusy):
		return api.Errorf(api.Busy, "the file keeps changing: other programs save the file repeatedly").
			WithHint("get the file again, then retry later")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return api.Errorf(api.Unavailable, "timeout before the file was written").WithHint("retry")
	case isWait:
		return api.Errorf(api.Busy, "%v", wait)
	case isRefused:
		return api.Errorf(api.Conflict, "%v", refused)
	case errors.Is(err, memory.ErrUnwritable):
		return api.Errorf(api.Conflict, "%s", strings.TrimPrefix(given.Error(), memory.ErrUnwritable.Error()+": "))
	}
	// Not every caller may know where the memory and its journal are.
	if isPath && filepath.IsAbs(path.Path) {
		return api.Errorf(api.Unavailable, "cannot write: %v", path.Err).
			WithHint("run `memwatchd status` for the reason, then retry")
	}
	return api.Errorf(api.Unavailable, "%v", err)
}

// asError returns err in the form for the client, without credentials.
func asError(err error) *api.Error { return api.AsError(redactError(err)) }

// notFound returns the same error for missing and unreadable objects.
func notFound(what, name string) *api.Error {
	return api.Errorf(api.NotFound, "%s %q not found", what, name)
}

// redactValue returns an answer without credentials. It copies the parts that it
// changes, because they may be shared.
func redactValue[T any](answer T) T {
	answer, masks := secrets.RedactValue(answer)
	if s := reflect.Indirect(reflect.ValueOf(&answer).Elem()); masks > 0 && s.Kind() == reflect.Struct {
		if f := s.FieldByName("Redaction"); f.IsValid() {
			f.Set(reflect.ValueOf(api.Redaction{Redacted: masks}))
		}
	}
	return answer
}

// redactError returns an error without credentials.
func redactError(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return redactValue(e)
	}
	return err
}

// maskLines returns a run of lines of a file without credentials. A run that begins inside
// of a private key contains no line by which Mask recognizes the key, so maskLines adds one.
func maskLines(lines []string) []string {
	text, begin := strings.Join(lines, ""), ""
	if beginsInKey([]byte(text)) {
		begin = "-----BEGIN PRIVATE KEY-----\n"
	}
	masked := secrets.Mask([]byte(begin + text))[len(begin):]
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i], masked = string(masked[:len(line)]), masked[len(line):]
	}
	return list
}

// keyLines matches a line with the characters and the length of the lines of a
// private key, after some headers of the key.
var keyLines = lazyregexp.New(`^(?:[ \t>]*(?:[A-Za-z0-9-]+: [^\n]*)?\r?\n){0,3}` +
	`[ \t>]*([A-Za-z0-9+/]{60,})={0,2}[ \t]*\r?(?:\n|$)`)

// beginsInKey reports whether a text begins like the inside of a private key.
// Unlike hexadecimal digests, the lines of keys have letters of both cases.
func beginsInKey(text []byte) bool {
	match := keyLines().FindSubmatch(text)
	return match != nil && bytes.ContainsFunc(match[1], unicode.IsUpper) &&
		bytes.ContainsFunc(match[1], unicode.IsLower)
}

// checkNewSecret rejects a new text for the shown part of a file if it contains a
// credential, or a mask in a new or moved line, where the mask stands for no
// credential.
func checkNewSecret(shown memory.Shown, text string) error {
	if found := secrets.Find(text); found != nil {
		return secretError("the new text", found[0].Rule)
	}
	was, is := differingLines(shown.Text(), text)
	switch {
	case secrets.CountMasks(is) > secrets.CountMasks(was):
		return secretError("the new text", secrets.Redaction)
	case secrets.CountMasks(is) > 0:
		return memory.ErrMasked
	}
	return nil
}

// differingLines returns the differing middle lines of two texts, without their common
// first and last lines.
func differingLines(a, b string) (string, string) {
	from, to := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	return strings.Join(from, ""), strings.Join(to, "")
}
