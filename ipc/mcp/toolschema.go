package mcp

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// A schema describes the value of a parameter in JSON Schema.
type schema struct {
	Type        string     `json:"type"`
	Description string     `json:"description,omitempty"`
	Default     any        `json:"default,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Properties  properties `json:"properties,omitzero"`
	Additional  *schema    `json:"additionalProperties,omitempty"`
	Required    []string   `json:"required,omitempty"`
}

// properties are the properties of an object, in order.
type properties []property

type property struct {
	name string
	*schema
}

// MarshalJSON implements [json.Marshaler].
func (p properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range p {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(f.schema)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, strconv.Quote(f.name)...), ':'), value...)
	}
	return append(b, '}'), nil
}

// inputSchema returns the schema of the arguments of a tool, without those that
// are unlisted.
func (t *Tool) inputSchema() *schema {
	s := &schema{Type: "object", Properties: properties{}}
	for _, p := range t.Params() {
		if t.isUnlisted(p.Name) {
			continue
		}
		s.Properties = append(s.Properties, property{p.Name, t.schemaOfParam(p)})
		if p.Need && len(t.Operations) == 1 {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

func (t *Tool) schemaOfParam(p *api.Param) *schema {
	s := t.schemaOf(p.Type(), p.Name)
	if len(s.Properties) == 0 { // otherwise they have descriptions
		s.Description = describeParam(p)
	}
	if s.Type == "array" {
		s.Items.Enum = p.Enum
	} else {
		s.Enum = p.Enum
	}
	s.Default = p.DefaultValue()
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
func (t *Tool) schemaOf(typ reflect.Type, name string) *schema {
	switch typ.Kind() {
	case reflect.Pointer:
		return t.schemaOf(typ.Elem(), name)
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Slice:
		return &schema{Type: "array", Items: t.schemaOf(typ.Elem(), name)}
	case reflect.Map:
		return &schema{Type: "object", Additional: t.schemaOf(typ.Elem(), name)}
	case reflect.Struct:
		s := &schema{Type: "object", Properties: properties{}}
		for _, f := range reflect.VisibleFields(typ) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field == "" || f.Anonymous || t.isUnlisted(name+"."+field) {
				continue
			}
			p := t.schemaOf(f.Type, name+"."+field)
			p.Description = f.Tag.Get("doc")
			s.Properties = append(s.Properties, property{field, p})
		}
		return s
	default:
		return &schema{Type: "string"}
	}
}
