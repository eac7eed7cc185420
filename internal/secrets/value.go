package secrets

import "reflect"

// RedactValue returns a copy of value in which [Redact] has masked every
// string, and the number of masks in it. It traverses pointers, interfaces,
// exported fields, slices, arrays, and the keys and values of maps. It does not
// modify value, and the copy shares the parts without a mask.
func RedactValue[T any](value T) (T, int) {
	out, masks := redactReflect(reflect.ValueOf(&value).Elem())
	if masks == 0 {
		return value, 0
	}
	return out.Interface().(T), masks
}

// redactReflect returns v, or a copy without credentials if there are masks, and the
// number of masks in it.
func redactReflect(v reflect.Value) (out reflect.Value, masks int) {
	out = v
	// part sets a part of the copy, which it makes for the first part with a mask.
	part := func(in reflect.Value, set func(in reflect.Value)) {
		in, n := redactReflect(in)
		if n > 0 && masks == 0 {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
			if v.Kind() == reflect.Slice {
				out.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			}
		}
		masks += n
		if n > 0 {
			set(in)
		}
	}
	switch v.Kind() {
	case reflect.String:
		text, n := Redact(v.String())
		if n > 0 {
			out = reflect.New(v.Type()).Elem()
			out.SetString(text)
		}
		return out, n
	case reflect.Pointer:
		if !v.IsNil() {
			part(v.Elem(), func(in reflect.Value) {
				out.Set(reflect.New(in.Type()))
				out.Elem().Set(in)
			})
		}
	case reflect.Interface:
		if !v.IsNil() {
			part(v.Elem(), func(in reflect.Value) { out.Set(in) })
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() { // others are never encoded
				part(f, func(in reflect.Value) { out.Field(i).Set(in) })
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break // not a text
		}
		for i := range v.Len() {
			part(v.Index(i), func(in reflect.Value) { out.Index(i).Set(in) })
		}
	case reflect.Map:
		redacted := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			key, n := redactReflect(key)
			value, m := redactReflect(value)
			redacted.SetMapIndex(key, value)
			masks += n + m
		}
		if masks > 0 {
			out = redacted
		}
	}
	return out, masks
}
