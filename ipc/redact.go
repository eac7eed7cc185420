package ipc

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
	"github.com/memwatchd/memwatchd/vault"
)

// redacted is an answer without credentials. What is in it already is not
// changed: parts of it may be shared.
func redacted[T any](answer T) T {
	v := clean(reflect.ValueOf(&answer).Elem())
	answer = v.value.Interface().(T)
	if s := reflect.Indirect(reflect.ValueOf(&answer).Elem()); v.masks > 0 && s.Kind() == reflect.Struct {
		if f := s.FieldByName("Redaction"); f.IsValid() {
			f.Set(reflect.ValueOf(api.Redaction{Redacted: v.masks}))
		}
	}
	return answer
}

// redactedError is an error without credentials.
func redactedError(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return redacted(e)
	}
	return err
}

// A cleaned value has no credentials.
type cleaned struct {
	value   reflect.Value
	masks   int  // in it
	changed bool // it is not what it was
}

func clean(v reflect.Value) cleaned {
	same := cleaned{value: v}
	switch v.Kind() {
	case reflect.String:
		text, n := secrets.Redact(v.String())
		if same.masks = n; text == v.String() {
			return same
		}
		out := reflect.New(v.Type()).Elem()
		out.SetString(text)
		return cleaned{out, n, true}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return same
		}
		in := clean(v.Elem())
		if same.masks = in.masks; !in.changed {
			return same
		}
		if v.Kind() == reflect.Interface {
			return in
		}
		out := reflect.New(in.value.Type())
		out.Elem().Set(in.value)
		return cleaned{out, in.masks, true}
	case reflect.Struct:
		return cleanParts(v, v.NumField(), reflect.Value.Field)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return same // no text
		}
		return cleanParts(v, v.Len(), reflect.Value.Index)
	case reflect.Map:
		return cleanMap(v)
	}
	return same
}

// cleanParts is clean for what has parts by number.
func cleanParts(v reflect.Value, parts int, part func(reflect.Value, int) reflect.Value) cleaned {
	out := cleaned{value: v}
	for i := range parts {
		if v.Kind() == reflect.Struct && !v.Type().Field(i).IsExported() {
			continue // is not sent
		}
		in := clean(part(v, i))
		out.masks += in.masks
		if !in.changed {
			continue
		}
		if !out.changed {
			out.value, out.changed = reflect.New(v.Type()).Elem(), true
			out.value.Set(v)
			if v.Kind() == reflect.Slice {
				out.value.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			}
		}
		part(out.value, i).Set(in.value)
	}
	return out
}

func cleanMap(v reflect.Value) cleaned {
	same, out := cleaned{value: v}, cleaned{value: reflect.MakeMapWithSize(v.Type(), v.Len()), changed: true}
	changed := false
	for it := v.MapRange(); it.Next(); {
		key, value := clean(it.Key()), clean(it.Value())
		out.masks += key.masks + value.masks
		changed = changed || key.changed || value.changed
		out.value.SetMapIndex(key.value, value.value)
	}
	if same.masks = out.masks; !changed {
		return same
	}
	return out
}

// maskHunk is a change without credentials. They are looked for in the lines as
// they stood, and as they stand: marks of a difference, or the lines of the other
// side, would come between those of a private key.
func maskHunk(h vault.Hunk) vault.Hunk {
	side := func(middle []byte) []byte { return secrets.Mask(slices.Concat(h.Before, middle, h.Behind)) }
	was, is := side(h.Old), side(h.New)
	from := len(h.Before)
	h.Old, h.New = was[from:from+len(h.Old)], is[from:from+len(h.New)]
	h.Before, h.Behind = was[:from], was[from+len(h.Old):]
	return h
}

// newSecret says no to a text in place of what was shown of a file, if it has a
// credential, or a mask in a line that is new or moved: nothing is behind that.
func newSecret(shown memory.Shown, text string) error {
	if found := secrets.Find(text); found != nil {
		return secretError("the new text", found[0].Rule)
	}
	was, is := between(shown.Text(), text)
	switch {
	case secrets.Masks(is) > secrets.Masks(was):
		return secretError("the new text", secrets.Redaction)
	case secrets.Masks(is) > 0:
		return memory.ErrMasked
	}
	return nil
}

// between is the lines of two texts between those that they have in common at
// both ends.
func between(a, b string) (string, string) {
	from, to := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	return strings.Join(from, ""), strings.Join(to, "")
}
