package secrets

import "reflect"

// RedactValue returns a copy of value in which [Redact] has masked every
// string, and the number of masks in it. It traverses pointers, interfaces,
// exported fields, slices, arrays, and the keys and values of maps. It does not
// modify value: changed parts are copied.
func RedactValue[T any](value T) (T, int) {
	c := clean(reflect.ValueOf(&value).Elem())
	return c.value.Interface().(T), c.masks
}

// A cleaned value has no credentials.
type cleaned struct {
	value   reflect.Value
	masks   int  // number of masks in value
	changed bool // value differs from the input
}

func clean(v reflect.Value) cleaned {
	same := cleaned{value: v}
	switch v.Kind() {
	case reflect.String:
		text, n := Redact(v.String())
		same.masks = n
		if text == v.String() {
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
		same.masks = in.masks
		if !in.changed {
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
			return same // not a text
		}
		return cleanParts(v, v.Len(), reflect.Value.Index)
	case reflect.Map:
		return cleanMap(v)
	}
	return same
}

// cleanParts cleans a value with numbered parts. It copies the value before the
// first change.
func cleanParts(v reflect.Value, parts int, part func(reflect.Value, int) reflect.Value) cleaned {
	out := cleaned{value: v}
	for i := range parts {
		if v.Kind() == reflect.Struct && !v.Type().Field(i).IsExported() {
			continue // never encoded
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
	same.masks = out.masks
	if !changed {
		return same
	}
	return out
}
