package mcp

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/memwatchd/memwatchd/api"
)

// inputSchema returns the schema of the arguments of a tool, without those that
// are unlisted.
func (t *Tool) inputSchema() *jsonschema.Schema {
	s := newObject()
	for _, p := range t.Params() {
		if t.isUnlisted(p.Name) {
			continue
		}
		addProperty(s, p.Name, t.schemaOfParam(p))
		if p.Need && len(t.Operations) == 1 {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

func newObject() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
}

func addProperty(s *jsonschema.Schema, name string, value *jsonschema.Schema) {
	s.Properties[name] = value
	s.PropertyOrder = append(s.PropertyOrder, name)
}

func (t *Tool) schemaOfParam(p *api.Param) *jsonschema.Schema {
	s := t.schemaOf(p.Type(), p.Name)
	if len(s.Properties) == 0 { // otherwise they have descriptions
		s.Description = describeParam(p)
	}
	values := s
	if s.Type == "array" {
		values = s.Items
	}
	for _, word := range p.Enum {
		values.Enum = append(values.Enum, word)
	}
	if v := p.DefaultValue(); v != nil {
		s.Default, _ = json.Marshal(v) // numbers, booleans and texts
	}
	return s
}

// describeParam returns the description of a parameter, without the values
// that the schema lists.
func describeParam(p *api.Param) string {
	text := p.Doc
	if n := len(p.Enum); n > 1 {
		all := strings.Join(p.Enum, ", ")
		choice := strings.Join(p.Enum[:n-1], ", ") + " or " + p.Enum[n-1]
		text = strings.NewReplacer(": "+all, "", ": "+choice, "").Replace(text)
	}
	return text
}

// schemaOf returns the schema of the type of an argument, or of a field, whose
// name follows a dot. The descriptions of fields are their doc tags.
func (t *Tool) schemaOf(typ reflect.Type, name string) *jsonschema.Schema {
	switch typ.Kind() {
	case reflect.Pointer:
		return t.schemaOf(typ.Elem(), name)
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: t.schemaOf(typ.Elem(), name)}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: t.schemaOf(typ.Elem(), name)}
	case reflect.Struct:
		s := newObject()
		for _, f := range reflect.VisibleFields(typ) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field == "" || f.Anonymous || t.isUnlisted(name+"."+field) {
				continue
			}
			p := t.schemaOf(f.Type, name+"."+field)
			p.Description = f.Tag.Get("doc")
			addProperty(s, field, p)
		}
		return s
	default:
		return &jsonschema.Schema{Type: "string"}
	}
}
