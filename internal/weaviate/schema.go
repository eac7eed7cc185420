package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/memwatchd/memwatchd/internal/outbound"
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

// Init implements [share.Store].
func (c *Client) Init(ctx context.Context) error {
	for _, collection := range share.Collections {
		want := c.newClass(collection)
		have, err := c.class(ctx, collection.Name)
		if isStatus(err, http.StatusNotFound) {
			if err := c.create(ctx, want); err != nil {
				return err
			}
			have, err = c.class(ctx, collection.Name)
		}
		if err == nil {
			err = compareClass(want, have)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create adds a collection. Its error contains the message of the store, because the
// request contains no text of memory.
func (c *Client) create(ctx context.Context, what class) error {
	err := c.send(ctx, http.MethodPost, "/v1/schema", what, nil)
	var answer struct{ Error []struct{ Message string } }
	if e, ok := errors.AsType[*outbound.Error](err); ok && json.Unmarshal(e.Body, &answer) == nil &&
		len(answer.Error) > 0 {
		e.Text += ": " + answer.Error[0].Message
	}
	return err
}

func (c *Client) class(ctx context.Context, collection string) (have class, err error) {
	err = c.send(ctx, http.MethodGet, "/v1/schema/"+c.Prefix+collection, nil, &have)
	return have, err
}

// checkClass returns an error if a collection is missing or has another schema. A
// write to a missing collection would create it without tenants.
func (c *Client) checkClass(ctx context.Context, of share.Collection) error {
	have, err := c.class(ctx, of.Name)
	if isStatus(err, http.StatusNotFound) {
		return &share.Error{Err: fmt.Errorf("collection %s of the store does not exist: run `memwatchd share init`",
			c.Prefix+of.Name)}
	}
	if err != nil {
		return err
	}
	return compareClass(c.newClass(of), have)
}

func schemaError(class, format string, args ...any) error {
	err := fmt.Errorf("collection %s of the store %s", class, fmt.Sprintf(format, args...))
	return &share.Error{Err: err, Permanent: true}
}

// compareClass returns an error if a collection has other settings or properties.
// Further properties do no harm.
func compareClass(want, have class) error {
	const remedy = "delete the collection, then run `memwatchd share init`"
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
	for _, p := range want.Properties {
		i := slices.IndexFunc(have.Properties, func(h classProperty) bool { return h.Name == p.Name })
		if i < 0 || !reflect.DeepEqual(have.Properties[i], p) {
			return schemaError(want.Class, "has another or no property %s: %s", p.Name, remedy)
		}
	}
	return nil
}
