package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Param is one field of a request, described by its tags:
//
//	json     name, in snake_case
//	alias    another name that requests may use
//	doc      meaning, for people and for schemas
//	default  value of a field that is absent from the request
//	preset   value that the commands and the tools for models set, if it differs from the default
//	min, max bounds of a number
//	size     bound of a text in bytes; "request" for texts that only the size of the request bounds
//	enum     permitted values, separated by commas
//	arg      "1", "2": a positional argument of the command; "rest": all remaining arguments
//	flag     flag of the command, if it differs from the name
//	bare     value of the flag if it is given without one
//	stdin    "true": the command reads the value from standard input if the argument is -
//	complete kind of name, such as path or tag, for completion
//	need     "true": a request without it, or with an empty value, is refused
//	with     condition without which the value has no effect, and is refused: mode=overlap for a value of
//	         another parameter (several are separated by commas), tags for one that is set, !id for one that is not
//
// A zero field takes its default, so a field whose zero value has a meaning of
// its own is a pointer.
type Param struct {
	Name     string
	Alias    string // empty without one
	Doc      string
	Default  string
	Preset   string // value that clients for people and models set; empty for the default
	Enum     []string
	Min, Max string
	Size     int // bound of a text, and of each text of a list, in bytes; 0 for none
	Arg      string
	Flag     string // without the dashes
	Bare     string // value of the flag without a value; empty if it needs one
	Stdin    bool
	Need     bool
	With     string
	Complete string // empty if the value is not a name

	Scope bool // one of the fields that every request has
	index []int
	typ   reflect.Type
}

// Kind returns the kind of the parameter's value: string, integer, number,
// boolean, strings or object. An object is entered as JSON.
func (p *Param) Kind() string {
	t := p.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "strings"
	case reflect.Struct:
		return "object"
	default:
		return "string"
	}
}

// paramsOf returns the fields of a request struct, including embedded ones.
func paramsOf(t reflect.Type) []*Param {
	var params []*Param
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		p := &Param{
			Name: name, Alias: f.Tag.Get("alias"), Doc: f.Tag.Get("doc"), Default: f.Tag.Get("default"),
			Preset: f.Tag.Get("preset"),
			Min:    f.Tag.Get("min"), Max: f.Tag.Get("max"), Arg: f.Tag.Get("arg"),
			Flag: cmp.Or(f.Tag.Get("flag"), strings.ReplaceAll(name, "_", "-")), Stdin: f.Tag.Get("stdin") != "",
			Bare:     f.Tag.Get("bare"),
			Need:     f.Tag.Get("need") != "",
			With:     f.Tag.Get("with"),
			Complete: f.Tag.Get("complete"),
			Scope:    t.FieldByIndex(f.Index[:1]).Type == reflect.TypeFor[Scope](), index: f.Index, typ: f.Type,
		}
		switch size := f.Tag.Get("size"); size {
		case "":
			p.Size = MaxName
		case "request": // bounded by the request only
		default:
			p.Size, _ = strconv.Atoi(size)
		}
		if e := f.Tag.Get("enum"); e != "" {
			p.Enum = strings.Split(e, ",")
		}
		if p.Kind() == "boolean" {
			p.Bare = "true"
		}
		params = append(params, p)
	}
	return params
}

// setString parses a typed value and assigns it to the parameter. It appends to
// a list.
func (p *Param) setString(req reflect.Value, s string) error {
	field := req.FieldByIndex(p.index)
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch p.Kind() {
	case "object":
		return p.setJSON(req, json.RawMessage(s))
	case "boolean":
		v, err := strconv.ParseBool(s)
		if err != nil {
			return Errorf(Invalid, "%s: %q is not true or false", p.Name, s)
		}
		field.SetBool(v)
	case "integer":
		v, err := strconv.Atoi(s)
		if err != nil {
			return Errorf(Invalid, "%s: %q is not an integer", p.Name, s)
		}
		field.SetInt(int64(v))
	case "number":
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return Errorf(Invalid, "%s: %q is not a number", p.Name, s)
		}
		field.SetFloat(v)
	case "strings":
		field.Set(reflect.Append(field, reflect.ValueOf(s)))
	default:
		field.SetString(s)
	}
	return nil
}

func (p *Param) setJSON(req reflect.Value, raw json.RawMessage) error {
	field := req.FieldByIndex(p.index)
	if p.Kind() == "integer" {
		raw = wholeNumber(raw)
	}
	if err := DecodeJSON(raw, field.Addr().Interface()); err != nil {
		return Errorf(Invalid, "%s: %v", p.Name, err)
	}
	return nil
}

// DecodeJSON decodes a text that is one JSON value into v, a pointer. Unknown fields are
// errors.
func DecodeJSON(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field != "" {
			return Errorf(Invalid, "%s: got %s, want %s", t.Field, t.Value, typeName(t.Type))
		}
		return Errorf(Invalid, "got %s, want %s", t.Value, typeName(reflect.TypeOf(v).Elem()))
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case syntax || errors.Is(err, io.ErrUnexpectedEOF):
		return Errorf(Invalid, "invalid JSON: %v", err)
	case err != nil: // an unknown field, or an invalid value such as a time
		return Errorf(Invalid, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return Errorf(Invalid, "text after the JSON object")
	}
	return nil
}

// wholeNumber returns an integer in another notation, such as 3.0 or 3e0, in decimal
// digits. In JSON Schema these are integers, too, and some encoders write them.
func wholeNumber(raw json.RawMessage) json.RawMessage {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !bytes.ContainsAny(raw, ".eE") || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return raw
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// typeName returns the name of a type of JSON in errors.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "JSON object"
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return "string"
}

// MaxValues bounds the length of a list, because each value costs a search.
const MaxValues = 100

