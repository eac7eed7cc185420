package weaviate

import (
	"context"
	"fmt"
	"net/http"

	"github.com/memwatchd/memwatchd/internal/share"
)

// The types below are the parts of a schema that the client sets and compares.
type (
	class struct {
		Class       string          `json:"class"`
		Vectorizer  string          `json:"vectorizer"`
		VectorIndex map[string]any  `json:"vectorIndexConfig,omitempty"`
		Tenants     multiTenancy    `json:"multiTenancyConfig"`
		Replication map[string]any  `json:"replicationConfig,omitempty"`
		Inverted    invertedIndex   `json:"invertedIndexConfig"`
		Properties  []classProperty `json:"properties"`
	}
	multiTenancy struct {
		Enabled        bool `json:"enabled"`
		AutoCreation   bool `json:"autoTenantCreation"`
		AutoActivation bool `json:"autoTenantActivation"`
	}
	invertedIndex struct {
		BM25 struct {
			B  float64 `json:"b"`
			K1 float64 `json:"k1"`
		} `json:"bm25"`
		Stopwords struct {
			Preset string `json:"preset"`
		} `json:"stopwords"`
	}
	classProperty struct {
		Name         string   `json:"name"`
		DataType     []string `json:"dataType"`
		Tokenization string   `json:"tokenization,omitempty"` // of text
		Filterable   bool     `json:"indexFilterable"`
		Searchable   bool     `json:"indexSearchable"`
	}
)

// newClass returns the schema of a collection. Its replicas compare their objects
// in the background: otherwise searches through a node that was away miss objects
// until these are read. A removed object loses against later writes only.
func (c *Client) newClass(of share.Collection) class {
	out := class{
		Class: c.Prefix + of.Name, Vectorizer: "none", VectorIndex: map[string]any{"skip": true},
		Tenants:     multiTenancy{true, true, true},
		Replication: map[string]any{"deletionStrategy": "TimeBasedResolution", "asyncEnabled": true},
	}
	if c.Replicas > 0 {
		out.Replication["factor"] = c.Replicas
	}
	out.Inverted.BM25.B, out.Inverted.BM25.K1 = 0.3, 0.9 // entries are short
	out.Inverted.Stopwords.Preset = "none"
	for _, p := range of.Properties {
		property := classProperty{Name: p.Name, DataType: []string{p.Type}, Filterable: p.Filterable,
			Searchable: p.Searchable}
		if p.Type == "text" || p.Type == "text[]" {
			property.Tokenization = "field"
			if p.Searchable {
				property.Tokenization = "whitespace"
			}
		}
		out.Properties = append(out.Properties, property)
	}
	return out
}

// Init creates the missing collections and properties, and returns the names of
// the collections that it created. It changes no existing property: if one is
// different, Init fails.
func (c *Client) Init(ctx context.Context) (created []string, err error) {
	for _, collection := range share.Collections {
		want := c.newClass(collection)
		have, err := c.class(ctx, collection.Name)
		switch {
		case isStatus(err, http.StatusNotFound):
			if err := c.create(ctx, "/v1/schema", want); err != nil {
				return created, err
			}
			created = append(created, want.Class)
			have, err = c.class(ctx, collection.Name)
		case err == nil:
			for _, p := range missingProperties(want, have) {
				if err := c.create(ctx, "/v1/schema/"+want.Class+"/properties", p); err != nil {
					return created, err
				}
				have.Properties = append(have.Properties, p)
			}
		}
		if err != nil {
			return created, err
		}
		if err := compareClass(want, have); err != nil {
			return created, err
		}
	}
	return created, nil
}

// create adds a collection or a property. Its error contains the message of the
// store, because the request contains no text of memory.
func (c *Client) create(ctx context.Context, path string, what any) error {
	_, err := c.send(ctx, http.MethodPost, path, what, nil)
	if e, ok := err.(*share.Error); ok {
		if status, ok := e.Err.(*statusError); ok && status.message != "" {
			e.Err = fmt.Errorf("%w: %s", status, status.message)
		}
	}
	return err
}

func (c *Client) class(ctx context.Context, collection string) (have class, err error) {
	_, err = c.send(ctx, http.MethodGet, "/v1/schema/"+c.Prefix+collection, nil, &have)
	return have, err
}

// checkClass returns an error if a collection is missing or has another schema. A
// write to a missing collection would create it without tenants.
func (c *Client) checkClass(ctx context.Context, of share.Collection) error {
	have, err := c.class(ctx, of.Name)
	if isStatus(err, http.StatusNotFound) {
		return incomplete(c.Prefix+of.Name, "does not exist")
	}
	if err != nil {
		return err
	}
	return compareClass(c.newClass(of), have)
}

// incomplete returns the error of a collection that Init completes. It is not
// permanent, because any machine can run Init.
func incomplete(class, defect string) error {
	return &share.Error{Err: fmt.Errorf("collection %s of the store %s: run `memwatchd share init`", class, defect)}
}

func schemaError(class, format string, args ...any) error {
	err := fmt.Errorf("collection %s of the store %s", class, fmt.Sprintf(format, args...))
	return &share.Error{Err: err, Permanent: true}
}

// missingProperties returns the properties that a newer version of the program
// added.
func missingProperties(want, have class) (missing []classProperty) {
	for _, p := range want.Properties {
		if have.property(p.Name) == nil {
			missing = append(missing, p)
		}
	}
	return missing
}

func (c class) property(name string) *classProperty {
	for i := range c.Properties {
		if c.Properties[i].Name == name {
			return &c.Properties[i]
		}
	}
	return nil
}

// compareClass returns an error if a collection has other settings or properties.
// Further properties do no harm.
func compareClass(want, have class) error {
	const remedy = "delete the collection or set share.weaviate.prefix, then run `memwatchd share init`"
	switch {
	case have.Class != want.Class:
		return &share.Error{Err: errInvalidAnswer}
	case !have.Tenants.Enabled || !have.Tenants.AutoCreation:
		return schemaError(want.Class, "does not create tenants automatically: %s", remedy)
	case have.Vectorizer != want.Vectorizer:
		return schemaError(want.Class, "has a vectorizer: %s", remedy)
	case have.Inverted.Stopwords.Preset != want.Inverted.Stopwords.Preset:
		return schemaError(want.Class, "has other stop words: %s", remedy)
	}
	if missing := missingProperties(want, have); len(missing) > 0 {
		return incomplete(want.Class, "has no property "+missing[0].Name)
	}
	for _, p := range want.Properties {
		got := have.property(p.Name)
		if len(got.DataType) != 1 || got.DataType[0] != p.DataType[0] || got.Filterable != p.Filterable ||
			got.Searchable != p.Searchable || got.Tokenization != p.Tokenization {
			return schemaError(want.Class, "has other settings of the property %s: %s", p.Name, remedy)
		}
	}
	return nil
}
