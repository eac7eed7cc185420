package secrets

import "reflect"

// RedactValue returns a copy of value in which [Redact] has masked every
// string, and the number of masks in it. It traverses pointers, interfaces,
// exported fields, slices, arrays, and the keys and values of maps. It does not
// modify value; without a mask, the result is value itself.
func RedactValue[T any](value T) (T, int) {
	out, masks := redactReflect(reflect.ValueOf(&value).Elem())
	if masks == 0 {
		return value, 0
	}
	return out.Interface().(T), masks
}

// redactReflect returns a copy without credentials, which is addressable, and the
// number of masks in it.
func redactReflect(v reflect.Value) (out reflect.Value, masks int) {
	out = reflect.New(v.Type()).Elem()
	out.Set(v)
	part := func(v reflect.Value) reflect.Value {
		in, n := redactReflect(v)
		masks += n
		return in
	}
	switch v.Kind() {
	case reflect.String:
		text, n := Redact(v.String())
		out.SetString(text)
		return out, n
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(part(v.Elem()).Addr())
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(part(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // others are never encoded
				out.Field(i).Set(part(v.Field(i)))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 || v.Kind() == reflect.Slice && v.IsNil() {
			break // not a text, or nothing
		}
		if v.Kind() == reflect.Slice {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(part(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(part(key), part(value))
		}
	}
	return out, masks
}
