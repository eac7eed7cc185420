package ops

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
	"github.com/memwatchd/memwatchd/vault/journal"
)

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

// maskHunk returns a hunk without credentials. It searches the old and the new
// lines separately, because diff markers or lines of the other side would split
// a private key.
func maskHunk(h journal.Hunk) journal.Hunk {
	side := func(middle []byte) []byte { return secrets.Mask(slices.Concat(h.Above, middle, h.Below)) }
	was, is := side(h.Old), side(h.New)
	from := len(h.Above)
	h.Old, h.New = was[from:from+len(h.Old)], is[from:from+len(h.New)]
	h.Above, h.Below = was[:from], was[from+len(h.Old):]
	return h
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
