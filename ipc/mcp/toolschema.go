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
	Minimum     *float64   `json:"minimum,omitempty"`
	Maximum     *float64   `json:"maximum,omitempty"`
	MaxItems    int        `json:"maxItems,omitempty"`
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

// inputSchema returns the schema of the arguments of a tool.
func (t *Tool) inputSchema() *schema {
	s := &schema{Type: "object", Properties: properties{}}
	for _, p := range t.Params() {
		s.Properties = append(s.Properties, property{p.Name, schemaOfParam(p)})
		if p.Need && len(t.ops) == 1 {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

func schemaOfParam(p *api.Param) *schema {
	s := schemaOf(p.Type())
	s.Description = p.Doc
	if s.Type == "array" {
		s.Items.Enum, s.MaxItems = p.Enum, api.MaxValues
	} else {
		s.Enum = p.Enum
	}
	bound := func(text string) *float64 {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return &n
		}
		return nil
	}
	s.Minimum, s.Maximum = bound(p.Min), bound(p.Max)
	s.Default = p.DefaultValue()
	return s
}

// schemaOf returns the schema of a type. The descriptions of fields are their
// doc tags.
func schemaOf(t reflect.Type) *schema {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", Additional: schemaOf(t.Elem())}
	case reflect.Struct:
		s := &schema{Type: "object", Properties: properties{}}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !f.Anonymous {
				p := schemaOf(f.Type)
				p.Description = f.Tag.Get("doc")
				s.Properties = append(s.Properties, property{name, p})
			}
		}
		return s
	default:
		return &schema{Type: "string"}
	}
}