// MaxName bounds names, paths, ids, keys, tags, times and other short texts, in bytes.
const MaxName = 4 << 10

// MaxQuery bounds the text of a query, in bytes.
const MaxQuery = 16 << 10

// visibilityNames are other names of visibilities that requests and imports may use.
var visibilityNames = map[string]string{"public": "public_ok", "private": "private_only"}

// VisibilityName returns the name in files and answers of a visibility. It returns
// other texts unchanged.
func VisibilityName(s string) string { return cmp.Or(visibilityNames[s], s) }

// checkValue compares the parameter with its bounds and its permitted values. It replaces
// other names of a visibility.
func (p *Param) checkValue(req reflect.Value) error {
	field := reflect.Indirect(req.FieldByIndex(p.index))
	if !field.IsValid() {
		return nil
	}
	var number float64
	var values []string
	switch v := field.Interface().(type) {
	case int:
		number = float64(v)
	case float64:
		number = v
	case []string:
		values = v
	case string:
		if p.Name == "visibility" {
			v = VisibilityName(v)
			field.SetString(v)
		}
		if v != "" {
			values = []string{v}
		}
	}
	if bound, err := strconv.ParseFloat(p.Min, 64); err == nil && number < bound {
		return Errorf(Invalid, "%s: %v is below the minimum %s", p.Name, field.Interface(), p.Min)
	}
	if bound, err := strconv.ParseFloat(p.Max, 64); err == nil && number > bound {
		return Errorf(Invalid, "%s: %v is above the maximum %s", p.Name, field.Interface(), p.Max)
	}
	if len(values) > MaxValues {
		return Errorf(Invalid, "%s: %d elements, maximum %d", p.Name, len(values), MaxValues)
	}
	for _, v := range values {
		if p.Size > 0 && len(v) > p.Size {
			return Errorf(Invalid, "%s: %d bytes, maximum %d", p.Name, len(v), p.Size)
		}
		if len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
			return Errorf(Invalid, "%s: %q is not one of %s", p.Name, v, strings.Join(p.Enum, ", ")).suggest(v, p.Enum)
		}
	}
	return nil
}

// eachText calls f for each text of a value: strings, also in lists and structs.
func eachText(v reflect.Value, f func(string) error) error {
	switch v.Kind() {
	case reflect.String:
		return f(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return eachText(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := eachText(v.Index(i), f); err != nil {
				return err
			}
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if err := cmp.Or(eachText(at.Key(), f), eachText(at.Value(), f)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := eachText(v.Field(i), f); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachField calls f for every field of a JSON object, in order, until f returns an
// error, which EachField then returns. For a body that is not one JSON object, it returns
// an [*Error] with the code [Invalid].
func EachField(body []byte, f func(name string, raw json.RawMessage) error) error {
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		return Errorf(Invalid, "the request is not JSON: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return Errorf(Invalid, "the request is not a JSON object")
	}
	for dec.More() {
		t, err := dec.Token()
		name, _ := t.(string)
		var raw json.RawMessage
		if err = cmp.Or(err, dec.Decode(&raw)); err != nil { // unreachable: the body is JSON
			return err
		}
		if err := f(name, raw); err != nil {
			return err
		}
	}
	return nil
}

// FindParam returns the parameter with the given name or alias. If there is none,
// FindParam returns an [*Error] with the code [Invalid] and the nearest name as
// hint.
func FindParam(params []*Param, name string) (*Param, error) {
	names := make([]string, len(params))
	for i, p := range params {
		if p.Name == name || p.Alias == name && name != "" {
			return p, nil
		}
		names[i] = p.Name
	}
	return nil, Errorf(Invalid, "unknown field %q", name).suggest(name, names)
}

// setDefault sets the parameter of a new request to its default.
func (p *Param) setDefault(req reflect.Value) {
	if p.Default == "" {
		return
	}
	values := []string{p.Default}
	if p.Kind() == "strings" {
		values = strings.Split(p.Default, ",")
	}
	for _, s := range values {
		if err := p.setString(req, s); err != nil {
			panic(fmt.Sprintf("default of %s: %v", p.Name, err)) // invalid tag: every test would panic here
		}
	}
}

// ClientDefault returns the text of the value that the commands and the tools for
// models use if none is given.
func (p *Param) ClientDefault() string { return cmp.Or(p.Preset, p.Default) }

// Type returns the type of the parameter's field.
func (p *Param) Type() reflect.Type { return p.typ }

// DefaultValue returns the [Param.ClientDefault] as a value for JSON, or nil without a
// default.
func (p *Param) DefaultValue() any {
	switch text := p.ClientDefault(); {
	case text == "":
		return nil
	case p.Kind() == "string":
		return text
	default:
		return json.RawMessage(text)
	}
}

// NearestName returns the name most similar to the typed one, or "" if none is
// similar: more than one edit in three letters makes another word, as edit is not init. Of
// equally similar names it returns the first in the order of bytes.
func NearestName(typed string, names []string) string {
	best, distance := "", max(1, len(typed)/3)+1
	for _, n := range names {
		if len(n) > len(typed)+distance || len(typed) > len(n)+distance {
			continue
		}
		if d := editDistance(strings.ToLower(typed), strings.ToLower(n)); d < distance ||
			d == distance && best != "" && n < best {
			best, distance = n, d
		}
	}
	isBegun := func(n string) bool { return typed != "" && strings.HasPrefix(n, typed) }
	if i := slices.IndexFunc(names, isBegun); best == "" && i >= 0 {
		return names[i] // such as query for q
	}
	return best
}

// editDistance returns the number of single bytes to insert, delete or replace that turns
// a into b.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b)) // names of this length are not typed by hand
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
